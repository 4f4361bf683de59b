// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000002"

var (
	at    = time.Unix(100_000, 0)
	old   = Input{Name: "web", Version: "1.0.0"}
	fresh = Input{Digest: digest, Name: "web", Version: "2.0.0"}
)

// of returns a HelmRelease that has the chart old, was attempted with fresh, and has conditions.
func of(edit func(s *helmv2.HelmReleaseStatus), conditions ...metav1.Condition) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 1}}
	hr.Status = helmv2.HelmReleaseStatus{
		History:               helmv2.Snapshots{{Version: 1, ChartName: "web", ChartVersion: "1.0.0", Status: helmv2.StatusDeployed}},
		LastAttemptedRevision: "2.0.0+000000000000", LastAttemptedRevisionDigest: digest, LastAttemptedGeneration: 1,
		LastAttemptedReleaseAction: helmv2.ActionUpgrade, LastAttemptedReleaseActionDuration: &metav1.Duration{Duration: time.Second},
	}
	for _, c := range conditions {
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = metav1.NewTime(at)
		}
		hr.Status.Conditions = append(hr.Status.Conditions, c)
	}
	if edit != nil {
		edit(&hr.Status)
	}
	return hr
}

func is(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: reason + " of\nthis"}
}

// TestMember: the state of a release in a wave, from its status.
func TestMember(t *testing.T) {
	t.Parallel()
	const yes, no, maybe = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	acts := is(helmv2.ConditionReconciling, yes, helmv2.ReasonProgressing)
	failed := is(helmv2.ConditionReleased, no, helmv2.ReasonUpgradeFailed)
	unready := is(helmv2.ConditionReady, no, helmv2.ReasonUpgradeFailed)
	has := func(s *helmv2.HelmReleaseStatus) {
		s.History = append(helmv2.Snapshots{{Version: 2, ChartName: "web", ChartVersion: "2.0.0+000000000000", OCIDigest: digest, Status: helmv2.StatusDeployed}}, s.History...)
		s.History[1].Status = helmv2.StatusSuperseded
	}
	fails := func(s *helmv2.HelmReleaseStatus) { s.UpgradeFailures = 1 }
	open := func(s *helmv2.HelmReleaseStatus) { s.LastAttemptedReleaseActionDuration = nil }
	waits := func(s *helmv2.HelmReleaseStatus) {
		s.LastAttemptedRevision, s.LastAttemptedRevisionDigest = "1.0.0", ""
	}
	for name, tc := range map[string]struct {
		hr   *helmv2.HelmRelease
		edit func(hr *helmv2.HelmRelease)
		want State
	}{
		"New":      {&helmv2.HelmRelease{}, nil, Waits},
		"Old":      {of(waits, is(helmv2.ConditionReady, yes, "")), nil, Waits},
		"Awaits":   {of(waits, is(helmv2.ConditionReady, maybe, helmv2.ReasonAwaitingRollout)), nil, Waits},
		"Installs": {of(func(s *helmv2.HelmReleaseStatus) { open(s); s.History = nil }, acts), nil, Runs},
		"Upgrades": {of(open, acts), nil, Runs},
		"CutOff":   {of(open, is(helmv2.ConditionReady, no, helmv2.ReasonInterrupted)), nil, Runs},
		"RetryRejected": {of(func(s *helmv2.HelmReleaseStatus) {
			fails(s)
			s.Failures, s.LastAttemptedReleaseActionDuration.Duration = 1, 0
		}, acts, failed, unready), nil, Runs},
		"Bakes":       {of(has, is(helmv2.ConditionBaking, yes, ""), is(helmv2.ConditionReady, maybe, helmv2.ReasonBaking)), nil, Bakes},
		"Tests":       {of(has, is(helmv2.ConditionTestSuccess, maybe, helmv2.ReasonAwaitingTests)), nil, Runs},
		"Done":        {of(has, is(helmv2.ConditionReady, yes, "")), nil, Done},
		"DoneBlocked": {of(has, is(helmv2.ConditionReady, no, helmv2.ReasonDependencyNotReady)), nil, Done},
		"Corrects":    {of(has, acts, is(helmv2.ConditionReady, yes, "")), nil, Done},
		"SameChart":   {of(nil, is(helmv2.ConditionReady, yes, "")), nil, Done},
		"FormerField": {of(func(s *helmv2.HelmReleaseStatus) { has(s); open(s) }, is(helmv2.ConditionReady, yes, "")), nil, Done},
		"ValuesFailed": {of(func(s *helmv2.HelmReleaseStatus) {
			has(s)
			fails(s)
			s.History = append(helmv2.Snapshots{{Version: 3, ChartName: "web", ChartVersion: "2.0.0+000000000000", OCIDigest: digest, Status: helmv2.StatusFailed}}, s.History...)
		}, failed, unready), nil, Done},
		"Failed":      {of(fails, failed, unready), nil, Failed},
		"RolledBack":  {of(fails, failed, is(helmv2.ConditionReady, no, helmv2.ReasonRollbackSucceeded)), nil, Failed},
		"FailedWaits": {of(fails, failed, is(helmv2.ConditionReady, maybe, helmv2.ReasonAwaitingRollout)), nil, Failed},
		"TestsFailed": {of(func(s *helmv2.HelmReleaseStatus) { has(s); fails(s) }, is(helmv2.ConditionTestSuccess, no, ""), is(helmv2.ConditionReady, no, helmv2.ReasonTestFailed)), nil, Failed},
		"Changed":     {of(fails, failed, unready), func(hr *helmv2.HelmRelease) { hr.Generation = 2 }, Passed},
		"Suspended":   {of(fails, failed, unready), func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }, Paused},
		"Held": {of(waits), func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationRollbackTo: "1"}
		}, Paused},
		"SuspendedActs": {of(open, acts), func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }, Runs},
		"SuspendedOpen": {of(open), func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }, Paused},
		"SuspendedBake": {of(has, is(helmv2.ConditionBaking, yes, "")), func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }, Done},
		"Reinstalled":   {of(func(s *helmv2.HelmReleaseStatus) { waits(s); s.History = nil }, is(helmv2.ConditionReleased, no, helmv2.ReasonUninstallSucceeded)), nil, Runs},
		"Deleted":       {of(waits), func(hr *helmv2.HelmRelease) { hr.DeletionTimestamp = &metav1.Time{Time: at} }, ""},
	} {
		if tc.edit != nil {
			tc.edit(tc.hr)
		}
		members := []Member{MemberOf(tc.hr, fresh, at)}
		w := WaveOf(policy.Rollout{Policy: "p"}, fresh, StagesOf(nil, members), members)
		var got State
		if len(w.Places) > 0 {
			got = w.Places[0].State
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if moves := w.Moving() > 0; moves != (got == Runs || got == Bakes) {
			t.Errorf("%s: moves: %t", name, moves)
		}
	}
	// A failure before the resumption does not count. A digest is the same with and without a tag.
	failedOnce := []Member{MemberOf(of(func(s *helmv2.HelmReleaseStatus) { fails(s); s.LastAttemptedRevisionDigest = "latest@" + digest }, failed, unready), fresh, at)}
	for resumed, want := range map[time.Time]State{at.Add(-time.Second): Failed, at: Passed, at.Add(time.Hour): Passed} {
		w := WaveOf(policy.Rollout{Policy: "p", Resumed: resumed}, fresh, StagesOf(nil, failedOnce), failedOnce)
		if w.Places[0].State != want || w.Halted() != (want == Failed) {
			t.Errorf("resumed %s after the failure: %+v", resumed.Sub(at), w.Places[0].State)
		}
	}
	if cause, when := failedOnce[0].Failure(); cause != "UpgradeFailed of this" || !when.Equal(at) {
		t.Errorf("%q at %s", cause, when)
	}
}

