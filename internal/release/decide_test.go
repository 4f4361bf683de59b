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

// inSyncInput is a release at rest: revision 2 is ours, deployed, recorded and
// as wanted.
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
		Digest: "sha256:" + string(status), Owner: testUID, LastDeployed: testNow.Add(-time.Hour),
	}
}

func testSnapshot(r Revision) *helmv2.Snapshot {
	return &helmv2.Snapshot{
		APIVersion: SnapshotScheme, Digest: r.Digest, Name: r.Name, Namespace: r.Namespace, Version: r.Version,
		Status: r.Status, ChartName: r.ChartName, ChartVersion: r.ChartVersion, ConfigDigest: r.ConfigDigest,
	}
}

// newestIs makes the newest revision, stored and recorded, have a status.
func newestIs(in *Input, status helmv2.ReleaseStatus) {
	in.Observed.Revisions[0] = testRevision(2, status)
	in.Recorded.History[0] = testSnapshot(in.Observed.Revisions[0])
}

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
			change: func(in *Input) { in.Desired.Deleted, in.Desired.Suspended = true, true },
			want:   Decision{Rule: "Finalize", Action: Finalize{}, Why: "deleted while suspended: the release stays"},
		},
		"FinalizeNothingStored": {
			reason: "With nothing in storage there is nothing to uninstall.",
			change: func(in *Input) { in.Desired.Deleted, in.Observed.Revisions = true, nil },
			want:   Decision{Rule: "Finalize", State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"},
		},
		"FinalizeUninstalled": {
			reason: "An uninstalled release kept in storage holds nobody.",
			change: func(in *Input) { in.Desired.Deleted = true; newestIs(in, helmv2.StatusUninstalled) },
			want:   Decision{Rule: "Finalize", State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"},
		},
		"FinalizeForeign": {
			reason: "A release that was never ours is not uninstalled.",
			change: func(in *Input) {
				in.Desired.Deleted, in.Recorded.History = true, nil
				for i := range in.Observed.Revisions {
					in.Observed.Revisions[i].Owner = "somebody"
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
			reason: "Newer inputs end its wait.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionUpgrade, Desired: in.Desired}
				in.Desired.ConfigDigest = "sha256:new"
			},
			want: Decision{Rule: "Busy", Action: Wait{Cancel: true, Outdated: true}, Why: "the upgrade action is running"},
		},
		"HeldTestOutdated": {
			reason: "But not that of tests, which are short, nor of a rollback.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionTest, Desired: in.Desired}
				in.Desired.ConfigDigest = "sha256:new"
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the test action is running"},
		},
		"HeldUnresolved": {
			reason: "What cannot be known at the moment is not newer.",
			change: func(in *Input) {
				in.Observed.Running = &Running{Action: helmv2.ActionUpgrade, Desired: in.Desired}
				in.Desired.Chart, in.Desired.ConfigDigest = Chart{}, "sha256:new"
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the upgrade action is running"},
		},
		"HeldDeleted": {
			reason: "A deletion ends the waiting of an upgrade.",
			change: func(in *Input) {
				in.Observed.Running, in.Desired.Deleted = &Running{Action: helmv2.ActionUpgrade}, true
			},
			want: Decision{Rule: "Busy", Action: Wait{Cancel: true}, Why: "the upgrade action is running"},
		},
		"HeldUninstalling": {
			reason: "The uninstall a deletion asked for is not ended by that deletion.",
			change: func(in *Input) {
				in.Observed.Running, in.Desired.Deleted = &Running{Action: helmv2.ActionUninstall}, true
			},
			want: Decision{Rule: "Busy", Action: Wait{}, Why: "the uninstall action is running"},
		},
		"HeldSuspendedAndDeleted": {
			reason: "Not even a suspended object is let go under a running attempt.",
			change: func(in *Input) {
				in.Observed.Running, in.Desired.Deleted, in.Desired.Suspended = &Running{Action: helmv2.ActionInstall}, true, true
			},
			want: Decision{Rule: "Busy", Action: Wait{Cancel: true}, Why: "the install action is running"},
		},
		"RecoverDeployed": {
			reason: "Our own finished revision that was not recorded is adopted and not made again.",
			change: func(in *Input) { in.Recorded.History = in.Recorded.History[1:] },
			want:   Decision{Rule: "Recover", Action: Adopt{}, Why: "revision 2 was made but not recorded"},
		},
		"RecoverFailedFirst": {
			reason: "The same for a failed one, and with an empty history.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.History = nil
			},
			want: Decision{Rule: "Recover", Action: Adopt{}, Why: "revision 2 was made but not recorded"},
		},
		"RecoverNotOfStrangers": {
			reason: "A newer revision by somebody else is taken over, not adopted.",
			change: func(in *Input) {
				in.Recorded.History = in.Recorded.History[1:]
				in.Observed.Revisions[0].Owner = "somebody"
			},
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Why: "release not observed to be made for object",
				Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
			},
		},
		"RecoverNotWithoutIdentity": {
			reason: "No owner is not an owner to recognise.",
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
			reason: "A status that says neither success nor failure is nothing to adopt.",
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
			reason: "A deleted object's release is uninstalled where it was recorded to be.",
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
			reason: "Our stamp is enough, even if nothing was recorded.",
			change: func(in *Input) {
				in.Desired.Deleted = true
				newestIs(in, helmv2.StatusUninstalling)
				in.Recorded.History = nil
			},
			want: Decision{Rule: "Delete", Action: Uninstall{Timeout: 7 * time.Minute, Target: stored}, Why: "deleted"},
		},
		"Suspended": {
			reason: "A suspended object leaves even a stale pending revision alone.",
			change: func(in *Input) { in.Desired.Suspended = true; newestIs(in, helmv2.StatusPendingUpgrade) },
			want:   Decision{Rule: "Suspended", Action: Settle{}, Why: "suspended"},
		},
		"UnlockOurs": {
			reason: "Our own pending revision is dead if nothing runs here.",
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
			reason: "Somebody else's is left alone for as long as any action may take.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusPendingRollback)
				in.Observed.Revisions[0].Owner, in.Observed.Revisions[0].Modified = "", testNow.Add(-time.Minute)
			},
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Wait{After: 5 * time.Minute},
				Why: "revision 2 has status 'pending-rollback', set by another client",
			},
		},
		"UnlockForeignOld": {
			reason: "After that it counts as abandoned, here by the time of deployment.",
			change: func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade); in.Observed.Revisions[0].Owner = "" },
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Unlock{Version: 2, Status: helmv2.StatusPendingUpgrade, Target: stored},
				Why: "release with status 'pending-upgrade'",
			},
		},
		"Absent": {
			reason: "Nothing stored is an install, whatever was recorded.",
			change: func(in *Input) { in.Observed.Revisions = nil },
			want:   Decision{Rule: "Absent", State: StateAbsent, Action: Install{Timeout: 5 * time.Minute}, Why: "no release in storage for object"},
		},
		"AbsentUninstalled": {
			reason: "So is a release that was uninstalled.",
			change: func(in *Input) { newestIs(in, helmv2.StatusUninstalled) },
			want:   Decision{Rule: "Absent", State: StateAbsent, Action: Install{Timeout: 5 * time.Minute}, Why: "found uninstalled release in storage"},
		},
		"UnmanagedTampered": {
			reason: "A recorded revision that reads otherwise now was changed by somebody.",
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
			reason: "A failure within the budget is remedied.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 1, 1
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Rollback{Timeout: 8 * time.Minute, Version: 1}, Why: "revision 2 failed"},
		},
		"FailedUpgradeExhausted": {
			reason: "One more failure than forgiven stalls.",
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
			reason: "What was attempted last tells whose budget counts.",
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
			reason: "A negative budget is never spent.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.Policy.Upgrade.Retries = 1000, -1
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Rollback{Timeout: 8 * time.Minute, Version: 1}, Why: "revision 2 failed"},
		},
		"FailedThenChanged": {
			reason: "The budget starts anew when something else is wanted.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.UpgradeFailures, in.Desired.ConfigDigest = 1, "sha256:new"
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "revision 2 failed"},
		},
		"FailedNeverAttempted": {
			reason: "Failures of those who had the release before are not ours to count.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusFailed)
				in.Recorded.LastAttemptedReleaseAction, in.Recorded.UpgradeFailures = "", 7
			},
			want: Decision{Rule: "Failed", State: StateFailed, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "revision 2 failed"},
		},
		"UninstallUnfinished": {
			reason: "An uninstall of ours that did not get to its end is finished.",
			change: func(in *Input) { newestIs(in, helmv2.StatusUninstalling) },
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Uninstall{Timeout: 7 * time.Minute, Target: stored},
				Why: "release with status 'uninstalling'",
			},
		},
		"UninstallOfSomebody": {
			reason: "One that we did not record may be somebody's, who gets the time it takes.",
			change: func(in *Input) {
				in.Observed.Revisions[0] = testRevision(2, helmv2.StatusUninstalling)
				in.Observed.Revisions[0].Modified = in.Now.Add(-time.Minute)
			},
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Wait{After: 6 * time.Minute},
				Why: "revision 2 has status 'uninstalling', set by another client",
			},
		},
		"UnlockUnknown": {
			reason: "A status that Helm does not know is one to get out of.",
			change: func(in *Input) { newestIs(in, helmv2.StatusUnknown) },
			want: Decision{
				Rule: "Unlock", State: StateLocked, Action: Unlock{Version: 2, Status: helmv2.StatusUnknown, Target: stored},
				Why: "release with status 'unknown'",
			},
		},
		"UnmanagedSuperseded": {
			reason: "If the newest revision is superseded, nobody knows what is in the cluster.",
			change: func(in *Input) { newestIs(in, helmv2.StatusSuperseded) },
			want: Decision{
				Rule: "Unmanaged", State: StateUnmanaged, Action: Upgrade{Timeout: 6 * time.Minute, TakeOver: true},
				Why: "the newest release in storage is superseded",
			},
		},
		"MovedAwayFromOthers": {
			reason: "What another HelmRelease has taken over is not uninstalled.",
			change: func(in *Input) {
				in.Desired.Target.Namespace = "other"
				in.Observed.Revisions[0].Owner = "rival"
				in.Observed.Conflicts = []Conflict{{UID: "rival"}}
			},
			want: Decision{
				Rule: "TargetMoved", Action: Forget{},
				Why: "release namespace changed from 'apps' to 'other', and another HelmRelease owns the old release",
			},
		},
		"MovedAwayFromOthersAtWork": {
			reason: "Nor is it unlocked.",
			change: func(in *Input) {
				newestIs(in, helmv2.StatusUnknown)
				in.Desired.Target.Namespace = "other"
				in.Observed.Revisions[0].Owner = "rival"
				in.Observed.Conflicts = []Conflict{{UID: "rival"}}
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
			reason: "So is another chart, where the spec says so.",
			change: func(in *Input) { in.Desired.Chart.Name, in.Desired.Policy.Reinstall = "api", false },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release chart changed"},
		},
		"OutOfSyncValues": {
			reason: "So are other values.",
			change: func(in *Input) { in.Desired.ConfigDigest = "sha256:new" },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release config values changed"},
		},
		"InSyncPreserved": {
			reason: "Where values are preserved, those count that an upgrade would have.",
			change: func(in *Input) {
				in.Desired.ConfigDigest, in.Observed.PreservedDigest = "sha256:given", "sha256:values"
			},
			want: Decision{Rule: "InSync", State: StateInSync, Action: Settle{}, Why: "release is in sync"},
		},
		"OutOfSyncPreserved": {
			reason: "And nothing else.",
			change: func(in *Input) { in.Observed.PreservedDigest = "sha256:given" },
			want:   Decision{Rule: "OutOfSync", State: StateOutOfSync, Action: Upgrade{Timeout: 6 * time.Minute}, Why: "release config values changed"},
		},
		"InSync": {
			reason: "Otherwise there is nothing to do, whatever the conditions say.",
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
		"Finalize":  {"It ends the object, which needs no announcement.", Finalize{}, false, "finalize"},
		"Adopt":     {"It only writes status.", Adopt{}, false, "adopt"},
		"Settle":    {"It only writes status.", Settle{}, false, "settle"},
		"Wait":      {"It only writes status.", Wait{}, false, "wait"},
		"Stall":     {"It only writes status.", Stall{}, false, "stall"},
		"None":      {"No action is not an action.", nil, false, ""},
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
