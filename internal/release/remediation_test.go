// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// failedInput is a release whose upgrade to revision 2 failed once, as recorded.
func failedInput() Input {
	in := inSyncInput()
	newestIs(&in, helmv2.StatusFailed)
	in.Recorded.History[0].Action = helmv2.ActionUpgrade
	in.Recorded.UpgradeFailures = 1
	in.Recorded.ObservedGeneration = 3
	return in
}

// applied makes the newest revision one that only its objects kept from success.
func applied(in *Input) {
	in.Observed.Revisions[0].Applied = true
	in.Observed.Health = &Health{Ready: true}
}

// rejected makes the last attempt one to other values that Helm has stored nothing of.
func rejected(in *Input) {
	newestIs(in, helmv2.StatusDeployed)
	in.Desired.ConfigDigest, in.Recorded.LastAttemptedConfigDigest = "sha256:new", "sha256:new"
	in.Recorded.Failures = 1
	in.Recorded.LastAttemptedReleaseActionDuration = AttemptDuration(time.Second, true)
}

func withTests(in *Input, phases ...helmv2.TestPhase) {
	in.Desired.Policy.Tests = true
	hooks := map[string]*helmv2.TestHookStatus{}
	for i, phase := range phases {
		hooks[string(rune('a'+i))] = &helmv2.TestHookStatus{Phase: phase}
	}
	in.Recorded.History[0].SetTestHooks(hooks)
}

