// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// choices builds an Input from bytes. Each byte selects one of a few relevant values.
type choices struct{ bytes []byte }

func (c *choices) of(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return int(b) % n
}

func (c *choices) maybe() bool { return c.of(2) == 1 }

func (c *choices) text(values ...string) string { return values[c.of(len(values))] }

func (c *choices) status() helmv2.ReleaseStatus {
	all := []helmv2.ReleaseStatus{
		helmv2.StatusDeployed, helmv2.StatusFailed, helmv2.StatusSuperseded, helmv2.StatusUninstalled,
		helmv2.StatusUninstalling, helmv2.StatusPendingInstall, helmv2.StatusPendingUpgrade,
		helmv2.StatusPendingRollback, helmv2.StatusUnknown, "", "unknown to Helm", helmv2.StatusFailed, helmv2.StatusDeployed,
	}
	return all[c.of(len(all))]
}

func (c *choices) action() helmv2.ReleaseAction {
	all := []helmv2.ReleaseAction{
		"", helmv2.ActionInstall, helmv2.ActionUpgrade, helmv2.ActionUninstall, helmv2.ActionRollback, helmv2.ActionRecheck, "unknown to Helm",
	}
	return all[c.of(len(all))]
}

// attempt returns an attempt on a revision, often of the desired inputs; nil for none.
func (c *choices) attempt(want Desired) *Attempt {
	if c.maybe() {
		return nil
	}
	a := &Attempt{ID: c.text(testUID, "uid-2") + ".1.x", Run: 1, Action: c.action(), TakeOver: c.maybe(), RollbackTo: c.of(3)}
	if c.of(4) > 0 {
		a.Inputs = InputsOf(want)
	}
	return a
}

func (c *choices) policy() ActionPolicy {
	return ActionPolicy{
		Timeout: 5 * time.Minute, Retry: c.of(4) == 0, RetryInterval: 5 * time.Minute, Retries: c.of(4) - 1,
		RemediateLast: c.maybe(), IgnoreTests: c.maybe(), Uninstall: c.maybe(), NoHooks: c.maybe(),
	}
}

func (c *choices) tests() map[string]*helmv2.TestHookStatus {
	tests := map[string]*helmv2.TestHookStatus{}
	for _, name := range []string{"a", "b"}[:c.of(3)] {
		tests[name] = &helmv2.TestHookStatus{Phase: helmv2.TestPhase(c.text("Succeeded", "Failed", "", "Running"))}
	}
	return tests
}