// TestTurn: which of some releases may start, and what the others are told.
func TestTurn(t *testing.T) {
	t.Parallel()
	member := func(name, stage string, edit func(*Member)) Member {
		m := MemberOf(&helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Labels: map[string]string{"stage": stage}}}, fresh, at)
		if edit != nil {
			edit(&m)
		}
		return m
	}
	runs := func(m *Member) { m.Starts = []string{fresh.Key()} }
	done := func(m *Member) { m.hasKey = fresh.Key() }
	broken := func(m *Member) { m.triedKey, m.broken, m.failedAt, m.cause = fresh.Key(), true, at, "it crashes" }
	on := func(names ...string) func(*Member) { return func(m *Member) { m.DependsOn = names } }
	one, two := v1alpha1.Rollout{MaxConcurrent: 1, MaxFailed: 2}, v1alpha1.Rollout{
		Order: []metav1.LabelSelector{{MatchLabels: map[string]string{"stage": "canary"}}, {MatchLabels: map[string]string{"stage": "early"}}},
	}
	for name, tc := range map[string]struct {
		rule    v1alpha1.Rollout
		members []Member
		// why is what the release b is told; empty if it may start.
		why string
	}{
		"Free":          {one, []Member{member("a", "", done), member("b", "", nil)}, ""},
		"Full":          {one, []Member{member("a", "", runs), member("b", "", nil)}, "place 2 of 2 for web 2.0.0"},
		"NoLimit":       {v1alpha1.Rollout{}, []Member{member("a", "", runs), member("b", "", nil)}, ""},
		"OtherChart":    {one, []Member{member("a", "", func(m *Member) { m.Starts = []string{"other@1"}; m.Want(old) }), member("b", "", nil)}, ""},
		"Outside":       {one, []Member{member("a", "", func(m *Member) { runs(m); m.Outside = true }), member("b", "", nil)}, ""},
		"OneFailed":     {one, []Member{member("a", "", broken), member("b", "", nil)}, ""},
		"Halted":        {v1alpha1.Rollout{}, []Member{member("a", "", broken), member("b", "", nil)}, "halts web 2.0.0: apps/a failed: it crashes; place 2 of 2"},
		"HaltedByTwo":   {one, []Member{member("a", "", broken), member("b", "", nil), member("c", "", broken)}, "halts web 2.0.0: apps/a failed: it crashes (and 1 others); place 2 of 3"},
		"BegunHalted":   {v1alpha1.Rollout{}, []Member{member("a", "", broken), member("b", "", broken)}, ""},
		"BegunFull":     {one, []Member{member("a", "", runs), member("b", "", broken)}, "place 2 of 2 for web 2.0.0"},
		"CutOff":        {one, []Member{member("a", "", runs), member("b", "", func(m *Member) { m.triedKey, m.open = fresh.Key(), true })}, ""},
		"Stage":         {two, []Member{member("a", "canary", nil), member("b", "", nil)}, "place 2 of 2 for web 2.0.0, stage 3 of 3"},
		"StageRuns":     {two, []Member{member("a", "canary", runs), member("b", "early", nil)}, "place 2 of 2 for web 2.0.0, stage 2 of 3"},
		"StageDone":     {two, []Member{member("a", "canary", done), member("b", "", nil)}, ""},
		"StagePaused":   {two, []Member{member("a", "canary", func(m *Member) { m.Paused = true }), member("b", "", nil)}, ""},
		"SameStage":     {two, []Member{member("a", "early", nil), member("b", "early", nil)}, ""},
		"Dependency":    {two, []Member{member("a", "canary", on("apps/b")), member("b", "", nil)}, ""},
		"FarDependency": {two, []Member{member("a", "canary", on("apps/x")), member("b", "", nil), member("x", "", func(m *Member) { m.Outside, m.DependsOn = true, []string{"apps/b"} })}, ""},
		"Cycle": {
			two,
			[]Member{member("a", "canary", on("apps/c")), member("b", "", nil), member("c", "", on("apps/a"))},
			"place 3 of 3 for web 2.0.0, stage 3 of 3; an earlier stage cannot finish, because releases depend on each other: apps/a -> apps/c -> apps/a",
		},
		"None": {one, []Member{member("a", "", nil), member("b", "", func(m *Member) { m.Want(old) })}, "the release is in no wave of web 2.0.0 yet"},
	} {
		p := policy.Rollout{Policy: "ReleasePolicy/fleet", Rollout: tc.rule}
		turn := WaveOf(p, fresh, StagesOf(tc.rule.Order, tc.members), tc.members).Turn("apps/b")
		want := ""
		if tc.why != "" {
			want = "ReleasePolicy/fleet: " + tc.why
			if turn.Halted {
				want = "ReleasePolicy/fleet " + tc.why
			}
		}
		if turn.Why != want || turn.Free != (want == "") {
			t.Errorf("%s: %+v, want %q", name, turn, want)
		}
	}
}