func TestDecideAfterFailure(t *testing.T) {
	upgrade, rollback := Upgrade{Timeout: 6 * time.Minute}, Rollback{Timeout: 8 * time.Minute, Version: 1}
	heal := Recheck{Timeout: 6 * time.Minute, Version: 2}
	exhausted := Stall{Reason: helmv2.ReasonRetriesExceeded}
	stored := Target{Name: "web", Namespace: "apps", StorageNamespace: "store"}
	type test struct {
		reason string
		change func(*Input)
		rule   string
		action Action
	}
	for name, tc := range map[string]test{
		"Exhausted":     {"No failure is forgiven by default.", func(*Input) {}, "RetriesExhausted", exhausted},
		"RemediateLast": {"The last failure can be remedied too.", func(in *Input) { in.Desired.Policy.Upgrade.RemediateLast = true }, "Failed", rollback},
		"Remedied": {"Once: a rollback that failed is not repeated.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast, in.Observed.Revisions[0].Rollback = true, true
		}, "RetriesExhausted", exhausted},
		"RemedyCutOff": {"One that was cut off is.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast = true
			in.Observed.Revisions[0].Rollback, in.Observed.Revisions[0].Interrupted = true, true
		}, "Failed", rollback},
		"Uninstall": {"The remedy may be to uninstall.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast, in.Desired.Policy.Upgrade.Uninstall = true, true
		}, "Failed", Uninstall{Timeout: 7 * time.Minute, Target: stored, Remediation: true}},
		"Interrupted":    {"What was cut off is tried again.", func(in *Input) { in.Observed.Revisions[0].Interrupted = true }, "Failed", upgrade},
		"Superseded":     {"So is what was given up for newer inputs.", func(in *Input) { in.Observed.Revisions[0].Outdated = true }, "Failed", upgrade},
		"Forgiven":       {"And what failed for other inputs.", func(in *Input) { in.Desired.Generation = 4 }, "Failed", upgrade},
		"NoTarget":       {"Nothing that worked is recorded.", func(in *Input) { budget(in); in.Recorded.History = in.Recorded.History[:1] }, "Failed", Stall{Reason: helmv2.ReasonMissingRollbackTarget}},
		"TargetGone":     {"It is recorded and not there any more.", func(in *Input) { budget(in); in.Observed.Revisions = in.Observed.Revisions[:1] }, "Failed", upgrade},
		"TargetTampered": {"Or is not what it was.", func(in *Input) { budget(in); in.Observed.Revisions[1].Digest = "sha256:other" }, "Failed", upgrade},
		"TargetTamperedLast": {"With the budget spent there is no other try.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast, in.Observed.Revisions[1].Digest = true, "sha256:other"
		}, "Failed", Stall{Reason: helmv2.ReasonMissingRollbackTarget}},
		"TargetElsewhere": {"Or was of another release.", func(in *Input) { budget(in); in.Observed.Revisions[1].Namespace = "other" }, "Failed", upgrade},
		"TargetFailedTests": {"What failed its tests is not returned to.", func(in *Input) {
			budget(in)
			in.Recorded.History[1].SetTestHooks(map[string]*helmv2.TestHookStatus{"a": {Phase: helmv2.TestPhaseFailed}})
		}, "Failed", Stall{Reason: helmv2.ReasonMissingRollbackTarget}},
		"TargetFailedTestsIgnored": {"Unless failed tests do not matter.", func(in *Input) {
			budget(in)
			in.Desired.Policy.Upgrade.IgnoreTests = true
			in.Recorded.History[1].SetTestHooks(map[string]*helmv2.TestHookStatus{"a": {Phase: helmv2.TestPhaseFailed}})
		}, "Failed", rollback},

		"BecameReady":      {"Late is not never.", applied, "BecameReady", heal},
		"HealedInstall":    {"It gets the time its action had.", func(in *Input) { applied(in); in.Recorded.History[0].Action = helmv2.ActionInstall }, "BecameReady", Recheck{Timeout: 5 * time.Minute, Version: 2}},
		"HealedNotReady":   {"Not as long as an object is not ready.", func(in *Input) { applied(in); in.Observed.Health.Ready = false }, "RetriesExhausted", exhausted},
		"HealedNotApplied": {"Not if it failed before.", func(in *Input) { applied(in); in.Observed.Revisions[0].Applied = false }, "RetriesExhausted", exhausted},
		"HealedPostHook":   {"Not if a hook did not run for it.", func(in *Input) { applied(in); in.Observed.Revisions[0].PostUpgrade = true }, "RetriesExhausted", exhausted},
		"HealedOtherHook":  {"Hooks of another action do not count.", func(in *Input) { applied(in); in.Observed.Revisions[0].PostInstall = true }, "BecameReady", heal},
		"HealedNoHooks": {"Nor do any that are switched off.", func(in *Input) {
			applied(in)
			in.Observed.Revisions[0].PostUpgrade, in.Desired.Policy.Upgrade.NoHooks = true, true
		}, "BecameReady", heal},
		"HealedForeign":     {"Not what others made.", func(in *Input) { applied(in); in.Observed.Revisions[0].Owner = "" }, "RetriesExhausted", exhausted},
		"HealedRollback":    {"Nor a rollback, which is not what is wanted.", func(in *Input) { applied(in); in.Observed.Revisions[0].Rollback = true }, "RetriesExhausted", exhausted},
		"HealedOtherValues": {"Nor what is not wanted any more.", func(in *Input) { applied(in); in.Desired.ConfigDigest = "sha256:new" }, "Failed", upgrade},
		"HealedOtherSpec":   {"Nor what was made by other rules.", func(in *Input) { applied(in); in.Desired.Generation = 4 }, "Failed", upgrade},

		"Rejected":              {"What Helm has not begun is repeated although it has no retries.", rejected, "OutOfSync", upgrade},
		"RejectedRemediateLast": {"And not remediated.", func(in *Input) { rejected(in); in.Desired.Policy.Upgrade.RemediateLast = true }, "OutOfSync", upgrade},
		"RejectedInstall": {"An install too.", func(in *Input) {
			rejected(in)
			in.Observed.Revisions, in.Recorded.InstallFailures = nil, 1
		}, "Absent", Install{Timeout: 5 * time.Minute}},
		"RejectedOverFailed": {"A revision that failed before is not what was rejected.", func(in *Input) { rejected(in); newestIs(in, helmv2.StatusFailed) }, "Failed", upgrade},
		"RejectedNothingToDo": {"It may be that nothing is left to do.", func(in *Input) {
			rejected(in)
			in.Desired.ConfigDigest = "sha256:values"
			in.Recorded.LastAttemptedConfigDigest = "sha256:values"
		}, "InSync", Settle{}},
		"RejectedPostRenderers": {"Of patches only status knows that they were rejected.", func(in *Input) {
			rejected(in)
			in.Desired.ConfigDigest, in.Recorded.LastAttemptedConfigDigest = "sha256:values", "sha256:values"
			in.Desired.Rendering.PostRenderers = "sha256:patches"
		}, "OutOfSync", upgrade},
		"BegunAndFailed": {"What took time was begun.", func(in *Input) {
			rejected(in)
			in.Recorded.LastAttemptedReleaseActionDuration = AttemptDuration(0, false)
		}, "RetriesExhausted", exhausted},
		"AnnouncedOnly": {"What was announced and never ended is not rejected.", func(in *Input) { rejected(in); in.Recorded.LastAttemptedReleaseActionDuration = nil }, "RetriesExhausted", exhausted},

		"AwaitRetry": {"RetryOnFailure waits for its interval.", func(in *Input) { retry(in, 2*time.Minute) }, "AwaitRetry", Wait{After: 3 * time.Minute, Retrying: true}},
		"Retry":      {"And then upgrades.", func(in *Input) { retry(in, 5*time.Minute) }, "Failed", upgrade},
		"RetryByLooking": {"Or looks again, if all had been applied.", func(in *Input) {
			retry(in, 5*time.Minute)
			in.Observed.Revisions[0].Applied = true
		}, "Failed", heal},

		"RetryOfInstallOnly": {"A failed install is followed by an upgrade, whose strategy it is from then on.", func(in *Input) {
			retry(in, time.Minute)
			in.Desired.Policy.Install, in.Desired.Policy.Upgrade = in.Desired.Policy.Upgrade, in.Desired.Policy.Install
		}, "RetriesExhausted", exhausted},
		"RetryOfInstall": {"Before it, that of the install counts.", func(in *Input) {
			retry(in, time.Minute)
			in.Desired.Policy.Install, in.Desired.Policy.Upgrade = in.Desired.Policy.Upgrade, in.Desired.Policy.Install
			in.Recorded.LastAttemptedReleaseAction, in.Recorded.InstallFailures = helmv2.ActionInstall, 1
		}, "AwaitRetry", Wait{After: 4 * time.Minute, Retrying: true}},

		"Untested":      {"A deployed revision is tested if that is asked for.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); in.Desired.Policy.Tests = true }, "Untested", Test{Timeout: 9 * time.Minute}},
		"Tested":        {"Once.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); withTests(in, helmv2.TestPhaseSucceeded) }, "InSync", Settle{}},
		"TestedNothing": {"Also if there was nothing to run.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); withTests(in) }, "InSync", Settle{}},
		"TestedByHalves": {"Not if one of them did not end.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseSucceeded, helmv2.TestPhaseRunning)
		}, "Untested", Test{Timeout: 9 * time.Minute}},
		"TestsFailed": {"A failed test is a failure.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); withTests(in, helmv2.TestPhaseFailed, "") }, "RetriesExhausted", exhausted},
		"TestsFailedRemedied": {"With the same remedies.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseFailed)
			budget(in)
		}, "Failed", rollback},
		"TestsFailedIgnored": {"Unless it is to be ignored.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseFailed)
			in.Desired.Policy.Upgrade.IgnoreTests = true
		}, "InSync", Settle{}},
		"TestsFailedForOthers": {"Or the release is not of our making.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseFailed)
			in.Recorded.LastAttemptedReleaseAction = ""
		}, "InSync", Settle{}},

		"AbsentExhausted": {"An install that failed too often is not repeated though nothing is left of it.", func(in *Input) { in.Observed.Revisions, in.Recorded.InstallFailures = nil, 1 }, "RetriesExhausted", exhausted},
		"AbsentRetry": {"Unless it is to be repeated for ever.", func(in *Input) {
			in.Observed.Revisions, in.Recorded.InstallFailures, in.Desired.Policy.Install.Retry = nil, 1, true
		}, "Absent", Install{Timeout: 5 * time.Minute}},
		"UnmanagedAnyway": {"What somebody else did has no budget.", func(in *Input) { in.Observed.Revisions[0].Digest = "sha256:other" }, "Unmanaged", Upgrade{Timeout: 6 * time.Minute, TakeOver: true}},
	} {
		t.Run(name, func(t *testing.T) {
			in := failedInput()
			tc.change(&in)
			got := Decide(in)
			if diff := cmp.Diff([]any{tc.rule, tc.action}, []any{got.Rule, got.Action}); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// budget leaves room for one failure more.
func budget(in *Input) { in.Desired.Policy.Upgrade.Retries = 1 }

// retry makes the policy RetryOnFailure, the failure being so old.
func retry(in *Input, age time.Duration) {
	in.Desired.Policy.Upgrade.Retry, in.Desired.Policy.Upgrade.RetryInterval = true, 5*time.Minute
	in.Observed.Revisions[0].Modified = in.Now.Add(-age)
}

func TestOwner(t *testing.T) {
	t0 := testNow.Add(-24 * time.Hour)
	rival := Conflict{UID: "rival", Namespace: "apps", Name: "other"}
	for name, tc := range map[string]struct {
		reason string
		made   string
		age    time.Duration
		want   bool
	}{
		"MadeByRival":      {"Who made it owns it, be it the younger one.", "rival", -time.Hour, true},
		"MadeByUs":         {"So do we.", testUID, time.Hour, false},
		"MadeByNobody":     {"Of what a person made, the older one is the owner.", "", time.Hour, true},
		"MadeByTheDead":    {"Of what somebody made who is gone, too.", "gone", time.Hour, true},
		"YoungerRival":     {"Which may be us.", "", -time.Hour, false},
		"SameAgeSmallerID": {"Between twins the identifier decides.", "", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			in.Desired.Created, rival.Created = t0, t0.Add(-tc.age)
			in.Observed.Conflicts = []Conflict{rival}
			for i := range in.Observed.Revisions {
				in.Observed.Revisions[i].Owner = tc.made
			}
			if got := owner(in) != nil; got != tc.want {
				t.Errorf("%s a rival owns it: %v, want %v", tc.reason, got, tc.want)
			}
			if got := Decide(in).Rule == "OwnershipConflict"; got != tc.want {
				t.Errorf("%s contested: %v, want %v", tc.reason, got, tc.want)
			}
			in.Desired.Deleted = true
			if _, lets := Decide(in).Action.(Finalize); lets != tc.want {
				t.Errorf("%s deleted, it is let go: %v, want %v", tc.reason, lets, tc.want)
			}
		})
	}
}

func TestOwnerOfOlderRevisionCounts(t *testing.T) {
	in := inSyncInput()
	in.Observed.Conflicts = []Conflict{{UID: "rival", Created: testNow.Add(-time.Hour)}}
	in.Observed.Revisions[0].Owner, in.Observed.Revisions[1].Owner = "", testUID
	if owner(in) != nil {
		t.Error("what a person does to our release does not make it somebody else's")
	}
}

func TestSuspensionOf(t *testing.T) {
	until := func(text string) map[string]string {
		return map[string]string{helmv2.AnnotationSuspend: "incident 42", helmv2.AnnotationSuspendUntil: text}
	}
	for name, tc := range map[string]struct {
		spec        bool
		annotations map[string]string
		want        Suspension
	}{
		"Nothing":   {false, nil, Suspension{}},
		"Spec":      {true, until("2000-01-01T00:00:00Z"), Suspension{Active: true, Why: "spec.suspend is set"}},
		"Reason":    {false, map[string]string{helmv2.AnnotationSuspend: "x"}, Suspension{Active: true, Why: "annotation pintle.dev/suspend: x"}},
		"OnlyUntil": {false, map[string]string{helmv2.AnnotationSuspendUntil: "2999-01-01T00:00:00Z"}, Suspension{}},
		"Over":      {false, until(testNow.Format(time.RFC3339)), Suspension{}},
		"NotOver": {false, until(testNow.Add(time.Second).Format(time.RFC3339)), Suspension{
			Active: true, Until: testNow.Add(time.Second).Truncate(time.Second),
			Why: "annotation pintle.dev/suspend: incident 42 (until " + testNow.Add(time.Second).UTC().Format(time.RFC3339) + ")",
		}},
		"NoTime": {false, until("tomorrow"), Suspension{
			Active: true,
			Why:    `annotation pintle.dev/suspend: incident 42 (without end: pintle.dev/suspend-until is "tomorrow", which is no RFC 3339 time)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, SuspensionOf(tc.spec, tc.annotations, testNow)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
