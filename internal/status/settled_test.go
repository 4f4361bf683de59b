// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func failedSince(version int) []release.Revision {
	return []release.Revision{testRevision(version, helmv2.StatusFailed), testRevision(1, helmv2.StatusDeployed)}
}

// TestSettled: each decision without an action has its report, and the same reconciliation a minute
// later writes nothing and has no events.
func TestSettled(t *testing.T) {
	ok := []string{"Released=True/InstallSucceeded/2 " + installed, "Ready=True/InstallSucceeded/2 " + installed}
	now := []string{"Released=True/InstallSucceeded/3 " + installed, "Ready=True/InstallSucceeded/3 " + installed}
	for name, tc := range map[string]struct {
		reason    string
		decision  release.Decision
		revisions []release.Revision
		suspended bool
		want      parts
	}{
		"InSync": {
			reason:    "Ready is that of Released, for the present generation.",
			decision:  release.Decision{Action: release.Settle{}},
			revisions: []release.Revision{testRevision(1, helmv2.StatusDeployed)},
			want:      parts{Conditions: now, History: []string{"1 deployed install sha256:oci"}, Observed: 3, Retry: "10m0s"},
		},
		"Suspended": {
			reason:    "Conditions about the release stay.",
			decision:  release.Decision{Action: release.Settle{}},
			suspended: true,
			want: parts{
				Conditions: ok,
				History:    []string{"1 deployed install sha256:oci"}, Observed: 3, Retry: "never",
			},
		},
		"WaitForAttempt": {
			reason:   "The conditions of the announcement stay.",
			decision: release.Decision{Action: release.Wait{}},
			want:     parts{Conditions: ok, History: []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "never"},
		},
		"WaitForOther": {
			reason:   "Ready has the reason of the wait.",
			decision: release.Decision{Action: release.Wait{After: time.Minute}, Why: "revision 2 is pending-upgrade by another client"},
			want: parts{
				Conditions: []string{
					ok[0], "Ready=Unknown/Progressing/3 revision 2 is pending-upgrade by another client",
					"Reconciling=True/Progressing/3 revision 2 is pending-upgrade by another client",
				},
				History: []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "1m0s",
			},
		},
		"StallAfterFailure": {
			reason:    "Ready has the failure, and Stalled the reason of the stall.",
			decision:  release.Decision{Action: release.Stall{Reason: helmv2.ReasonRetriesExceeded}, Why: "Failed to upgrade after 1 attempt(s)"},
			revisions: []release.Revision{testRevision(1, helmv2.StatusFailed)},
			want: parts{
				Conditions: []string{
					"Released=False/InstallFailed/3 Helm install failed for release apps/web with chart web@1.1.0: it broke",
					"Ready=False/InstallFailed/3 Helm install failed for release apps/web with chart web@1.1.0: it broke",
					"Stalled=True/RetriesExceeded/3 Helm install failed for release apps/web with chart web@1.1.0: it broke",
					"Failing=True/InstallFailed/3 Helm install failed for release apps/web with chart web@1.1.0: it broke",
				},
				History: []string{"1 deployed install sha256:oci"}, Observed: 3, Retry: "10m0s",
			},
		},
		"StallOnState": {
			reason:    "Without a failure, Ready has the reason of the stall.",
			decision:  release.Decision{Action: release.Stall{Reason: helmv2.ReasonStateError}, Why: "revision 1 has status 'uninstalling'"},
			revisions: []release.Revision{testRevision(1, helmv2.StatusUninstalling)},
			want: parts{
				Conditions: []string{
					ok[0], "Ready=False/StateError/3 revision 1 has status 'uninstalling'",
					"Stalled=True/StateError/3 revision 1 has status 'uninstalling'",
				},
				History: []string{"1 deployed install sha256:oci"}, Observed: 3, Retry: "10m0s",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := testObject()
			in := release.Input{Desired: testDesired(), Observed: release.Observed{Revisions: tc.revisions}, Now: testNow}
			in.Desired.Suspension.Active, in.Desired.Suspension.Why = tc.suspended, "on purpose"
			r := Settled(hr, tc.decision, in)
			if diff := cmp.Diff(tc.want, briefly(r)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			hr.Status, in.Now = r.Status, testNow.Add(time.Minute)
			again := Settled(hr, tc.decision, in)
			if diff := cmp.Diff(r.Status, again.Status); diff != "" || len(again.Events) > 0 {
				t.Errorf("the same reconciliation again writes (-first +second):\n%s\nand emits %v", diff, again.Events)
			}
		})
	}
}

// TestAdopted: a revision that was not recorded is reported without an event.
func TestAdopted(t *testing.T) {
	adopt := release.Decision{Action: release.Adopt{}}
	for name, tc := range map[string]struct {
		reason    string
		revisions []release.Revision
		want      parts
	}{
		"Deployed": {
			reason:    "A success is Ready, and has no event.",
			revisions: []release.Revision{testRevision(2, helmv2.StatusDeployed), testRevision(1, helmv2.StatusSuperseded)},
			want: parts{
				Conditions: []string{
					"Released=True/UpgradeSucceeded/3 Helm upgrade succeeded for release apps/web.v2 with chart web@1.1.0",
					"Ready=True/UpgradeSucceeded/3 Helm upgrade succeeded for release apps/web.v2 with chart web@1.1.0",
				},
				History: []string{"2 deployed upgrade ", "1 superseded install sha256:oci"}, Observed: 2, Retry: "now",
			},
		},
		"Failed": {
			reason:    "A failure is counted, with the error in Helm's record.",
			revisions: failedSince(2),
			want: parts{
				Conditions: []string{
					"Released=False/UpgradeFailed/3 Helm upgrade failed for release apps/web with chart web@1.1.0: it broke",
					"Ready=False/UpgradeFailed/3 Upgrade to web 1.1.0 failed: it broke",
					"Failing=True/Failed/3 it broke",
				},
				History: []string{"2 failed upgrade ", "1 deployed install sha256:oci"}, Failures: [3]int64{1, 0, 1}, Observed: 2, Retry: "now",
			},
		},
		"Interrupted": {
			reason: "An interrupted revision is not counted.",
			revisions: func() []release.Revision {
				all := failedSince(2)
				all[0].Interrupted = true
				return all
			}(),
			want: parts{
				Conditions: []string{
					"Released=False/UpgradeFailed/3 Helm upgrade failed for release apps/web with chart web@1.1.0: it broke",
					"Ready=False/UpgradeFailed/3 Upgrade to web 1.1.0 failed: it broke",
					"Failing=True/Failed/3 it broke",
				},
				History: []string{"2 failed upgrade ", "1 deployed install sha256:oci"}, Observed: 2, Retry: "now",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := testObject()
			in := release.Input{Desired: testDesired(), Observed: release.Observed{Revisions: tc.revisions}, Now: testNow}
			if diff := cmp.Diff(tc.want, briefly(Settled(hr, adopt, in))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAdoptedReportsTheNewestFailure: Ready has the failure of the adopted revision, not an earlier
// one.
func TestAdoptedReportsTheNewestFailure(t *testing.T) {
	hr := testObject()
	o := release.Outcome{
		Action: release.Upgrade{}, Desired: testDesired(), Err: errOf("an earlier failure"),
		Revisions: []release.Revision{testRevision(2, helmv2.StatusFailed)},
	}
	hr.Status = Finished(hr, o, testNow).Status
	in := release.Input{Desired: testDesired(), Observed: release.Observed{Revisions: failedSince(3)}, Now: testNow}
	r := Settled(hr, release.Decision{Action: release.Adopt{}}, in)
	want := "Upgrade to web 1.1.0 failed: it broke"
	for _, c := range r.Status.Conditions {
		if c.Type == helmv2.ConditionReady && firstPart(c.Message) != want {
			t.Errorf("Ready has message %q, want %q", c.Message, want)
		}
	}
}

type errOf string

func (e errOf) Error() string { return string(e) }

// TestBlocked: each kind of obstacle has its report, and the same reconciliation a minute later
// writes nothing and has no events.
func TestBlocked(t *testing.T) {
	ok := "Released=True/InstallSucceeded/2 " + installed
	for name, tc := range map[string]struct {
		reason  string
		blocked release.Blocked
		want    parts
	}{
		"Retried": {
			reason:  "It has an event, and is retried.",
			blocked: release.Blocked{Reason: helmv2.ReasonValuesError, Message: "spec.values cannot be read", Retry: release.Backoff()},
			want: parts{
				Conditions: []string{
					ok, "Ready=False/ValuesError/3 spec.values cannot be read",
					"Reconciling=True/ProgressingWithRetry/3 spec.values cannot be read",
					"Failing=True/ValuesError/3 spec.values cannot be read",
				},
				History: []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "backoff",
				Events: []string{"Warning/ValuesError spec.values cannot be read "},
			},
		},
		"Normal": {
			reason:  "The event has type Normal.",
			blocked: release.Blocked{Reason: helmv2.ReasonDependencyNotReady, Message: "not ready", Normal: true, Retry: release.After(time.Minute)},
			want: parts{
				Conditions: []string{ok, "Ready=False/DependencyNotReady/3 not ready", "Reconciling=True/ProgressingWithRetry/3 not ready"},
				History:    []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "1m0s",
				Events: []string{"Normal/DependencyNotReady not ready "},
			},
		},
		"Quiet": {
			reason:  "It has no event.",
			blocked: release.Blocked{Reason: helmv2.ReasonSourceNotReady, Message: "no artifact", Quiet: true, Retry: release.After(time.Minute)},
			want: parts{
				Conditions: []string{ok, "Ready=False/SourceNotReady/3 no artifact", "Reconciling=True/ProgressingWithRetry/3 no artifact"},
				History:    []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "1m0s",
			},
		},
		"FailingSource": {
			reason: "A source that cannot be fetched is a failure, and has no event: source-controller has one.",
			blocked: release.Blocked{
				Reason: helmv2.ReasonSourceNotReady, Message: "no such chart", Quiet: true, Failing: true, Retry: release.After(time.Minute),
			},
			want: parts{
				Conditions: []string{
					ok, "Ready=False/SourceNotReady/3 no such chart", "Reconciling=True/ProgressingWithRetry/3 no such chart",
					"Failing=True/SourceFailed/3 no such chart",
				},
				History: []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "1m0s",
			},
		},
		"Terminal": {
			reason:  "Only a change of the spec helps, so that the generation is observed.",
			blocked: release.Blocked{Reason: helmv2.ReasonUnsupportedField, Message: "spec.x", Terminal: true},
			want: parts{
				Conditions: []string{ok, "Ready=False/UnsupportedField/3 spec.x", "Stalled=True/UnsupportedField/3 spec.x", "Failing=True/UnsupportedField/3 spec.x"},
				History:    []string{"1 deployed install sha256:oci"}, Observed: 3, Retry: "never",
				Events: []string{"Warning/UnsupportedField spec.x "},
			},
		},
		"Progressing": {
			reason:  "Work in progress is not a failure.",
			blocked: release.Blocked{Reason: helmv2.ReasonArtifactFailed, Message: "not downloaded yet", Progressing: true, Quiet: true, Retry: release.After(time.Minute)},
			want: parts{
				Conditions: []string{ok, "Ready=Unknown/Progressing/3 not downloaded yet", "Reconciling=True/Progressing/3 not downloaded yet"},
				History:    []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "1m0s",
			},
		},
		"Brief": {
			reason:  "A short obstacle does not change the status.",
			blocked: release.Blocked{Reason: helmv2.ReasonArtifactFailed, Message: "not downloaded yet", Progressing: true, Brief: true, Quiet: true, Retry: release.After(time.Second)},
			want: parts{
				Conditions: []string{ok, "Ready=True/InstallSucceeded/2 " + installed},
				History:    []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "1s",
			},
		},
		"InvalidUTF8": {
			reason:  "Invalid UTF-8 is replaced before the API server does so.",
			blocked: release.Blocked{Reason: helmv2.ReasonValuesError, Message: "bad \xff byte", Quiet: true},
			want: parts{
				Conditions: []string{
					ok, "Ready=False/ValuesError/3 bad \uFFFD byte", "Reconciling=True/ProgressingWithRetry/3 bad \uFFFD byte",
					"Failing=True/ValuesError/3 bad \uFFFD byte",
				},
				History: []string{"1 deployed install sha256:oci"}, Observed: 2, Retry: "never",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := testObject()
			r := Blocked(hr, &tc.blocked, testNow)
			if diff := cmp.Diff(tc.want, briefly(r)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			hr.Status = r.Status
			again := Blocked(hr, &tc.blocked, testNow.Add(time.Minute))
			if diff := cmp.Diff(r.Status, again.Status); diff != "" || len(again.Events) > 0 {
				t.Errorf("the same reconciliation again writes (-first +second):\n%s\nand emits %v", diff, again.Events)
			}
		})
	}
}

// TestProgressKeepsTheFailure: the retry of a failed download does not change the status, unless
// the generation has changed.
func TestProgressKeepsTheFailure(t *testing.T) {
	failed := release.Blocked{Reason: helmv2.ReasonArtifactFailed, Message: "timeout", Retry: release.Backoff()}
	again := release.Blocked{Reason: helmv2.ReasonArtifactFailed, Message: "not downloaded yet", Progressing: true, Quiet: true}
	hr := testObject()
	hr.Status = Blocked(hr, &failed, testNow).Status
	hr.Generation++
	if r := Blocked(hr, &again, testNow.Add(time.Minute)); apimeta.IsStatusConditionFalse(r.Status.Conditions, helmv2.ConditionReady) {
		t.Error("Ready has the failure of an earlier generation")
	}
	hr.Generation--
	for range 2 {
		r := Blocked(hr, &again, testNow.Add(time.Minute))
		if diff := cmp.Diff(hr.Status, r.Status); diff != "" {
			t.Errorf("the retry changes the status (-before +after):\n%s", diff)
		}
		hr.Status = r.Status
		r = Blocked(hr, &failed, testNow.Add(2*time.Minute))
		if diff := cmp.Diff(hr.Status, r.Status); diff != "" || len(r.Events) > 0 {
			t.Errorf("the next failure has events %v (-before +after):\n%s", r.Events, diff)
		}
	}
}

// TestDriftedWithoutDetection: without a comparison Drifted is removed, even if another controller
// has set it.
func TestDriftedWithoutDetection(t *testing.T) {
	hr, in := testObject(), release.Input{Desired: testDesired(), Now: testNow}
	hr.Status.Conditions = append(hr.Status.Conditions, metav1.Condition{
		Type: helmv2.ConditionDrifted, Status: metav1.ConditionTrue, Reason: helmv2.ReasonDriftDetected, Message: "something was changed",
	})
	in.Observed.Revisions, in.Recorded = []release.Revision{testRevision(1, helmv2.StatusDeployed)}, hr.Status
	r := Settled(hr, release.Decision{Action: release.Settle{}, State: release.StateInSync}, in)
	if c := apimeta.FindStatusCondition(r.Status.Conditions, helmv2.ConditionDrifted); c != nil {
		t.Errorf("Drifted stays: %+v", c)
	}
	if c := apimeta.FindStatusCondition(r.Status.Conditions, helmv2.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v", c)
	}
}
