// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// interruptedInput returns a release whose newest revision is pending since an action was
// interrupted.
func interruptedInput(action helmv2.ReleaseAction) Input {
	in := inSyncInput()
	in.Observed.Revisions[0] = testRevision(2, helmv2.ReleaseStatus("pending-"+string(action)))
	in.Observed.Revisions[0].Attempt = &Attempt{ID: testUID + ".2.x", Run: 1, Action: action, Inputs: InputsOf(in.Desired)}
	in.Observed.Revisions[1].Status = helmv2.StatusDeployed
	in.Recorded.History = helmv2.Snapshots{testSnapshot(in.Observed.Revisions[1])}
	if action == helmv2.ActionRollback {
		in.Observed.Revisions[0].Attempt.RollbackTo = 1
	}
	return in
}

// TestResume: an interrupted action is resumed with the timeout of the policy.
func TestResume(t *testing.T) {
	t.Parallel()
	none := func(*Input) {}
	for name, tc := range map[string]struct {
		action helmv2.ReleaseAction
		change func(*Input)
		want   Action
	}{
		"Install":     {helmv2.ActionInstall, none, Install{Timeout: 5 * time.Minute, Resume: 2}},
		"InstallOnly": {helmv2.ActionInstall, func(in *Input) { in.Observed.Revisions = in.Observed.Revisions[:1] }, Install{Timeout: 5 * time.Minute, Resume: 2}},
		"Upgrade":     {helmv2.ActionUpgrade, none, Upgrade{Timeout: 6 * time.Minute, Resume: 2}},
		"TakeOver": {
			helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Attempt.TakeOver = true },
			Upgrade{Timeout: 6 * time.Minute, TakeOver: true, Resume: 2},
		},
		"RecordedAsPending": {
			helmv2.ActionUpgrade, func(in *Input) {
				in.Recorded.History[0].Version, in.Recorded.History[0].Status = 2, helmv2.StatusPendingUpgrade
			},
			Upgrade{Timeout: 6 * time.Minute, Resume: 2},
		},
		"Rollback": {helmv2.ActionRollback, none, Rollback{Timeout: 8 * time.Minute, Version: 1, Resume: 2}},
		"OtherPolicy": {
			helmv2.ActionUpgrade, func(in *Input) { in.Desired.Policy.Upgrade.Timeout, in.Desired.Generation = time.Hour, 9 },
			Upgrade{Timeout: time.Hour, Resume: 2},
		},
		"RetriesExhausted": {
			helmv2.ActionUpgrade, func(in *Input) { in.Recorded.UpgradeFailures, in.Recorded.Failures = 9, 9 },
			Upgrade{Timeout: 6 * time.Minute, Resume: 2},
		},
		"ForceRequested": {
			helmv2.ActionUpgrade, func(in *Input) { in.Desired.Requests = Requests{Reconcile: "a", Force: "a"} },
			Upgrade{Timeout: 6 * time.Minute, Resume: 2},
		},
	} {
		in := interruptedInput(tc.action)
		tc.change(&in)
		d := Decide(in)
		if diff := cmp.Diff(tc.want, d.Action); diff != "" || d.Rule != RuleResume || d.State != StateLocked {
			t.Errorf("%s: rule %s, state %s (-want +got):\n%s", name, d.Rule, d.State, diff)
		}
		if Resumed(d.HelmAction()) != 2 {
			t.Errorf("%s: Resumed is %d", name, Resumed(d.HelmAction()))
		}
	}
	if got := Resumed(Upgrade{}); got != 0 {
		t.Errorf("a new upgrade resumes %d", got)
	}
}