// TestSeveralPolicies: a release that two policies limit needs a turn in both. As many are enqueued as may
// start.
func TestSeveralPolicies(t *testing.T) {
	t.Parallel()
	asks := []Ask{
		{policy.Rollout{Policy: "a", Rollout: v1alpha1.Rollout{MaxConcurrent: 2}}, fresh},
		{policy.Rollout{Policy: "b", Rollout: v1alpha1.Rollout{MaxConcurrent: 1}}, fresh},
	}
	var q Queue
	names := []string{"apps/x", "apps/y", "apps/z"}
	fleet := func(of policy.Rollout) ([]Member, Stages) {
		var all []Member
		for _, name := range names {
			m := MemberOf(&helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name[5:]}}, fresh, at)
			m.Starts, m.Outside = q.Starts(name), of.Policy == "b" && name == "apps/z"
			all = append(all, m)
		}
		return all, StagesOf(nil, all)
	}
	if !q.Ask("apps/x", asks, fleet).Free || q.Ask("apps/y", asks, fleet).Free || !q.Ask("apps/z", asks[:1], fleet).Free {
		t.Error("the limits of the policies differ")
	}
	if next := q.Next(fleet); len(next) != 0 {
		t.Errorf("%v may start", next)
	}
	if !q.End("apps/x", false) {
		t.Error("its turn is free again")
	}
	if next := q.Next(fleet); len(next) != 1 || next[0] != "apps/y" {
		t.Errorf("%v may start", next)
	}
	waited := q.Begin("apps/y")
	if !waited || !q.End("apps/y", waited) || q.Waiting() {
		t.Error("it waits no longer")
	}
}