func (c *choices) input() Input {
	in := inSyncInput()
	in.Observed, in.Recorded.History = Observed{}, nil
	in.Desired.UID = c.text(testUID, "", "uid-2")
	in.Desired.Deleted, in.Desired.Suspension.Active = c.maybe(), c.maybe()
	in.Desired.Chart.Name = c.text("web", "", "api")
	in.Desired.Chart.Version = c.text("1.1.0", "", "2.0.0")
	in.Desired.ConfigDigest = c.text("sha256:values", "", "sha256:new")
	in.Desired.Generation = int64(c.of(4))
	in.Desired.Policy.Install, in.Desired.Policy.Upgrade = c.policy(), c.policy()
	in.Desired.Policy.Tests, in.Desired.Policy.IgnoreTestFailures, in.Desired.Policy.Reinstall = c.maybe(), c.maybe(), c.maybe()
	in.Desired.Rendering.PostRenderers = c.text("", "sha256:patches")
	in.Recorded.ObservedPostRenderersDigest = c.text("", "sha256:patches")
	in.Recorded.ObservedGeneration, in.Recorded.LastAttemptedGeneration = int64(c.of(4)), int64(c.of(4))
	in.Desired.Target.Name = c.text("web", "web", "web", "api")
	in.Recorded.InstallFailures, in.Recorded.UpgradeFailures = int64(c.of(4)), int64(c.of(4))
	in.Recorded.LastAttemptedReleaseAction = c.action()
	in.Recorded.StorageNamespace = c.text("store", "")
	tokens := []string{"", "a", "b"}
	in.Desired.Requests = Requests{Reconcile: c.text(tokens...), Force: c.text(tokens...), Reset: c.text(tokens...)}
	in.Recorded.LastHandledReconcileAt = c.text(tokens...)
	in.Recorded.LastHandledForceAt, in.Recorded.LastHandledResetAt = c.text(tokens...), c.text(tokens...)
	if c.of(4) == 0 {
		in.Desired.Demands.Rollouts = []policy.Rollout{{Policy: "ReleasePolicy/fleet"}}
		in.Observed.Turn = []*Turn{nil, {Free: true}, {Why: "place 2 of 2"}}[c.of(3)]
	}
	if c.maybe() {
		in.Recorded.LastAttemptedReleaseActionDuration = AttemptDuration(time.Second, c.maybe())
	}
	in.Recorded.Failures = in.Recorded.InstallFailures + in.Recorded.UpgradeFailures
	if c.maybe() {
		in.Observed.Running = &Running{Action: c.action(), Desired: in.Desired}
		in.Observed.Running.Desired.ConfigDigest = c.text("sha256:values", "sha256:new")
	}
	next := 1 + c.of(3)
	for range c.of(4) {
		r := testRevision(next, c.status())
		next += 1 + c.of(2)
		r.Owner = c.text(testUID, "", "uid-2")
		r.ChartVersion = c.text("1.1.0", "2.0.0")
		r.Interrupted, r.Outdated, r.Applied, r.Rollback = c.maybe(), c.of(4) == 0, c.maybe(), c.of(4) == 0
		r.PostInstall, r.PostUpgrade = c.of(4) == 0, c.of(4) == 0
		r.LastDeployed = testNow.Add(-time.Duration(c.of(20)-5) * time.Minute)
		r.Attempt, r.InstallHooksLeft = c.attempt(in.Desired), c.maybe()
		in.Observed.Revisions = append(in.Observed.Revisions, r)
		if c.maybe() {
			s := testSnapshot(r)
			s.APIVersion = c.text(SnapshotScheme, "v2", "")
			s.Digest = c.text(r.Digest, r.Digest, "sha256:other")
			s.Action = c.action()
			if c.maybe() {
				s.SetTestHooks(c.tests())
			}
			in.Recorded.History = append(in.Recorded.History, s)
		}
	}
	SortNewestFirst(in.Observed.Revisions)
	c.annotations(&in)
	if c.maybe() {
		in.Recorded.History = append(in.Recorded.History, nil, testSnapshot(testRevision(9, c.status())))
	}
	if c.maybe() {
		in.Observed.Health = &Health{Ready: c.maybe()}
	}
	if c.of(4) == 0 {
		in.Observed.Conflicts = []Conflict{{UID: "uid-2", Namespace: "apps", Name: "other", Created: testNow.Add(time.Duration(c.of(3)-1) * time.Hour)}}
		in.Desired.Created = testNow
	}
	in.Observed.Unreachable = c.text("", "", "", "the kubeconfig is gone")
	in.Recorded.Conditions = []metav1.Condition{
		{Type: helmv2.ConditionReady, Status: metav1.ConditionStatus(c.text("True", "False", "Unknown"))},
		{Type: helmv2.ConditionStalled, Status: metav1.ConditionTrue, Reason: c.text("RetriesExceeded", "X")},
	}
	return in
}

// annotations adds a hold and a request for tests, and the revisions that they have left.
func (c *choices) annotations(in *Input) {
	if c.of(3) == 1 {
		in.Desired.Hold = Hold{Active: true, To: c.of(7), Moved: c.of(4) == 0}
		in.Desired = in.Desired.InPlace(in.Recorded)
		in.Recorded.Failures += int64(c.of(3))
		in.Observed.Unresolved = c.text("", "", "the source is not ready")
	}
	if in.Desired.Hold.Active && in.Desired.Hold.To == 0 {
		in.Desired.Hold.Invalid = "no number"
	}
	for i := range in.Observed.Revisions {
		r := &in.Observed.Revisions[i]
		if r.Rollback {
			r.RolledBackTo = c.of(4)
		}
		if r.Attempt != nil {
			r.Attempt.Hold = r.Attempt.Action == helmv2.ActionRollback && c.maybe()
		}
		r.Undeployed, r.Unread = c.of(8) == 1, i > 0 && c.of(8) == 1
	}
	tokens := []string{"", "a", "b"}
	in.Desired.Requests.Test, in.Desired.Requests.TestHandled, in.Observed.Accepted = c.text(tokens...), c.text(tokens...), c.text(tokens...)
	in.Observed.Denied, in.Desired.Policy.RefuseDenials = c.of(3) == 1, c.of(4) == 1
}