// TestNotResumed: the rule that applies if an interrupted action is not resumed.
func TestNotResumed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action helmv2.ReleaseAction
		change func(*Input)
		want   Rule
	}{
		"OtherChart":    {helmv2.ActionUpgrade, func(in *Input) { in.Desired.Chart.Version = "2.0.0" }, RuleUnlock},
		"OtherArtifact": {helmv2.ActionUpgrade, func(in *Input) { in.Desired.Chart.Digest = "sha256:other" }, RuleUnlock},
		"OtherValues":   {helmv2.ActionUpgrade, func(in *Input) { in.Desired.ConfigDigest = "sha256:other" }, RuleUnlock},
		"OtherManifests": {
			helmv2.ActionUpgrade, func(in *Input) { in.Desired.Rendering.PostRenderers = "sha256:other" }, RuleUnlock,
		},
		"OtherMetadata": {
			helmv2.ActionUpgrade, func(in *Input) { in.Desired.Rendering.CommonMetadata = "sha256:other" }, RuleUnlock,
		},
		"OtherTarget":        {helmv2.ActionUpgrade, func(in *Input) { in.Desired.Target.Name = "renamed" }, RuleUnlock},
		"RollbackOtherChart": {helmv2.ActionRollback, func(in *Input) { in.Desired.Chart.Version = "2.0.0" }, RuleUnlock},
		"NoAttempt":          {helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Attempt = nil }, RuleUnlock},
		"AnotherAction": {
			helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Attempt.Action = helmv2.ActionInstall }, RuleUnlock,
		},
		"NoOlderRevision": {
			helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions = in.Observed.Revisions[:1] }, RuleUnlock,
		},
		"RollbackTargetGone": {
			helmv2.ActionRollback, func(in *Input) { in.Observed.Revisions[1].Version = 7 }, RuleUnlock,
		},
		"OfAnother": {helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Owner = "another" }, RuleUnlock},
		"Contested": {
			helmv2.ActionUpgrade, func(in *Input) {
				in.Observed.Revisions[0].Owner, in.Observed.Conflicts = "another", []Conflict{{UID: "another"}}
			}, RuleOwnershipConflict,
		},
		"Suspended": {helmv2.ActionUpgrade, func(in *Input) { in.Desired.Suspension.Active = true }, RuleSuspended},
		"Deleted":   {helmv2.ActionUpgrade, func(in *Input) { in.Desired.Deleted = true }, RuleDelete},
		"Running": {
			helmv2.ActionUpgrade, func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionUpgrade, Desired: in.Desired}
			}, RuleBusy,
		},
		"Unsealed": {helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Sealed = false }, RuleUnlock},
		"OfAnotherAttempt": {
			helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Attempt.ID = "another.3.x" }, RuleUnlock,
		},
		"RecordedSince": {
			helmv2.ActionUpgrade, func(in *Input) { in.Recorded.History[0].Version = in.Observed.Revisions[0].Version }, RuleUnlock,
		},
		"OlderThanRecorded": {
			helmv2.ActionUpgrade, func(in *Input) { in.Recorded.History[0].Version = in.Observed.Revisions[0].Version + 1 }, RuleUnlock,
		},
		"OfAnotherLife": {
			helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].FirstDeployed = testNow }, RuleUnlock,
		},
		"Ended": {
			helmv2.ActionUpgrade, func(in *Input) { in.Observed.Revisions[0].Status = helmv2.StatusFailed }, RuleRecover,
		},
	} {
		in := interruptedInput(tc.action)
		tc.change(&in)
		if d := Decide(in); d.Rule != tc.want {
			t.Errorf("%s: rule %s: %+v", name, d.Rule, d)
		}
	}
}

// unfinishedInstall returns a release whose only revision is an install that was interrupted before
// its hooks had run, and was closed.
func unfinishedInstall() Input {
	in := inSyncInput()
	r := testRevision(2, helmv2.StatusFailed)
	r.Interrupted, r.InstallHooksLeft = true, true
	r.Attempt = &Attempt{ID: testUID + ".2.x", Run: 1, Action: helmv2.ActionInstall, Inputs: InputsOf(in.Desired)}
	in.Observed.Revisions = []Revision{r}
	in.Recorded.History = helmv2.Snapshots{testSnapshot(r)}
	in.Recorded.History[0].Action = helmv2.ActionInstall
	in.Recorded.LastAttemptedReleaseAction = helmv2.ActionInstall
	in.Desired.ConfigDigest = "sha256:other"
	return in
}