// TestInputs: the waves of a policy.
func TestInputs(t *testing.T) {
	t.Parallel()
	wants := MemberOf(of(nil, is(helmv2.ConditionReady, metav1.ConditionTrue, "")), fresh, at)
	unknown := MemberOf(of(func(s *helmv2.HelmReleaseStatus) {
		s.LastAttemptedRevision, s.LastAttemptedRevisionDigest = "1.0.0", ""
	}), Input{}, at)
	outside := MemberOf(of(nil), Input{Name: "other", Version: "1"}, at)
	outside.Outside = true
	got := Inputs([]Member{wants, unknown, outside}, time.Time{})
	if len(got) != 2 || got[0] != old || got[1] != fresh || got[1].String() != "web 2.0.0" || (Input{Name: "web", Digest: digest}).String() != "web sha256:000000000..." {
		t.Errorf("%+v", got)
	}
}

// TestLate: a release whose source fetches the chart later waits in the wave, and later stages wait for it,
// unless it has had the chart before, or is suspended.
func TestLate(t *testing.T) {
	t.Parallel()
	release := func(name, stage string, wants Input, edit func(hr *helmv2.HelmRelease)) Member {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Labels: map[string]string{"stage": stage}}}
		if edit != nil {
			edit(hr)
		}
		m := MemberOf(hr, wants, at)
		m.From = []string{"web of a repository"}
		return m
	}
	rule := policy.Rollout{Policy: "p", Rollout: v1alpha1.Rollout{Order: []metav1.LabelSelector{{MatchLabels: map[string]string{"stage": "canary"}}}}}
	const waits = "p: place 2 of 2 for web 2.0.0, stage 2 of 2"
	for name, tc := range map[string]struct {
		wants Input
		edit  func(hr *helmv2.HelmRelease)
		from  string
		why   string
	}{
		"Late":     {old, nil, "", waits + "; the source of apps/a, of an earlier stage, does not have this chart yet"},
		"NotReady": {Input{}, nil, "", waits + "; the source of apps/a, of an earlier stage, does not have this chart yet"},
		"Wants":    {fresh, nil, "", waits},
		"Other":    {old, nil, "web of another repository", ""},
		"Ahead": {Input{Name: "web", Version: "3.0.0"}, func(hr *helmv2.HelmRelease) {
			hr.Status.History = helmv2.Snapshots{
				{Version: 2, ChartName: "web", ChartVersion: "3.0.0", Status: helmv2.StatusDeployed},
				{Version: 1, ChartName: "web", ChartVersion: "2.0.0", OCIDigest: digest, Status: helmv2.StatusSuperseded},
			}
		}, "", ""},
		"Suspended": {old, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }, "", ""},
	} {
		members := []Member{release("a", "canary", tc.wants, tc.edit), release("b", "", fresh, nil)}
		if tc.from != "" {
			members[0].From = []string{tc.from}
		}
		if turn := WaveOf(rule, fresh, StagesOf(rule.Order, members), members).Turn("apps/b"); turn.Why != tc.why || turn.Free != (tc.why == "") {
			t.Errorf("%s: %+v", name, turn)
		}
	}
}
