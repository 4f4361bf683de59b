// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const testUID = "uid-1"

var testNow = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// inSyncInput returns a release in sync: revision 2 is ours, deployed, recorded and as desired.
func inSyncInput() Input {
	newest := testRevision(2, helmv2.StatusDeployed)
	return Input{
		Desired: Desired{
			UID: testUID, Generation: 3,
			Target:       Target{Name: "web", Namespace: "apps", StorageNamespace: "store"},
			Chart:        Chart{Name: "web", Version: "1.1.0"},
			ConfigDigest: "sha256:values",
			Policy: Policy{
				Interval: 10 * time.Minute, UninstallTimeout: 7 * time.Minute, RollbackTimeout: 8 * time.Minute, TestTimeout: 9 * time.Minute,
				Install:   ActionPolicy{Timeout: 5 * time.Minute, Uninstall: true},
				Upgrade:   ActionPolicy{Timeout: 6 * time.Minute},
				Reinstall: true,
			},
		},
		Observed: Observed{Revisions: []Revision{newest, testRevision(1, helmv2.StatusSuperseded)}},
		Recorded: helmv2.HelmReleaseStatus{
			StorageNamespace: "store",
			History:          helmv2.Snapshots{testSnapshot(newest), testSnapshot(testRevision(1, helmv2.StatusSuperseded))},

			LastAttemptedGeneration: 3, LastAttemptedRevision: "1.1.0", LastAttemptedConfigDigest: "sha256:values",
			LastAttemptedReleaseAction: helmv2.ActionUpgrade,
		},
		Now: testNow,
	}
}

func testRevision(version int, status helmv2.ReleaseStatus) Revision {
	return Revision{
		Name: "web", Namespace: "apps", Version: version, Status: status,
		ChartName: "web", ChartVersion: "1.1.0", ConfigDigest: "sha256:values",
		Digest: "sha256:" + string(status), Sealed: true, Owner: testUID, LastDeployed: testNow.Add(-time.Hour),
	}
}

func testSnapshot(r Revision) *helmv2.Snapshot {
	return &helmv2.Snapshot{
		APIVersion: SnapshotScheme, Digest: r.Digest, Name: r.Name, Namespace: r.Namespace, Version: r.Version,
		Status: r.Status, ChartName: r.ChartName, ChartVersion: r.ChartVersion, ConfigDigest: r.ConfigDigest,
	}
}

// newestIs sets the status of the newest revision in storage and history.
func newestIs(in *Input, status helmv2.ReleaseStatus) {
	in.Observed.Revisions[0] = testRevision(2, status)
	in.Recorded.History[0] = testSnapshot(in.Observed.Revisions[0])
}

