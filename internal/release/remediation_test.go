// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// failedInput returns a release whose upgrade to revision 2 has failed once.
func failedInput() Input {
	in := inSyncInput()
	newestIs(&in, helmv2.StatusFailed)
	in.Recorded.History[0].Action = helmv2.ActionUpgrade
	in.Recorded.UpgradeFailures = 1
	in.Recorded.ObservedGeneration = 3
	return in
}

// applied makes the newest revision fully applied, so that only its objects are not ready.
func applied(in *Input) {
	in.Observed.Revisions[0].Applied = true
	in.Observed.Health = &Health{Ready: true}
}

// rejected makes the last attempt one with other values that Helm has not stored.
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

// TestDecideAfterFailure: a failure is remediated, retried, rechecked or stalls, as the policy
// states.
func TestDecideAfterFailure(t *testing.T) {
	upgrade, rollback := Upgrade{Timeout: 6 * time.Minute}, Rollback{Timeout: 8 * time.Minute, Version: 1}
	recheckAction := Recheck{Timeout: 6 * time.Minute, Version: 2}
	exhausted := Stall{Reason: helmv2.ReasonRetriesExceeded}
	stored := Target{Name: "web", Namespace: "apps", StorageNamespace: "store"}
	type test struct {
		reason string
		change func(*Input)
		rule   Rule
		action Action
	}
	for name, tc := range map[string]test{
		"Exhausted":     {"The default has no retries.", func(*Input) {}, "RetriesExhausted", exhausted},
		"RemediateLast": {"The last failure can be remediated too.", func(in *Input) { in.Desired.Policy.Upgrade.RemediateLast = true }, "Failed", rollback},
		"Remediated": {"A failed rollback is not repeated.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast, in.Observed.Revisions[0].Rollback = true, true
		}, "RetriesExhausted", exhausted},
		"RemediationInterrupted": {"An interrupted rollback is repeated.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast = true
			in.Observed.Revisions[0].Rollback, in.Observed.Revisions[0].Interrupted = true, true
		}, "Failed", rollback},
		"Uninstall": {"The remediation may be an uninstall.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast, in.Desired.Policy.Upgrade.Uninstall = true, true
		}, "Failed", Uninstall{Timeout: 7 * time.Minute, Target: stored, Remediation: true}},
		"Interrupted":    {"An interrupted upgrade is retried.", func(in *Input) { in.Observed.Revisions[0].Interrupted = true }, "Failed", upgrade},
		"Outdated":       {"So is an outdated upgrade.", func(in *Input) { in.Observed.Revisions[0].Outdated = true }, "Failed", upgrade},
		"OtherInputs":    {"So is a failure with other inputs.", func(in *Input) { in.Desired.Generation = 4 }, "Failed", upgrade},
		"NoTarget":       {"No rollback target is recorded.", func(in *Input) { oneRetry(in); in.Recorded.History = in.Recorded.History[:1] }, "Failed", Stall{Reason: helmv2.ReasonMissingRollbackTarget}},
		"TargetGone":     {"The rollback target is recorded and no longer stored.", func(in *Input) { oneRetry(in); in.Observed.Revisions = in.Observed.Revisions[:1] }, "Failed", upgrade},
		"TargetTampered": {"The rollback target has changed.", func(in *Input) { oneRetry(in); in.Observed.Revisions[1].Digest = "sha256:other" }, "Failed", upgrade},
		"TargetTamperedLast": {"With exhausted retries there is no retry.", func(in *Input) {
			in.Desired.Policy.Upgrade.RemediateLast, in.Observed.Revisions[1].Digest = true, "sha256:other"
		}, "Failed", Stall{Reason: helmv2.ReasonMissingRollbackTarget}},
		"TargetElsewhere": {"The rollback target belongs to another release.", func(in *Input) { oneRetry(in); in.Observed.Revisions[1].Namespace = "other" }, "Failed", upgrade},
		"TargetFailedTests": {"A revision with failed tests is no rollback target.", func(in *Input) {
			oneRetry(in)
			in.Recorded.History[1].SetTestHooks(map[string]*helmv2.TestHookStatus{"a": {Phase: helmv2.TestPhaseFailed}})
		}, "Failed", Stall{Reason: helmv2.ReasonMissingRollbackTarget}},
		"TargetFailedTestsIgnored": {"Ignored test failures do not matter.", func(in *Input) {
			oneRetry(in)
			in.Desired.Policy.Upgrade.IgnoreTests = true
			in.Recorded.History[1].SetTestHooks(map[string]*helmv2.TestHookStatus{"a": {Phase: helmv2.TestPhaseFailed}})
		}, "Failed", rollback},

		"BecameReady":           {"The objects became ready late.", applied, "BecameReady", recheckAction},
		"BecameReadyInstall":    {"A recheck has the timeout of its action.", func(in *Input) { applied(in); in.Recorded.History[0].Action = helmv2.ActionInstall }, "BecameReady", Recheck{Timeout: 5 * time.Minute, Version: 2}},
		"BecameReadyNotReady":   {"An object is not ready.", func(in *Input) { applied(in); in.Observed.Health.Ready = false }, "RetriesExhausted", exhausted},
		"BecameReadyNotApplied": {"The revision was not fully applied.", func(in *Input) { applied(in); in.Observed.Revisions[0].Applied = false }, "RetriesExhausted", exhausted},
		"BecameReadyPostHook":   {"A hook after the wait has not run.", func(in *Input) { applied(in); in.Observed.Revisions[0].PostUpgrade = true }, "RetriesExhausted", exhausted},
		"BecameReadyOtherHook":  {"Hooks of another action do not count.", func(in *Input) { applied(in); in.Observed.Revisions[0].PostInstall = true }, "BecameReady", recheckAction},
		"BecameReadyNoHooks": {"Disabled hooks do not count.", func(in *Input) {
			applied(in)
			in.Observed.Revisions[0].PostUpgrade, in.Desired.Policy.Upgrade.NoHooks = true, true
		}, "BecameReady", recheckAction},
		"BecameReadyForeign":     {"The revision is not ours.", func(in *Input) { applied(in); in.Observed.Revisions[0].Owner = "" }, "RetriesExhausted", exhausted},
		"BecameReadyRollback":    {"A rollback does not have the desired inputs.", func(in *Input) { applied(in); in.Observed.Revisions[0].Rollback = true }, "RetriesExhausted", exhausted},
		"BecameReadyOtherValues": {"The values have changed.", func(in *Input) { applied(in); in.Desired.ConfigDigest = "sha256:new" }, "Failed", upgrade},
		"BecameReadyOtherSpec":   {"The spec has changed.", func(in *Input) { applied(in); in.Desired.Generation = 4 }, "Failed", upgrade},

		"Rejected":              {"A rejected attempt is retried without retries.", rejected, "OutOfSync", upgrade},
		"RejectedRemediateLast": {"A rejected attempt is not remediated.", func(in *Input) { rejected(in); in.Desired.Policy.Upgrade.RemediateLast = true }, "OutOfSync", upgrade},
		"RejectedInstall": {"So is a rejected install.", func(in *Input) {
			rejected(in)
			in.Observed.Revisions, in.Recorded.InstallFailures = nil, 1
		}, "Absent", Install{Timeout: 5 * time.Minute}},
		"RejectedOverFailed": {"The failed revision belongs to an earlier attempt.", func(in *Input) { rejected(in); newestIs(in, helmv2.StatusFailed) }, "Failed", upgrade},
		"RejectedNothingToDo": {"The release may be in sync.", func(in *Input) {
			rejected(in)
			in.Desired.ConfigDigest = "sha256:values"
			in.Recorded.LastAttemptedConfigDigest = "sha256:values"
		}, "InSync", Settle{}},
		"RejectedPostRenderers": {"Only status records that patches were rejected.", func(in *Input) {
			rejected(in)
			in.Desired.ConfigDigest, in.Recorded.LastAttemptedConfigDigest = "sha256:values", "sha256:values"
			in.Desired.Rendering.PostRenderers = "sha256:patches"
		}, "OutOfSync", upgrade},
		"BegunAndFailed": {"An attempt with a duration was started.", func(in *Input) {
			rejected(in)
			in.Recorded.LastAttemptedReleaseActionDuration = AttemptDuration(0, false)
		}, "RetriesExhausted", exhausted},
		"AnnouncedOnly": {"An announced attempt without an end is not rejected.", func(in *Input) { rejected(in); in.Recorded.LastAttemptedReleaseActionDuration = nil }, "RetriesExhausted", exhausted},

		"AwaitRetry": {"RetryOnFailure waits for its interval.", func(in *Input) { retry(in, 2*time.Minute) }, "AwaitRetry", Wait{After: 3 * time.Minute, Retrying: true}},
		"Retry":      {"RetryOnFailure upgrades after its interval.", func(in *Input) { retry(in, 5*time.Minute) }, "Failed", upgrade},
		"RetryByRecheck": {"It rechecks a revision that was fully applied.", func(in *Input) {
			retry(in, 5*time.Minute)
			in.Observed.Revisions[0].Applied = true
		}, "Failed", recheckAction},

		"RetryOfInstallOnly": {"A failed install is followed by an upgrade with the strategy of upgrades.", func(in *Input) {
			retry(in, time.Minute)
			in.Desired.Policy.Install, in.Desired.Policy.Upgrade = in.Desired.Policy.Upgrade, in.Desired.Policy.Install
		}, "RetriesExhausted", exhausted},
		"RetryOfInstall": {"Before that, the strategy of the install counts.", func(in *Input) {
			retry(in, time.Minute)
			in.Desired.Policy.Install, in.Desired.Policy.Upgrade = in.Desired.Policy.Upgrade, in.Desired.Policy.Install
			in.Recorded.LastAttemptedReleaseAction, in.Recorded.InstallFailures = helmv2.ActionInstall, 1
		}, "AwaitRetry", Wait{After: 4 * time.Minute, Retrying: true}},

		"Untested":      {"A deployed revision is tested if tests are enabled.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); in.Desired.Policy.Tests = true }, "Untested", Test{Timeout: 9 * time.Minute}},
		"Tested":        {"A handled token does not reset again.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); withTests(in, helmv2.TestPhaseSucceeded) }, "InSync", Settle{}},
		"TestedNothing": {"A revision without tests counts as tested.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); withTests(in) }, "InSync", Settle{}},
		"TestedByHalves": {"A test has not ended.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseSucceeded, helmv2.TestPhaseRunning)
		}, "Untested", Test{Timeout: 9 * time.Minute}},
		"TestsFailed": {"A failed test is a failure.", func(in *Input) { newestIs(in, helmv2.StatusDeployed); withTests(in, helmv2.TestPhaseFailed, "") }, "RetriesExhausted", exhausted},
		"TestsFailedRemediated": {"A failed test is remediated like other failures.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseFailed)
			oneRetry(in)
		}, "Failed", rollback},
		"TestsFailedIgnored": {"An ignored test failure is no failure.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseFailed)
			in.Desired.Policy.Upgrade.IgnoreTests = true
		}, "InSync", Settle{}},
		"TestsFailedForOthers": {"Test failures of a foreign release do not count.", func(in *Input) {
			newestIs(in, helmv2.StatusDeployed)
			withTests(in, helmv2.TestPhaseFailed)
			in.Recorded.LastAttemptedReleaseAction = ""
		}, "InSync", Settle{}},

		"AbsentExhausted": {"An install with exhausted retries is not repeated, even if no release is left.", func(in *Input) { in.Observed.Revisions, in.Recorded.InstallFailures = nil, 1 }, "RetriesExhausted", exhausted},
		"AbsentRetry": {"RetryOnFailure has no limit.", func(in *Input) {
			in.Observed.Revisions, in.Recorded.InstallFailures, in.Desired.Policy.Install.Retry = nil, 1, true
		}, "Absent", Install{Timeout: 5 * time.Minute}},
		"UnmanagedAnyway": {"A change by another client does not count.", func(in *Input) { in.Observed.Revisions[0].Digest = "sha256:other" }, "Unmanaged", Upgrade{Timeout: 6 * time.Minute, TakeOver: true}},
	} {
		t.Run(name, func(t *testing.T) {
			in := failedInput()
			tc.change(&in)
			got := Decide(in)
			if diff := cmp.Diff([]any{tc.rule, tc.action}, []any{got.Rule, got.Action}, ignoringInsistence()); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// ignoringInsistence compares actions without what TestInsists is about.
func ignoringInsistence() cmp.Option {
	return cmp.Options{cmpopts.IgnoreFields(Install{}, "Insist"), cmpopts.IgnoreFields(Upgrade{}, "Insist")}
}

// oneRetry leaves one more failure within the retries.
func oneRetry(in *Input) { in.Desired.Policy.Upgrade.Retries = 1 }

// retry sets RetryOnFailure and the age of the failure.
func retry(in *Input, age time.Duration) {
	in.Desired.Policy.Upgrade.Retry, in.Desired.Policy.Upgrade.RetryInterval = true, 5*time.Minute
	in.Observed.Revisions[0].Modified = in.Now.Add(-age)
}

// TestOwner: the creator of a release owns it, or else the one whose history has it, or else the
// oldest HelmRelease of the namespace that requests it.
func TestOwner(t *testing.T) {
	t0 := testNow.Add(-24 * time.Hour)
	other := Conflict{UID: "other-uid", Namespace: "apps", Name: "other"}
	for name, tc := range map[string]struct {
		reason string
		made   string
		age    time.Duration
		change func(in *Input)
		want   bool
	}{
		"CreatedByOther":   {"The creator is the owner, even if it is younger.", "other-uid", -time.Hour, nil, true},
		"CreatedByUs":      {"We created it.", testUID, time.Hour, nil, false},
		"CreatedByHelmCLI": {"Of a release without a creator, the older HelmRelease is the owner.", "", time.Hour, withoutHistory, true},
		"CreatedByGone":    {"The creator no longer exists.", "gone", time.Hour, withoutHistory, true},
		"YoungerOther":     {"We are the older one.", "", -time.Hour, withoutHistory, false},
		"SameAgeSmallerID": {"At equal age the UID decides.", "", 0, withoutHistory, true},
		"RecordedByUs":     {"Our history has it, as after a migration.", "", time.Hour, nil, false},
		"RecordedAltered":  {"A history with another digest proves nothing.", "", time.Hour, func(in *Input) { in.Recorded.History[0].Digest = "sha256:forged" }, true},
		"RecordedUnread": {"A record that was not read proves nothing.", "", time.Hour, func(in *Input) {
			in.Observed.Revisions[0].Unread, in.Observed.Revisions[0].Digest, in.Recorded.History[0].Digest = true, "", ""
		}, true},
		"RecordedUnknown": {"A digest that cannot be verified proves nothing.", "", time.Hour, func(in *Input) { in.Recorded.History[0].APIVersion = "v9" }, true},
		"RecordedByBoth":  {"If both histories have it, the older one is the owner.", "", time.Hour, recordedByOther, true},
		"RecordedYounger": {"If both histories have it, the younger one is not the owner.", "", -time.Hour, recordedByOther, false},
		"RecordedByOther": {"The history of the other one has it.", "", -time.Hour, func(in *Input) { withoutHistory(in); recordedByOther(in) }, true},
		"Foreign":         {"One of another namespace does not count without proof.", "", time.Hour, func(in *Input) { withoutHistory(in); foreign(in) }, false},
		"ForeignCreator":  {"It does if it created the release.", "other-uid", time.Hour, foreign, true},
		"ForeignRecorded": {"It does if its history has the release.", "", time.Hour, func(in *Input) { withoutHistory(in); recordedByOther(in); foreign(in) }, true},
		"ForeignStorage":  {"It does if it is in the storage namespace.", "", -time.Hour, func(in *Input) { withoutHistory(in); in.Observed.Conflicts[0].Namespace = "store" }, true},
		"StorageIsOurs":   {"If we are in the storage namespace, no other one counts.", "", time.Hour, func(in *Input) { withoutHistory(in); foreign(in); in.Desired.Namespace = "store" }, false},
		"StorageCopied":   {"Even if it has copied our history.", "", time.Hour, func(in *Input) { recordedByOther(in); foreign(in); in.Desired.Namespace = "store" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			in.Desired.Namespace = "apps"
			in.Desired.Created, other.Created = t0, t0.Add(-tc.age)
			in.Observed.Conflicts = []Conflict{other}
			for i := range in.Observed.Revisions {
				in.Observed.Revisions[i].Owner = tc.made
			}
			in.Observed.Revisions = in.Observed.Revisions[:1]
			if tc.change != nil {
				tc.change(&in)
			}
			if got := owner(in) != nil; got != tc.want {
				t.Errorf("%s another HelmRelease owns it: %v, want %v", tc.reason, got, tc.want)
			}
			if got := Decide(in).Rule == RuleOwnershipConflict; got != tc.want {
				t.Errorf("%s conflict: %v, want %v", tc.reason, got, tc.want)
			}
			in.Desired.Deleted = true
			if _, lets := Decide(in).Action.(Finalize); lets != tc.want && len(in.Recorded.History) > 0 {
				t.Errorf("%s deleted, it is finalized: %v, want %v", tc.reason, lets, tc.want)
			}
		})
	}
}

func withoutHistory(in *Input) { in.Recorded.History = nil }

func recordedByOther(in *Input) { in.Observed.Conflicts[0].Recorded = []int{2} }

func foreign(in *Input) { in.Observed.Conflicts[0].Namespace = "elsewhere" }

// TestOwnerOfOlderRevisionCounts: a newer revision of another client does not change the owner.
func TestOwnerOfOlderRevisionCounts(t *testing.T) {
	in := inSyncInput()
	in.Observed.Conflicts = []Conflict{{UID: "other-uid", Created: testNow.Add(-time.Hour)}}
	in.Observed.Revisions[0].Owner, in.Observed.Revisions[1].Owner = "", testUID
	if owner(in) != nil {
		t.Error("a revision of another client changed the owner")
	}
}

// TestSuspensionOf: spec.suspend or an annotation suspends, with a reason and an end.
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
		"Spec":      {true, until("2000-01-01T00:00:00Z"), Suspension{Active: true, BySpec: true, Why: "spec.suspend is set"}},
		"Reason":    {false, map[string]string{helmv2.AnnotationSuspend: "x"}, Suspension{Active: true, Reason: "x", Why: "annotation pintle.dev/suspend: x"}},
		"OnlyUntil": {false, map[string]string{helmv2.AnnotationSuspendUntil: "2999-01-01T00:00:00Z"}, Suspension{}},
		"Over": {false, until(testNow.Format(time.RFC3339)), Suspension{
			Reason: "incident 42", Why: "annotation pintle.dev/suspend: incident 42", Over: testNow.Truncate(time.Second),
		}},
		"NotOver": {false, until(testNow.Add(time.Second).Format(time.RFC3339)), Suspension{
			Active: true, Reason: "incident 42", Until: testNow.Add(time.Second).Truncate(time.Second),
			Why: "annotation pintle.dev/suspend: incident 42 (until " + testNow.Add(time.Second).UTC().Format(time.RFC3339) + ")",
		}},
		"NoTime": {false, until("tomorrow"), Suspension{
			Active: true, Reason: "incident 42",
			Why: `annotation pintle.dev/suspend: incident 42 (without end: pintle.dev/suspend-until is "tomorrow", which is no RFC 3339 time)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, SuspensionOf(tc.spec, tc.annotations, testNow)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInsists: the first attempt of inputs is ended by denials of dry runs, and later ones go ahead.
func TestInsists(t *testing.T) {
	changed := func(in *Input) {
		in.Desired.ConfigDigest, in.Recorded.LastAttemptedConfigDigest = "sha256:new", "sha256:new"
	}
	denied := func(in *Input) {
		changed(in)
		in.Observed.Denied = true
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*Input)
		want   bool
	}{
		"First":  {"nothing is known about the inputs", func(in *Input) { in.Desired.ConfigDigest = "sha256:new" }, false},
		"Begun":  {"an attempt that was only announced has shown nothing", changed, false},
		"Denied": {"the inputs were denied once", denied, true},
		"DeniedInstall": {"so were those of an install", func(in *Input) {
			denied(in)
			in.Observed.Revisions, in.Recorded.History = nil, nil
		}, true},
		"OtherValues":     {"others were denied", func(in *Input) { denied(in); in.Desired.ConfigDigest = "sha256:newer" }, false},
		"OtherChart":      {"others were denied", func(in *Input) { denied(in); in.Desired.Chart.Version = "2.0.0" }, false},
		"OtherGeneration": {"others were denied", func(in *Input) { denied(in); in.Desired.Generation++ }, false},
		"Failed":          {"objects were applied", func(in *Input) { changed(in); in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 1, 1 }, true},
		"Rejected":        {"no object was applied", func(in *Input) { rejected(in); in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 1, 1 }, false},
		"RefusedByFlag":   {"users want that", func(in *Input) { denied(in); in.Desired.Policy.RefuseDenials = true }, false},
		"RefusedByPolicy": {"users want that", func(in *Input) { denied(in); in.Desired.Demands.RefuseDenials = true }, false},
		"Forced": {"a forced action that was denied goes ahead", func(in *Input) {
			denied(in)
			in.Desired.Requests = Requests{Reconcile: "a", Force: "a"}
			in.Recorded.LastHandledForceAt = "a"
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			tc.change(&in)
			d := Decide(in)
			install, installs := d.Action.(Install)
			upgrade, upgrades := d.Action.(Upgrade)
			if !installs && !upgrades {
				t.Fatalf("it is %+v", d)
			}
			if got := install.Insist || upgrade.Insist; got != tc.want {
				t.Errorf("%s: it insists: %t", tc.reason, got)
			}
		})
	}
}