// FuzzDecide checks invariants of decisions for arbitrary inputs.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	for b := range byte(80) {
		seed := make([]byte, 40+int(b))
		for i := range seed {
			seed[i] = b * byte(i+7)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		in := (&choices{bytes}).input()
		before, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		d := Decide(in)
		checkProperties(t, in, d)
		checkForced(t, in, d)
		checkHeld(t, in, d)
		checkRequestedTest(t, in, d)
		checkInsists(t, in, d)
		if again := Decide(in); !reflect.DeepEqual(again, d) {
			t.Errorf("the same input gave %+v and then %+v", d, again)
		}
		after, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if string(before) != string(after) {
			t.Errorf("deciding changed the input from %s to %s", before, after)
		}
		var replayed Input
		if err := json.Unmarshal(before, &replayed); err != nil {
			t.Fatal(err)
		}
		if again := Decide(replayed); !reflect.DeepEqual(again, d) {
			t.Errorf("replayed from JSON it is %+v, not %+v: %s", again, d, before)
		}
		in.Recorded.Conditions = nil
		if blind := Decide(in); !reflect.DeepEqual(blind, d) {
			t.Errorf("conditions changed the decision from %+v to %+v", blind, d)
		}
	})
}

// checkForced checks that a forced action has a request, and that the request is handled once it is
// recorded.
func checkForced(t *testing.T, in Input, d Decision) {
	t.Helper()
	r := in.Desired.Requests
	if d.Rule != RuleForced {
		return
	}
	if r.Force == "" || r.Force != r.Reconcile || r.Reconcile == in.Recorded.LastHandledReconcileAt {
		t.Errorf("forced without a request: %+v of %+v", r, in.Recorded)
	}
	if !d.Acts() {
		t.Errorf("forced without an action: %+v", d)
	}
	done := in
	done.Recorded.LastHandledForceAt = r.Force
	done.Recorded.LastAttemptedReleaseActionDuration = &metav1.Duration{}
	for _, handledAt := range []string{r.Reconcile, in.Recorded.LastHandledReconcileAt} {
		done.Recorded.LastHandledReconcileAt = handledAt
		if again := Decide(done); again.Rule == RuleForced {
			t.Errorf("forced again by the same request: %+v", again)
		}
	}
}