// TestDecide: each state leads to the action of the documented rule.
func TestDecide(t *testing.T) {
	stored := Target{Name: "web", Namespace: "apps", StorageNamespace: "store"}
	type test struct {
		reason string
		change func(*Input)
		want   Decision
	}
	for name, tc := range map[string]test{
		"FinalizeSuspended": {
			reason: "An object deleted while suspended leaves its release behind.",
			change: func(in *Input) { in.Desired.Deleted, in.Desired.Suspension.Active = true, true },
			want:   Decision{Rule: "Finalize", Action: Finalize{}, Why: "deleted while suspended: the release stays"},
		},
		"FinalizeNothingStored": {
			reason: "With nothing in storage there is nothing to uninstall.",
			change: func(in *Input) { in.Desired.Deleted, in.Observed.Revisions = true, nil },
			want:   Decision{Rule: "Finalize", State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"},
		},
		"FinalizeUninstalled": {
			reason: "An uninstalled release in storage does not block the deletion.",
			change: func(in *Input) { in.Desired.Deleted = true; newestIs(in, helmv2.StatusUninstalled) },
			want:   Decision{Rule: "Finalize", State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"},
		},
		"FinalizeForeign": {
			reason: "A release of another owner is not uninstalled.",
			change: func(in *Input) {
				in.Desired.Deleted, in.Recorded.History = true, nil
				for i := range in.Observed.Revisions {
					in.Observed.Revisions[i].Owner = "another"
				}
			},
			want: Decision{Rule: "Finalize", State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"},
		},
		"HeldRunning": {
			reason: "A running attempt is awaited.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionUpgrade, Desired: in.Desired}
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the upgrade action is running"},
		},
		"HeldOutdated": {
			reason: "Newer inputs cancel its wait.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionUpgrade, Desired: in.Desired}
				in.Desired.ConfigDigest = "sha256:new"
			},
			want: Decision{Rule: "Busy", Action: Wait{Cancel: true, Outdated: true}, Why: "the upgrade action is running"},
		},
		"HeldTestOutdated": {
			reason: "Newer inputs cancel neither tests nor a rollback.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionTest, Desired: in.Desired}
				in.Desired.ConfigDigest = "sha256:new"
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the test action is running"},
		},
		"HeldUnresolved": {
			reason: "Unknown inputs cancel nothing.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionUpgrade, Desired: in.Desired}
				in.Desired.Chart, in.Desired.ConfigDigest = Chart{}, "sha256:new"
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the upgrade action is running"},
		},
		"HeldDeleted": {
			reason: "A deletion cancels the wait of an upgrade.",
			change: func(in *Input) {
				in.Observed.Running, in.Desired.Deleted = &Running{Action: helmv2.ActionUpgrade}, true
			},
			want: Decision{Rule: "Busy", Action: Wait{Cancel: true}, Why: "the upgrade action is running"},
		},
		"HeldUninstalling": {
			reason: "A deletion does not cancel its own uninstall.",
			change: func(in *Input) {
				in.Observed.Running, in.Desired.Deleted = &Running{Action: helmv2.ActionUninstall}, true
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the uninstall action is running"},
		},
		"HeldSuspendedAndDeleted": {
			reason: "A suspended HelmRelease is not finalized while an attempt runs.",
			change: func(in *Input) {
				in.Observed.Running, in.Desired.Deleted, in.Desired.Suspension.Active = &Running{Action: helmv2.ActionInstall}, true, true
			},
			want: Decision{Rule: "Busy", Action: Wait{Cancel: true}, Why: "the install action is running"},
		},
		"RecoverDeployed": {
			reason: "A finished revision of ours that was not recorded is adopted, not repeated.",
			change: func(in *Input) { in.Recorded.History = in.Recorded.History[1:] },
			want:   Decision{Rule: "Recover", Action: Adopt{}, Why: "revision 2 was made but not recorded"},
		},
		"RecoverFailedFirst": {
			reason: "So is a failed one with an empty history.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.History = nil
			},
			want: Decision{Rule: "Recover", Action: Adopt{}, Why: "revision 2 was made but not recorded"},
		},
		"RecoverNotOfStrangers": {
			reason: "A newer revision of another client is taken over, not adopted.",
			change: func(in *Input) {
				in.Recorded.History = in.Recorded.History[1:]
				in.Observed.Revisions[0].Owner = "another"
			},
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Why: "release not observed to be made for object",
				Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
			},
		},
		"RecoverNotWithoutIdentity": {
			reason: "Two empty owners do not match.",
			change: func(in *Input) {
				in.Desired.UID, in.Observed.Revisions[0].Owner = "", ""
				in.Recorded.History = in.Recorded.History[1:]
			},
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Why: "release not observed to be made for object",
				Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
			},
		},
		"RecoverNotSuperseded": {
			reason: "A revision that neither succeeded nor failed is not adopted.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusSuperseded)
				in.Recorded.History = nil
			},
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Why: "found existing release in storage",
				Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
			},
		},
		"Delete": {
			reason: "The release of a deleted HelmRelease is uninstalled at the recorded target.",
			change: func(in *Input) {
				in.Desired.Deleted = true
				in.Desired.Target = Target{Name: "other", Namespace: "elsewhere", StorageNamespace: "elsewhere"}
			},
			want: Decision{Rule: "Delete", Action: Uninstall{Timeout: 7 * time.Minute, Target: stored}, Why: "deleted"},
		},
		"DeletePending": {
			reason: "A pending revision of ours does not stop the uninstall.",
			change: func(in *Input) { in.Desired.Deleted = true; newestIs(in, helmv2.StatusPendingUpgrade) },
			want:   Decision{Rule: "Delete", Action: Uninstall{Timeout: 7 * time.Minute, Target: stored}, Why: "deleted"},
		},
		"DeleteUnrecorded": {
			reason: "The revision label is sufficient, even with an empty history.",
			change: func(in *Input) {
				in.Desired.Deleted = true
				newestIs(in, helmv2.StatusUninstalling)
				in.Recorded.History = nil
			},
			want: Decision{Rule: "Delete", Action: Uninstall{Timeout: 7 * time.Minute, Target: stored}, Why: "deleted"},
		},
		"Suspended": {
			reason: "A suspended HelmRelease does not unlock a stale pending revision.",
			change: func(in *Input) { in.Desired.Suspension.Active = true; newestIs(in, helmv2.StatusPendingUpgrade) },
			want:   Decision{Rule: "Suspended", Action: Settle{}, Why: "suspended"},
		},
		"UnlockOurs": {
			reason: "A pending revision of ours without a running attempt is interrupted.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusPendingInstall)
				in.Observed.Revisions[0].Modified = testNow
			},
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Unlock{Version: 2, Status: helmv2.StatusPendingInstall, Target: stored},
				Why: "release with status 'pending-install'",
			},
		},
		"UnlockForeignYoung": {
			reason: "A pending revision of another client is left alone for the longest timeout.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusPendingRollback)
				in.Observed.Revisions[0].Owner, in.Observed.Revisions[0].Modified = "", testNow.Add(-time.Minute)
			},
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Wait{After: 5 * time.Minute, Limit: 6 * time.Minute},
				Why: "revision 2 has status 'pending-rollback', set by another client",
			},
		},
		"UnlockForeignOld": {
			reason: "After that it counts as interrupted, here by its deployment time.",
			change: func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade); in.Observed.Revisions[0].Owner = "" },
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Unlock{Version: 2, Status: helmv2.StatusPendingUpgrade, Target: stored},
				Why: "release with status 'pending-upgrade'",
			},
		},
		"Absent": {
			reason: "An empty storage is an install, regardless of the history.",
			change: func(in *Input) { in.Observed.Revisions = nil },
			want:   Decision{Rule: "Absent", State: StateAbsent, Action: Install{Timeout: 5 * time.Minute}, Why: "no release in storage for object"},
		},
		"AbsentUninstalled": {
			reason: "So is an uninstalled release.",
			change: func(in *Input) { newestIs(in, helmv2.StatusUninstalled) },
			want:   Decision{Rule: "Absent", State: StateAbsent, Action: Install{Timeout: 5 * time.Minute}, Why: "found uninstalled release in storage"},
		},
		"UnmanagedTampered": {
			reason: "A recorded revision with another digest was changed.",
			change: func(in *Input) { in.Observed.Revisions[0].Digest = "sha256:other" },
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Why: "release digest verification error",
				Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
			},
		},
		"UnmanagedButTrusted": {
			reason: "A digest of another scheme cannot be compared and is trusted.",
			change: func(in *Input) {
				in.Observed.Revisions[0].Digest, in.Recorded.History[0].APIVersion = "sha256:other", "v2"
			},
			want: Decision{Rule: "InSync", State: StateInSync, Action: Settle{}, Why: "release is in sync"},
		},
		"FailedBudgetLeft": {
			reason: "A failure within the retries is remediated.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 1, 1
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Rollback{Timeout: 8 * time.Minute, Version: 1}, Why: "revision 2 failed"},
		},
		"FailedUpgradeExhausted": {
			reason: "One more failure than retries stalls.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 2, 1
			},
			want: Decision{
				Rule: "RetriesExhausted", State: StateFailed, Action: Stall{Reason: helmv2.ReasonRetriesExceeded},
				Why: "Failed to upgrade after 2 attempt(s)",
			},
		},
		"FailedInstallExhausted": {
			reason: "The last attempt selects the policy.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.LastAttemptedReleaseAction, in.Recorded.InstallFailures = helmv2.ActionInstall, 1
			},
			want: Decision{
				Rule: "RetriesExhausted", State: StateFailed, Action: Stall{Reason: helmv2.ReasonRetriesExceeded},
				Why: "Failed to install after 1 attempt(s)",
			},
		},
		"FailedForeverForgiven": {
			reason: "Negative retries are never exhausted.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 1000, -1
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Rollback{Timeout: 8 * time.Minute, Version: 1}, Why: "revision 2 failed"},
		},
		"FailedThenChanged": {
			reason: "New inputs reset the counters.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.ConfigDigest = 1, "sha256:new"
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "revision 2 failed"},
		},
		"FailedNeverAttempted": {
			reason: "Failures of the previous owner are not counted.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.LastAttemptedReleaseAction, in.Recorded.UpgradeFailures = "", 7
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "revision 2 failed"},
		},
		"UninstallUnfinished": {
			reason: "An interrupted uninstall of ours is completed.",
			change: func(in *Input) { newestIs(in, helmv2.StatusUninstalling) },
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Uninstall{Timeout: 7 * time.Minute, Target: stored},
				Why: "release with status 'uninstalling'",
			},
		},
		"UninstallOfAnother": {
			reason: "An unrecorded uninstall may be another client's and is given time.",
			change: func(in *Input) {
				in.Observed.Revisions[0] = testRevision(2, helmv2.StatusUninstalling)
				in.Observed.Revisions[0].Modified = in.Now.Add(-time.Minute)
			},
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Wait{After: 6 * time.Minute, Limit: 7 * time.Minute},
				Why: "revision 2 has status 'uninstalling', set by another client",
			},
		},
		"UnlockUnknown": {
			reason: "A revision of unknown status is unlocked.",
			change: func(in *Input) { newestIs(in, helmv2.StatusUnknown) },
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Unlock{Version: 2, Status: helmv2.StatusUnknown, Target: stored},
				Why: "release with status 'unknown'",
			},
		},
		"UnmanagedSuperseded": {
			reason: "If the newest revision is superseded, the state of the cluster is unknown.",
			change: func(in *Input) { newestIs(in, helmv2.StatusSuperseded) },
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
				Why: "the newest release in storage is superseded",
			},
		},
		"MovedAwayFromOthers": {
			reason: "A release that another HelmRelease has taken over is not uninstalled.",
			change: func(in *Input) {
				in.Desired.Target.Namespace = "other"
				in.Observed.Revisions[0].Owner = "other-uid"
				in.Observed.Conflicts = []Conflict{{UID: "other-uid"}}
			},
			want: Decision{
				Rule: "TargetMoved", Action: Forget{},
				Why: "release namespace changed from 'apps' to 'other', and another HelmRelease owns the old release",
			},
		},
		"MovedAwayFromOthersAtWork": {
			reason: "It is not unlocked either.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusUnknown)
				in.Desired.Target.Namespace = "other"
				in.Observed.Revisions[0].Owner = "other-uid"
				in.Observed.Conflicts = []Conflict{{UID: "other-uid"}}
			},
			want: Decision{
				Rule: "TargetMoved", Action: Forget{},
				Why: "release namespace changed from 'apps' to 'other', and another HelmRelease owns the old release",
			},
		},
		"OutOfSyncChartVersion": {
			reason: "Another version of the chart is an upgrade.",
			change: func(in *Input) { in.Desired.Chart.Version = "1.2.0" },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release chart changed"},
		},
		"OutOfSyncChartName": {
			reason: "So is another chart, if the spec has it.",
			change: func(in *Input) { in.Desired.Chart.Name, in.Desired.Policy.Reinstall = "api", false },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release chart changed"},
		},
		"OutOfSyncValues": {
			reason: "So are other values.",
			change: func(in *Input) { in.Desired.ConfigDigest = "sha256:new" },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release config values changed"},
		},
		"InSyncPreserved": {
			reason: "With preserved values, the values of an upgrade are compared.",
			change: func(in *Input) {
				in.Desired.ConfigDigest, in.Observed.PreservedDigest = "sha256:given", "sha256:values"
			},
			want: Decision{Rule: "InSync", State: StateInSync, Action: Settle{}, Why: "release is in sync"},
		},
		"OutOfSyncPreserved": {
			reason: "With preserved values, spec.values alone are not compared.",
			change: func(in *Input) { in.Observed.PreservedDigest = "sha256:given" },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release config values changed"},
		},
		"InSync": {
			reason: "Otherwise the release is in sync, regardless of its conditions.",
			change: func(in *Input) {
				in.Recorded.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionFalse}}
			},
			want: Decision{Rule: "InSync", State: StateInSync, Action: Settle{}, Why: "release is in sync"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			tc.change(&in)
			if diff := cmp.Diff(tc.want, Decide(in)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestActs: actions that change the cluster are announced.
func TestActs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		action Action
		acts   bool
		word   string
	}{
		"Install":   {"It changes the cluster.", Install{}, true, "install"},
		"Upgrade":   {"It changes the cluster.", Upgrade{}, true, "upgrade"},
		"Uninstall": {"It changes the cluster.", Uninstall{}, true, "uninstall"},
		"Unlock":    {"It changes storage.", Unlock{}, true, "unlock"},
		"Finalize":  {"It needs no announcement.", Finalize{}, false, "finalize"},
		"Adopt":     {"It only writes status.", Adopt{}, false, "adopt"},
		"Settle":    {"It only writes status.", Settle{}, false, "settle"},
		"Wait":      {"It only writes status.", Wait{}, false, "wait"},
		"Stall":     {"It only writes status.", Stall{}, false, "stall"},
		"None":      {"A nil action does not act.", nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Decision{Action: tc.action}).Acts(); got != tc.acts {
				t.Errorf("%s Acts() = %t", tc.reason, got)
			}
			if got := Name(tc.action); got != tc.word {
				t.Errorf("Name() = %q, want %q", got, tc.word)
			}
		})
	}
}
