// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

const testUID = "uid-1"

var testNow = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func testDesired() release.Desired {
	return release.Desired{
		UID: testUID, Generation: 3,
		Target:       release.Target{Name: "web", Namespace: "apps", StorageNamespace: "store"},
		Chart:        release.Chart{Name: "web", Version: "1.1.0", AppVersion: "7", OCIDigest: "sha256:oci"},
		ConfigDigest: "sha256:values",
		Policy:       release.Policy{Interval: 10 * time.Minute},
	}
}

func testRevision(version int, status helmv2.ReleaseStatus) release.Revision {
	return release.Revision{
		Name: "web", Namespace: "apps", Version: version, Status: status, Sealed: true, Owner: testUID,
		ChartName: "web", ChartVersion: "1.1.0", AppVersion: "7", ConfigDigest: "sha256:values",
		Digest: fmt.Sprintf("sha256:%d-%s", version, status), LastDeployed: testNow, FirstDeployed: testNow,
		Description: fmt.Sprintf("Upgrade %q failed: it broke", "web"),
	}
}

// testObject returns a HelmRelease whose first revision was installed an hour ago.
func testObject() *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "apps", UID: testUID, Generation: 3,
		Annotations: map[string]string{helmv2.AnnotationReconcileRequest: "token"},
	}}
	want := testDesired()
	want.Generation = 2
	hr.Status = Finished(hr, release.Outcome{
		Action: release.Install{}, Desired: want, Revisions: []release.Revision{testRevision(1, helmv2.StatusDeployed)},
		Started: testNow.Add(-time.Hour), Ended: testNow.Add(-time.Hour + 1500*time.Millisecond),
	}, testNow.Add(-time.Hour)).Status
	hr.Status.LastAttemptedReleaseAction = helmv2.ActionUpgrade
	return hr
}

// parts holds the parts of a report that tables compare.
type parts struct {
	Conditions []string
	History    []string
	Failures   [3]int64
	Observed   int64
	Events     []string
	Retry      string
}