func checkProperties(t *testing.T, in Input, d Decision) {
	t.Helper()
	newest := in.Observed.Newest()
	if d.Rule == "" || d.Action == nil || d.Why == "" {
		t.Errorf("no decision: %+v", d)
	}
	if in.Desired.Suspension.Active && !in.Desired.Deleted && d.Acts() {
		t.Errorf("acts although suspended: %+v", d)
	}
	if d.Rule == RuleOwnershipConflict && d.Acts() {
		t.Errorf("acts on a release of another owner: %+v", d)
	}
	if owner(in) != nil && in.Observed.Running == nil && d.Acts() {
		t.Errorf("acts on a release of %+v: %+v", owner(in), d)
	}
	if d.Action == Action(Stall{Reason: helmv2.ReasonRetriesExceeded}) {
		checkExhausted(t, in)
	}
	if Rejected(in.Recorded) {
		checkRejected(t, in, d)
	}
	if in.Observed.Running != nil && (d.Acts() || d.Action == Action(Finalize{})) {
		t.Errorf("acts although an attempt runs: %+v", d)
	}
	checkResumed(t, in, d)
	switch a := d.Action.(type) {
	case Install:
		if in.Desired.Deleted {
			t.Error("installs although being deleted")
		}
		if newest != nil && newest.Status != helmv2.StatusUninstalled && a.Resume == 0 {
			t.Errorf("installs over a %s revision", newest.Status)
		}
	case Upgrade:
		if in.Desired.Deleted {
			t.Error("upgrades although being deleted")
		}
		if newest == nil || newest.Pending() && a.Resume == 0 {
			t.Errorf("upgrades from %+v", newest)
		}
	case Uninstall:
		checkUninstall(t, in, d, a)
	case Rollback:
		if a.Resume == 0 && !a.Hold {
			checkRollback(t, in, a)
		}
	case Recheck:
		if newest.Status != helmv2.StatusFailed || !newest.Applied || newest.Owner != in.Desired.UID || a.Version != newest.Version {
			t.Errorf("rechecks %+v by %+v", newest, a)
		}
	case Test:
		if newest.Status != helmv2.StatusDeployed || !in.Desired.Policy.Tests && a.Request == "" {
			t.Errorf("tests %+v", newest)
		}
	case Unlock:
		young := in.Now.Sub(newest.LastWritten()) < in.Desired.Policy.Upgrade.Timeout
		if foreign := newest.Owner != in.Desired.UID || newest.Owner == ""; foreign && young {
			t.Errorf("unlocks a recent revision of another client: %+v", newest)
		}
		switch newest.Status {
		case helmv2.StatusDeployed, helmv2.StatusFailed, helmv2.StatusSuperseded, helmv2.StatusUninstalled:
			t.Errorf("unlocks a %s revision", newest.Status)
		}
	case Wait:
		if a.After < 0 || (a.After == 0 && in.Observed.Running == nil) {
			t.Errorf("waits without a reason: %+v", a)
		}
		if a.Cancel && !in.Desired.Deleted && !in.Desired.Hold.Active && in.Observed.Running.Desired.ConfigDigest == in.Desired.ConfigDigest {
			t.Error("cancels without a reason")
		}
	case Adopt:
		if newest.Owner != in.Desired.UID {
			t.Errorf("adopts a revision of %q", newest.Owner)
		}
	}
}

// checkResumed checks that only a pending revision of this HelmRelease with the desired inputs is
// resumed, in the state in which it was left.
func checkResumed(t *testing.T, in Input, d Decision) {
	t.Helper()
	version := Resumed(d.HelmAction())
	if (version > 0) != (d.Rule == RuleResume) {
		t.Errorf("resumes revision %d: %+v", version, d)
	}
	if version == 0 {
		return
	}
	newest := in.Observed.Newest()
	a := newest.Attempt
	if version != newest.Version || newest.Owner != in.Desired.UID || a == nil || !a.Hold && a.Inputs != InputsOf(in.Desired) {
		t.Errorf("resumes revision %d, and the newest is %+v", version, newest)
	}
	if string(newest.Status) != "pending-"+string(a.Action) || Name(d.Action) != string(a.Action) {
		t.Errorf("resumes %+v, which is %s, by %+v", a, newest.Status, d)
	}
}

func checkUninstall(t *testing.T, in Input, d Decision, a Uninstall) {
	t.Helper()
	if in.Desired.Suspension.Active {
		t.Error("uninstalls although suspended")
	}
	unfinished := in.Observed.Newest() != nil && in.Observed.Newest().Status == helmv2.StatusUninstalling
	if !in.Desired.Deleted && !a.Remediation && d.Rule != RuleTargetMoved && d.Rule != RuleReinstall && !unfinished {
		t.Errorf("uninstalls without a reason: %+v", d)
	}
	if a.Target != ObservedTarget(in) {
		t.Errorf("uninstalls %+v instead of the recorded release", a.Target)
	}
}

// checkRollback checks that the rollback target exists, is unchanged, was deployed, and is not the
// newest revision.
func checkRollback(t *testing.T, in Input, a Rollback) {
	t.Helper()
	if a.Version >= in.Observed.Newest().Version {
		t.Errorf("rolls back to %d, and the newest is %d", a.Version, in.Observed.Newest().Version)
	}
	for _, s := range in.Recorded.History {
		for i := range in.Observed.Revisions {
			r := &in.Observed.Revisions[i]
			if s != nil && s.Version == a.Version && r.Version == a.Version && Verified(s, r) && r.Status != helmv2.StatusFailed {
				return
			}
		}
	}
	t.Errorf("rolls back to %d, which has changed", a.Version)
}