// TestReinstall: an install that ended early without its hooks is uninstalled, so that it is
// installed anew. An upgrade would be made over all others.
func TestReinstall(t *testing.T) {
	t.Parallel()
	older := func(status helmv2.ReleaseStatus, deleted time.Time) func(*Input) {
		return func(in *Input) {
			r := testRevision(1, status)
			r.Deleted = deleted
			in.Observed.Revisions = append(in.Observed.Revisions, r)
		}
	}
	for name, tc := range map[string]struct {
		change func(*Input)
		want   Rule
	}{
		"Interrupted": {func(*Input) {}, RuleReinstall},
		"Outdated": {func(in *Input) {
			in.Observed.Revisions[0].Interrupted, in.Observed.Revisions[0].Outdated = false, true
		}, RuleReinstall},
		"Forced":               {func(in *Input) { in.Desired.Requests = Requests{Reconcile: "a", Force: "a"} }, RuleReinstall},
		"FailedBefore":         {older(helmv2.StatusFailed, time.Time{}), RuleReinstall},
		"UninstalledBefore":    {older(helmv2.StatusSuperseded, testNow), RuleReinstall},
		"DeployedBefore":       {older(helmv2.StatusSuperseded, time.Time{}), RuleFailed},
		"Deployed":             {older(helmv2.StatusDeployed, time.Time{}), RuleFailed},
		"HooksRun":             {func(in *Input) { in.Observed.Revisions[0].InstallHooksLeft = false }, RuleFailed},
		"HooksDisabled":        {func(in *Input) { in.Desired.Policy.Install.NoHooks = true }, RuleFailed},
		"Failed":               {func(in *Input) { in.Observed.Revisions[0].Interrupted = false }, RuleFailed},
		"ClaimsKept":           {func(in *Input) { in.Desired.Policy.Install.ClaimsKept = true }, RuleFailed},
		"Upgrade":              {func(in *Input) { in.Observed.Revisions[0].Attempt.Action = helmv2.ActionUpgrade }, RuleFailed},
		"NoAttempt":            {func(in *Input) { in.Observed.Revisions[0].Attempt = nil }, RuleFailed},
		"OfAnother":            {func(in *Input) { in.Observed.Revisions[0].Owner = "another" }, RuleFailed},
		"Changed":              {func(in *Input) { in.Observed.Revisions[0].Digest = "sha256:edited" }, RuleUnmanaged},
		"AnOperationWaits":     {func(in *Input) { in.Observed.WaitingOperation = &Operation{Name: "x"} }, RuleAwaitOperation},
		"MovedAtTheSameTime":   {func(in *Input) { in.Desired.Target.Name = "renamed" }, RuleTargetMoved},
		"DeletedAtTheSameTime": {func(in *Input) { in.Desired.Deleted = true }, RuleDelete},
	} {
		in := unfinishedInstall()
		tc.change(&in)
		d := Decide(in)
		want := Uninstall{Timeout: 7 * time.Minute, Target: in.Desired.Target, Reinstall: true}
		if d.Rule != tc.want || tc.want == RuleReinstall && d.Action != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestUninstallGoesOn: an uninstall that this HelmRelease has begun continues at once, and still is
// that of a new install.
func TestUninstallGoesOn(t *testing.T) {
	t.Parallel()
	begun := &Attempt{ID: testUID + ".2.y", Action: helmv2.ActionUninstall}
	for name, tc := range map[string]struct {
		change func(*Input)
		want   Action
	}{
		"Begun":   {func(*Input) {}, Uninstall{Timeout: 7 * time.Minute, Target: unfinishedInstall().Desired.Target, Reinstall: true}},
		"Waiting": {func(in *Input) { in.Observed.Revisions[0].Attempt = nil }, Wait{After: 7 * time.Minute, Limit: 7 * time.Minute}},
		"OtherAction": {func(in *Input) {
			in.Observed.Revisions[0].Attempt = &Attempt{ID: testUID + ".2.y", Action: helmv2.ActionInstall}
		}, Wait{After: 7 * time.Minute, Limit: 7 * time.Minute}},
		"ByAnother": {func(in *Input) {
			in.Observed.Revisions[0].Attempt = &Attempt{ID: "another.2.y", Action: helmv2.ActionUninstall}
		}, Wait{After: 7 * time.Minute, Limit: 7 * time.Minute}},
		"Remediation": {func(in *Input) {
			in.Recorded.InstallFailures, in.Recorded.Failures = 1, 1
			in.Desired.ConfigDigest = "sha256:values"
		}, Uninstall{Timeout: 7 * time.Minute, Target: unfinishedInstall().Desired.Target, Remediation: true}},
		"Unsealed": {func(in *Input) { in.Observed.Revisions[0].Sealed = false }, Wait{After: 7 * time.Minute, Limit: 7 * time.Minute}},
		"Recorded": {func(in *Input) {
			in.Observed.Revisions[0].Sealed = false
			in.Recorded.History[0].Status, in.Recorded.History[0].Digest = helmv2.StatusUninstalling, "sha256:now"
		}, Uninstall{Timeout: 7 * time.Minute, Target: unfinishedInstall().Desired.Target, Reinstall: true}},
		"Ended": {func(in *Input) { in.Recorded.History[0].Status = helmv2.StatusUninstalled }, Wait{After: 7 * time.Minute, Limit: 7 * time.Minute}},
		"HooksRun": {func(in *Input) {
			in.Observed.Revisions[0].InstallHooksLeft = false
		}, Uninstall{Timeout: 7 * time.Minute, Target: unfinishedInstall().Desired.Target}},
	} {
		in := unfinishedInstall()
		in.Observed.Revisions[0].Status, in.Observed.Revisions[0].Digest = helmv2.StatusUninstalling, "sha256:now"
		in.Observed.Revisions[0].Interrupted, in.Observed.Revisions[0].Attempt = false, begun
		in.Observed.Revisions[0].Modified, in.Observed.Revisions[0].Deleted = testNow, testNow
		tc.change(&in)
		if d := Decide(in); d.Rule != RuleUnlock || d.Action != tc.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