// briefly returns the first part of each message: package message and the scenarios test the others.
func briefly(r Report) parts {
	b := parts{
		Failures: [3]int64{r.Status.Failures, r.Status.InstallFailures, r.Status.UpgradeFailures},
		Observed: r.Status.ObservedGeneration, Retry: r.Retry.String(),
	}
	for _, c := range r.Status.Conditions {
		b.Conditions = append(b.Conditions, fmt.Sprintf("%s=%s/%s/%d %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, firstPart(c.Message)))
	}
	for _, s := range r.Status.History {
		b.History = append(b.History, fmt.Sprintf("%d %s %s %s", s.Version, s.Status, s.Action, s.OCIDigest))
	}
	for _, e := range r.Events {
		b.Events = append(b.Events, fmt.Sprintf("%s/%s %s %v", e.Type, e.Reason, firstPart(e.Message), e.Metadata[helmv2.EventMetadataRevision]))
	}
	return b
}

func firstPart(text string) string {
	what, _, _ := strings.Cut(text, ". ")
	return what
}

const installed = "Helm install succeeded for release apps/web.v1 with chart web@1.1.0"

// TestFinished: each outcome of an action has its conditions, history, counters, events and delay.
func TestFinished(t *testing.T) {
	ok1 := "1 deployed install sha256:oci"
	for name, tc := range map[string]struct {
		reason  string
		outcome release.Outcome
		want    parts
	}{
		"UpgradeSucceeded": {
			reason: "A success is Ready, and the revision before it is superseded.",
			outcome: release.Outcome{Action: release.Upgrade{}, Revisions: []release.Revision{
				testRevision(2, helmv2.StatusDeployed), testRevision(1, helmv2.StatusSuperseded),
			}},
			want: parts{
				Conditions: []string{
					"Released=True/UpgradeSucceeded/3 Helm upgrade succeeded for release apps/web.v2 with chart web@1.1.0",
					"Ready=True/UpgradeSucceeded/3 Helm upgrade succeeded for release apps/web.v2 with chart web@1.1.0",
				},
				History:  []string{"2 deployed upgrade sha256:oci", "1 superseded install sha256:oci"},
				Observed: 3, Retry: "now",
				Events: []string{"Normal/UpgradeSucceeded Helm upgrade succeeded for release apps/web.v2 with chart web@1.1.0 1.1.0"},
			},
		},
		"UpgradeFailed": {
			reason: "A stored failure is counted, and Helm's logs are in no message.",
			outcome: release.Outcome{
				Action: release.Upgrade{}, Err: errors.New("it broke\n"), Logs: []string{"line"},
				Revisions: []release.Revision{testRevision(2, helmv2.StatusFailed)},
			},
			want: parts{
				Conditions: []string{
					"Released=False/UpgradeFailed/3 Helm upgrade failed for release apps/web with chart web@1.1.0: it broke",
					"Ready=False/UpgradeFailed/3 Upgrade to web 1.1.0 failed: it broke",
					"Reconciling=True/ProgressingWithRetry/3 Upgrade to web 1.1.0 failed: it broke",
					"Failing=True/Failed/3 it broke",
				},
				History: []string{"2 failed upgrade sha256:oci", ok1}, Failures: [3]int64{1, 0, 1}, Observed: 2, Retry: "now",
				Events: []string{"Warning/UpgradeFailed Upgrade to web 1.1.0 failed: it broke 1.1.0"},
			},
		},
		"UpgradeRefused": {
			reason:  "A failure that stored nothing uses up a retry, stalls without retries, and backs off.",
			outcome: release.Outcome{Action: release.Upgrade{}, Err: errors.New("bad values")},
			want: parts{
				Conditions: []string{
					"Released=False/UpgradeFailed/3 Helm upgrade failed for release apps/web with chart web@1.1.0: bad values",
					"Ready=False/UpgradeFailed/3 Upgrade to web 1.1.0 failed: bad values",
					"Stalled=True/RetriesExceeded/3 Upgrade to web 1.1.0 failed: bad values",
					"Failing=True/Failed/3 bad values",
				},
				History: []string{ok1}, Failures: [3]int64{1, 0, 1}, Observed: 3, Retry: "backoff",
				Events: []string{"Warning/UpgradeFailed Upgrade to web 1.1.0 failed: bad values 1.1.0"},
			},
		},
		"TakeOverSucceeded": {
			reason: "The recorded history is of another release. The revision that was taken over has no action.",
			outcome: release.Outcome{Action: release.Upgrade{TakeOver: true}, Revisions: []release.Revision{
				testRevision(8, helmv2.StatusDeployed),
				func() release.Revision { r := testRevision(7, helmv2.StatusSuperseded); r.Owner = "uid-2"; return r }(),
			}},
			want: parts{
				Conditions: []string{
					"Released=True/UpgradeSucceeded/3 Helm upgrade succeeded for release apps/web.v8 with chart web@1.1.0",
					"Ready=True/UpgradeSucceeded/3 Helm upgrade succeeded for release apps/web.v8 with chart web@1.1.0",
				},
				History: []string{"8 deployed upgrade sha256:oci", "7 superseded  "}, Observed: 3, Retry: "now",
				Events: []string{"Normal/UpgradeSucceeded Helm upgrade succeeded for release apps/web.v8 with chart web@1.1.0: app 7 1.1.0"},
			},
		},
		"TakeOverRefused": {
			reason:  "Nothing was taken over, and the recorded history stays.",
			outcome: release.Outcome{Action: release.Upgrade{TakeOver: true}, Err: errors.New("busy")},
			want: parts{
				Conditions: []string{
					"Released=False/UpgradeFailed/3 Helm upgrade failed for release apps/web with chart web@1.1.0: busy",
					"Ready=False/UpgradeFailed/3 Upgrade to web 1.1.0 failed: busy",
					"Stalled=True/RetriesExceeded/3 Upgrade to web 1.1.0 failed: busy",
					"Failing=True/Failed/3 busy",
				},
				History: []string{ok1}, Failures: [3]int64{1, 0, 1}, Observed: 3, Retry: "backoff",
				Events: []string{"Warning/UpgradeFailed Upgrade to web 1.1.0 failed: busy 1.1.0"},
			},
		},
		"UpgradeCancelled": {
			reason: "A cancelled action is not a failure.",
			outcome: release.Outcome{
				Action: release.Upgrade{}, Err: errors.New("context canceled"), Cancelled: true,
				Revisions: []release.Revision{testRevision(2, helmv2.StatusFailed)},
			},
			want: parts{
				Conditions: []string{
					"Released=True/InstallSucceeded/2 " + installed, "Ready=True/InstallSucceeded/2 " + installed,
					"Reconciling=True/Progressing/3 context canceled",
				},
				History: []string{"2 failed upgrade sha256:oci", ok1}, Observed: 2, Retry: "now",
			},
		},
		"UninstallSucceeded": {
			reason:  "The history is empty.",
			outcome: release.Outcome{Action: release.Uninstall{}},
			want: parts{
				Conditions: []string{
					"Released=False/UninstallSucceeded/3 Helm uninstall succeeded for release apps/web.v1 with chart web@1.1.0",
					"Ready=False/UninstallSucceeded/3 Helm uninstall succeeded for release apps/web.v1 with chart web@1.1.0",
				},
				Observed: 2, Retry: "now",
				Events: []string{"Normal/UninstallSucceeded Helm uninstall succeeded for release apps/web.v1 with chart web@1.1.0 1.1.0"},
			},
		},
		"UninstallFailed": {
			reason: "A stored failure backs off too, because the next decision is the same.",
			outcome: release.Outcome{
				Action: release.Uninstall{}, Err: errors.New("stuck"),
				Revisions: []release.Revision{testRevision(1, helmv2.StatusUninstalling)},
			},
			want: parts{
				Conditions: []string{
					"Released=False/UninstallFailed/3 Helm uninstall failed for release apps/web.v1 with chart web@1.1.0: stuck",
					"Ready=False/UninstallFailed/3 Uninstall of web 1.1.0 failed: stuck",
					"Reconciling=True/ProgressingWithRetry/3 Uninstall of web 1.1.0 failed: stuck",
					"Failing=True/Failed/3 stuck",
				},
				History: []string{"1 uninstalling install sha256:oci"}, Failures: [3]int64{1, 0, 0}, Observed: 2, Retry: "backoff",
				Events: []string{"Warning/UninstallFailed Uninstall of web 1.1.0 failed: stuck 1.1.0"},
			},
		},
		"UninstallCancelled": {
			reason:  "An uninstall that a shutdown cancels has not failed.",
			outcome: release.Outcome{Action: release.Uninstall{}, Err: errors.New("context canceled"), Cancelled: true},
			want: parts{
				Conditions: []string{
					"Released=True/InstallSucceeded/2 " + installed, "Ready=True/InstallSucceeded/2 " + installed,
					"Reconciling=True/Progressing/3 context canceled",
				},
				History: []string{ok1}, Observed: 2, Retry: "now",
			},
		},
		"Unlocked": {
			reason: "The unlocked revision is recorded, with an action only if its owner is this HelmRelease.",
			outcome: release.Outcome{
				Action: release.Unlock{Version: 2, Status: helmv2.StatusPendingUpgrade},
				Revisions: []release.Revision{
					func() release.Revision { r := testRevision(2, helmv2.StatusFailed); r.Owner = ""; return r }(),
				},
			},
			want: parts{
				Conditions: []string{
					"Released=False/PendingRelease/3 Unlocked Helm release apps/web.v2 with chart web@1.1.0 in pending-upgrade state",
					"Ready=False/PendingRelease/3 Unlocked Helm release apps/web.v2 with chart web@1.1.0 in pending-upgrade state",
				},
				History: []string{"2 failed  ", ok1}, Observed: 2, Retry: "now",
				Events: []string{"Normal/PendingRelease Unlocked Helm release apps/web.v2 with chart web@1.1.0 in pending-upgrade state 1.1.0"},
			},
		},
		"UnlockedAlready": {
			reason:  "A revision that was no longer pending is observed again.",
			outcome: release.Outcome{Action: release.Unlock{Version: 2, Status: helmv2.StatusPendingUpgrade}},
			want: parts{
				Conditions: []string{"Released=True/InstallSucceeded/2 " + installed, "Ready=True/InstallSucceeded/2 " + installed},
				History:    []string{ok1}, Observed: 2, Retry: "now",
			},
		},
		"UnlockFailed": {
			reason:  "A failed unlock is retried.",
			outcome: release.Outcome{Action: release.Unlock{Version: 2, Status: helmv2.StatusPendingUpgrade, Target: testDesired().Target}, Err: errors.New("forbidden")},
			want: parts{
				Conditions: []string{
					"Released=False/PendingRelease/3 Unlock of Helm release apps/web.v2 in pending-upgrade state failed: forbidden",
					"Ready=False/PendingRelease/3 Unlock of Helm release apps/web.v2 in pending-upgrade state failed: forbidden",
					"Reconciling=True/ProgressingWithRetry/3 Unlock of Helm release apps/web.v2 in pending-upgrade state failed: forbidden",
					"Failing=True/Failed/3 forbidden",
				},
				History: []string{ok1}, Failures: [3]int64{1, 0, 0}, Observed: 2, Retry: "backoff",
				Events: []string{"Warning/PendingRelease Unlock of Helm release apps/web.v2 in pending-upgrade state failed: forbidden "},
			},
		},
		"UnlockCancelled": {
			reason:  "An unlock that a shutdown cancels has not failed.",
			outcome: release.Outcome{Action: release.Unlock{Version: 2, Status: helmv2.StatusPendingUpgrade}, Err: errors.New("cancelled before the action started"), Cancelled: true},
			want: parts{
				Conditions: []string{
					"Released=True/InstallSucceeded/2 " + installed, "Ready=True/InstallSucceeded/2 " + installed,
					"Reconciling=True/Progressing/3 cancelled before the action started",
				},
				History: []string{ok1}, Observed: 2, Retry: "now",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := testObject()
			before := hr.DeepCopy()
			tc.outcome.Desired = testDesired()
			r := Finished(hr, tc.outcome, testNow)
			if diff := cmp.Diff(tc.want, briefly(r)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if r.Status.LastHandledReconcileAt != "token" {
				t.Error("the request is not acknowledged")
			}
			if diff := cmp.Diff(before, hr); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

// TestStarted: each announcement has its conditions, and always changes the status.
func TestStarted(t *testing.T) {
	const conditions = "Released=True/InstallSucceeded/2 " + installed
	for name, tc := range map[string]struct {
		reason     string
		action     release.HelmAction
		conditions []string
		history    int
	}{
		"Install": {
			"The history of an earlier release is removed.",
			release.Install{Timeout: time.Minute},
			[]string{
				conditions, "Ready=Unknown/Progressing/3 Running 'install' action with timeout of 1m0s",
				"Reconciling=True/Progressing/3 Running 'install' action with timeout of 1m0s",
			},
			0,
		},
		"Upgrade": {
			"The history stays.",
			release.Upgrade{Timeout: time.Minute},
			[]string{
				conditions, "Ready=Unknown/Progressing/3 Running 'upgrade' action with timeout of 1m0s",
				"Reconciling=True/Progressing/3 Running 'upgrade' action with timeout of 1m0s",
			},
			1,
		},
		"TakeOver": {
			"The history stays until the take-over has stored a revision.",
			release.Upgrade{Timeout: time.Minute, TakeOver: true},
			[]string{
				conditions, "Ready=Unknown/Progressing/3 Running 'upgrade' action with timeout of 1m0s",
				"Reconciling=True/Progressing/3 Running 'upgrade' action with timeout of 1m0s",
			},
			1,
		},
		"Uninstall": {
			"Ready stays, because the release still exists.",
			release.Uninstall{Timeout: time.Minute, Target: testDesired().Target},
			[]string{
				conditions, "Ready=True/InstallSucceeded/2 " + installed,
				"Reconciling=True/Progressing/3 Running 'uninstall' action with timeout of 1m0s",
			},
			1,
		},
		"Unlock": {
			"Ready stays.",
			release.Unlock{Target: testDesired().Target},
			[]string{
				conditions, "Ready=True/InstallSucceeded/2 " + installed,
				"Reconciling=True/Progressing/3 Running 'unlock' action",
			},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := testObject()
			r := Started(hr, release.Decision{Action: tc.action}, testDesired(), testNow)
			if diff := cmp.Diff(tc.conditions, briefly(r).Conditions); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if len(r.Status.History) != tc.history || r.Status.StorageNamespace != "store" || len(r.Events) > 0 {
				t.Errorf("history %v, storage %q, events %v", r.Status.History, r.Status.StorageNamespace, r.Events)
			}
			// The write of an announcement detects concurrent ones only if it changes the status.
			hr.Status = r.Status
			if again := Started(hr, release.Decision{Action: tc.action}, testDesired(), testNow); cmp.Equal(again.Status, r.Status) {
				t.Error("the second announcement in the same second does not change the status")
			}
		})
	}
}

// TestStartedIsReadyUnknownFromTheStart: the first announcement sets Ready.
func TestStartedIsReadyUnknownFromTheStart(t *testing.T) {
	hr := &helmv2.HelmRelease{}
	r := Started(hr, release.Decision{Action: release.Unlock{}}, testDesired(), testNow)
	want := []string{"Ready=Unknown/Progressing/0 Running 'unlock' action", "Reconciling=True/Progressing/0 Running 'unlock' action"}
	if diff := cmp.Diff(want, briefly(r).Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

// TestStartedRecordsInputs: an announcement records the inputs of the action, and resets counters
// of other inputs.
func TestStartedRecordsInputs(t *testing.T) {
	hr := testObject()
	hr.Status.Failures, hr.Status.UpgradeFailures = 3, 3
	hr.Status.LastAttemptedValuesChecksum, hr.Status.LastReleaseRevision = "old", 7 //nolint:staticcheck // deprecated fields are cleared
	got := Started(hr, release.Decision{Action: release.Upgrade{}}, testDesired(), testNow).Status
	want := helmv2.HelmReleaseStatus{
		LastAttemptedGeneration: 3, LastAttemptedRevision: "1.1.0", LastAttemptedRevisionDigest: "sha256:oci",
		LastAttemptedConfigDigest: "sha256:values", LastAttemptedReleaseAction: helmv2.ActionUpgrade,
		StorageNamespace: "store",
		Conditions:       got.Conditions, History: got.History, ObservedGeneration: 2,
		// An announcement does not handle requests.
		LastHandledReconcileAt: hr.Status.LastHandledReconcileAt,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFailureOfAnOlderSpec: an action that stored nothing is retried with back-off, and without a
// delay if the spec has changed.
func TestFailureOfAnOlderSpec(t *testing.T) {
	hr := testObject()
	refused := release.Outcome{Action: release.Upgrade{}, Desired: testDesired(), Err: errors.New("schema"), Started: testNow, Ended: testNow}
	if got := Finished(hr, refused, testNow).Retry; !got.IsBackoff() {
		t.Errorf("the same spec: retry %s, want back-off", got)
	}
	hr.Generation++
	if got := Finished(hr, refused, testNow).Retry; !got.IsNow() {
		t.Errorf("a newer spec: retry %s, want now", got)
	}
}

// TestRejectedAgain: an action that is rejected again has failed since its first attempt.
func TestRejectedAgain(t *testing.T) {
	hr, want := testObject(), testDesired()
	attempt := func(at time.Time) metav1.Condition {
		hr.Status = Started(hr, release.Decision{Action: release.Upgrade{}}, want, at).Status
		hr.Status = Finished(hr, release.Outcome{Action: release.Upgrade{}, Desired: want, Err: errors.New("no"), Started: at, Ended: at}, at).Status
		return *apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionStalled)
	}
	first := attempt(testNow)
	if again := attempt(testNow.Add(time.Minute)); !again.LastTransitionTime.Equal(&first.LastTransitionTime) {
		t.Errorf("Stalled is %+v, was %+v", again, first)
	}
}