// checkRejected checks that a rejected attempt is not remediated and does not stall. An interrupted
// uninstall is completed.
func checkRejected(t *testing.T, in Input, d Decision) {
	t.Helper()
	if d.Action == Action(Stall{Reason: helmv2.ReasonRetriesExceeded}) {
		t.Errorf("never leaves the stall: %+v", d)
	}
	if d.Rule == RuleFailed && Name(d.Action) != "upgrade" && Name(d.Action) != string(helmv2.ActionRecheck) && !in.Observed.Newest().Rollback {
		t.Errorf("remediates: %+v", d)
	}
}

// checkExhausted checks that a release with exhausted retries continues after new inputs or a
// reset.
func checkExhausted(t *testing.T, in Input) {
	t.Helper()
	changed := in
	changed.Desired.ConfigDigest = "sha256:never seen"
	reset := in
	reset.Desired.Requests = Requests{Reconcile: "never seen", Reset: "never seen"}
	for change, next := range map[string]Input{"change": changed, "reset": reset} {
		if d := Decide(next); d.Action == Action(Stall{Reason: helmv2.ReasonRetriesExceeded}) {
			t.Errorf("after a %s it is still exhausted: %+v", change, d)
		}
	}
}

// checkHeld checks that a release that is to be held is neither changed to another revision nor
// moved, and that it is rolled back only to an unchanged revision that was deployed.
func checkHeld(t *testing.T, in Input, d Decision) {
	t.Helper()
	hold, newest := in.Desired.Hold, in.Observed.Newest()
	back, rollsBack := d.Action.(Rollback)
	if rollsBack && back.Hold && (!hold.Active || back.Version != hold.To) {
		t.Errorf("rolls back to %d, and the hold is %+v", back.Version, hold)
	}
	if !hold.Active || in.Desired.Deleted || owner(in) != nil {
		return
	}
	switch a := d.Action.(type) {
	case Install, Upgrade, Recheck, Forget:
		t.Errorf("does not hold the release: %+v", d)
	case Uninstall:
		if newest.Status != helmv2.StatusUninstalling {
			t.Errorf("uninstalls a release that is held: %+v", d)
		}
	case CorrectDrift:
		waits, stays := in.Desired.Demands.OnRollback().MayHold(), newest.RolledBackTo > 0
		if !heldAt(in) && (!a.Held || !waits && !stays) {
			t.Errorf("corrects the drift of another revision than the one that is held: %+v", d)
		}
	}
	if !rollsBack {
		return
	}
	if !back.Hold || heldAt(in) {
		t.Errorf("rolls back a release that is held: %+v", d)
	}
	for i := range in.Observed.Revisions {
		r := &in.Observed.Revisions[i]
		if r.Version == hold.To && back.Resume == 0 && (!wasDeployed(r) || r.EndedEarly() || r.Unread || changed(in, r)) {
			t.Errorf("rolls back to %+v", r)
		}
	}
}

// checkRequestedTest checks that a run of the tests has a request, and that a token that is handled
// and was not accepted by this process has none.
func checkRequestedTest(t *testing.T, in Input, d Decision) {
	t.Helper()
	test, _ := d.Action.(Test)
	if (d.Rule == RuleTestRequested) != (test.Request != "") {
		t.Errorf("tests without a request: %+v", d)
	}
	if test.Request == "" {
		return
	}
	in.Desired.Requests.TestHandled, in.Observed.Accepted = test.Request, ""
	if again := Decide(in); again.Rule == RuleTestRequested {
		t.Errorf("the request %q has a second run: %+v", test.Request, again)
	}
}

// checkInsists checks that each action goes ahead whose inputs were denied, and none where users refuse
// denials.
func checkInsists(t *testing.T, in Input, d Decision) {
	t.Helper()
	install, installs := d.Action.(Install)
	upgrade, upgrades := d.Action.(Upgrade)
	insists := install.Insist || upgrade.Insist
	begins := (installs || upgrades) && Resumed(d.HelmAction()) == 0
	if insists && (!begins || in.Desired.RefusesDenials()) {
		t.Errorf("insists on %+v", d)
	}
	if begins && deferred(in) && !in.Desired.RefusesDenials() && !insists {
		t.Errorf("inputs that were denied are denied again: %+v", d)
	}
}
