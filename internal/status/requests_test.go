// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// handled holds the handled requests in status, and the sum of the failure counters.
type handled struct {
	Reconcile, Force, Reset string
	Failures                int64
}

func handledIn(s helmv2.HelmReleaseStatus) handled {
	return handled{s.LastHandledReconcileAt, s.LastHandledForceAt, s.LastHandledResetAt, s.Failures + s.InstallFailures + s.UpgradeFailures}
}

// requesting returns a HelmRelease with three counted failures and new requests. All earlier
// requests are handled.
func requesting(force, reset string) *helmv2.HelmRelease {
	hr := testObject()
	hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "new"}
	for annotation, token := range map[string]string{helmv2.AnnotationForceRequest: force, helmv2.AnnotationResetRequest: reset} {
		if token != "" {
			hr.Annotations[annotation] = token
		}
	}
	s := &hr.Status
	s.LastHandledReconcileAt, s.LastHandledForceAt, s.LastHandledResetAt = "old", "old", "old"
	s.LastAttemptedGeneration, s.LastAttemptedRevision, s.LastAttemptedConfigDigest = 3, "1.1.0", "sha256:values"
	s.Failures, s.InstallFailures, s.UpgradeFailures = 1, 1, 1
	return hr
}

func desiredBy(hr *helmv2.HelmRelease) release.Desired {
	want := testDesired()
	want.Requests = release.RequestsOf(hr.Annotations)
	return want
}

// reports returns all kinds of reports, by name.
func reports() map[string]func(*helmv2.HelmRelease) Report {
	settled := func(a release.Action, suspended, interrupted bool, status helmv2.ReleaseStatus, version int) func(*helmv2.HelmRelease) Report {
		return func(hr *helmv2.HelmRelease) Report {
			newest := testRevision(version, status)
			newest.Interrupted, newest.Modified = interrupted, testNow.Add(time.Minute)
			in := release.Input{Desired: desiredBy(hr), Observed: release.Observed{Revisions: []release.Revision{newest}}, Now: testNow}
			in.Desired.Suspension.Active = suspended
			return Settled(hr, release.Decision{Action: a, Why: "why"}, in)
		}
	}
	finished := func(a release.HelmAction, cancelled bool) func(*helmv2.HelmRelease) Report {
		return func(hr *helmv2.HelmRelease) Report {
			o := release.Outcome{Action: a, Desired: desiredBy(hr), Started: testNow, Ended: testNow, Cancelled: cancelled}
			o.Revisions = []release.Revision{testRevision(2, helmv2.StatusDeployed)}
			if cancelled {
				o.Err = errors.New("context canceled")
			}
			return Finished(hr, o, testNow)
		}
	}
	return map[string]func(*helmv2.HelmRelease) Report{
		"Announced": func(hr *helmv2.HelmRelease) Report {
			return Started(hr, release.Decision{Action: release.Upgrade{}}, desiredBy(hr), testNow)
		},
		"UnlockAnnounced": func(hr *helmv2.HelmRelease) Report {
			return Started(hr, release.Decision{Action: release.Unlock{}}, desiredBy(hr), testNow)
		},
		"Blocked": func(hr *helmv2.HelmRelease) Report {
			return Blocked(hr, &release.Blocked{Reason: "X", Message: "x"}, testNow)
		},
		"Progressing": func(hr *helmv2.HelmRelease) Report {
			return Blocked(hr, &release.Blocked{Reason: "X", Message: "x", Progressing: true}, testNow)
		},
		"InSync":             settled(release.Settle{}, false, false, helmv2.StatusDeployed, 1),
		"Suspended":          settled(release.Settle{}, true, false, helmv2.StatusDeployed, 1),
		"Stalled":            settled(release.Stall{Reason: "X"}, false, false, helmv2.StatusFailed, 1),
		"Locked":             settled(release.Wait{}, false, false, helmv2.StatusDeployed, 1),
		"Foreign":            settled(release.Wait{After: time.Minute}, false, false, helmv2.StatusPendingUpgrade, 2),
		"Adopted":            settled(release.Adopt{}, false, false, helmv2.StatusDeployed, 2),
		"AdoptedInterrupted": settled(release.Adopt{}, false, true, helmv2.StatusFailed, 2),
		"Finished":           finished(release.Upgrade{}, false),
		"Cancelled":          finished(release.Upgrade{}, true),
		"Unlocked":           finished(release.Unlock{}, false),
	}
}

func checkHandled(t *testing.T, object func() *helmv2.HelmRelease, want map[string]handled) {
	t.Helper()
	for name, report := range reports() {
		t.Run(name, func(t *testing.T) {
			hr := object()
			before := hr.DeepCopy()
			if diff := cmp.Diff(want[name], handledIn(report(hr).Status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, hr); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

// TestReconcileRequested: every reconciliation that ends handles a reconcile request, except of a
// suspended release.
func TestReconcileRequested(t *testing.T) {
	none, done := handled{"old", "old", "old", 3}, handled{"new", "old", "old", 3}
	checkHandled(t, func() *helmv2.HelmRelease { return requesting("", "") }, map[string]handled{
		"Announced": none, "UnlockAnnounced": none, "Progressing": none, "Blocked": done, "InSync": done, "Suspended": none,
		"Stalled": done, "Locked": done, "Foreign": done, "Adopted": done, "AdoptedInterrupted": done,
		"Finished": done, "Cancelled": done, "Unlocked": done,
	})
}

// TestForceRequested: a decision handles a force request, and an obstacle lets it expire.
func TestForceRequested(t *testing.T) {
	open, answered := handled{"old", "old", "old", 3}, handled{"new", "new", "old", 3}
	expired := handled{"new", "old", "old", 3}
	checkHandled(t, func() *helmv2.HelmRelease { return requesting("new", "") }, map[string]handled{
		"Announced": {"old", "new", "old", 3}, "UnlockAnnounced": open, "Progressing": open, "Blocked": expired, "InSync": answered, "Suspended": open,
		"Stalled": answered, "Locked": open, "Foreign": answered, "Adopted": open, "AdoptedInterrupted": open,
		"Finished": open, "Cancelled": open, "Unlocked": open,
	})
}

// TestForceBegun: a force that was announced stays open until its end is recorded.
func TestForceBegun(t *testing.T) {
	open, ended := handled{"old", "new", "old", 3}, handled{"new", "new", "old", 3}
	object := func() *helmv2.HelmRelease {
		hr := requesting("new", "")
		hr.Status = reports()["Announced"](hr).Status
		return hr
	}
	checkHandled(t, object, map[string]handled{
		"Announced": open, "UnlockAnnounced": open, "Progressing": open, "Blocked": open, "InSync": open, "Suspended": open,
		"Stalled": open, "Locked": open, "Foreign": open, "Adopted": ended, "AdoptedInterrupted": open,
		"Finished": ended, "Cancelled": open, "Unlocked": open,
	})
}

// TestResetRequested: a decision or an announcement handles a reset request, and an obstacle lets
// it expire.
func TestResetRequested(t *testing.T) {
	open, answered := handled{"old", "old", "old", 3}, handled{"new", "old", "new", 0}
	expired := handled{"new", "old", "old", 3}
	checkHandled(t, func() *helmv2.HelmRelease { return requesting("", "new") }, map[string]handled{
		"Announced": {"old", "old", "new", 0}, "UnlockAnnounced": open, "Progressing": open, "Blocked": expired, "InSync": answered, "Suspended": open,
		"Stalled": answered, "Locked": open, "Foreign": answered, "Adopted": open, "AdoptedInterrupted": open,
		"Finished": open, "Cancelled": open, "Unlocked": open,
	})
}

// TestTokensThatDoNotCount: a decision records tokens of force and reset that differ from the
// reconcile request. They are then not valid when the tokens become equal later.
func TestTokensThatDoNotCount(t *testing.T) {
	done, noted := handled{"new", "old", "old", 3}, handled{"new", "other", "other", 3}
	checkHandled(t, func() *helmv2.HelmRelease { return requesting("other", "other") }, map[string]handled{
		"Announced": {"old", "old", "other", 3}, "UnlockAnnounced": {"old", "old", "old", 3}, "Progressing": {"old", "old", "old", 3}, "Blocked": done, "InSync": noted,
		"Suspended": {"old", "old", "old", 3}, "Stalled": noted, "Locked": done, "Foreign": noted, "Adopted": done, "AdoptedInterrupted": done,
		"Finished": done, "Cancelled": done, "Unlocked": done,
	})
}

// TestRequestDuringARefusedAttempt: a force request during an action that fails has no delay,
// unless the action is an unlock, which precedes all others.
func TestRequestDuringARefusedAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		action release.HelmAction
		force  string
		now    bool
	}{
		"Force":  {release.Upgrade{}, "new", true},
		"None":   {release.Upgrade{}, "", false},
		"Unlock": {release.Unlock{}, "new", false},
	} {
		t.Run(name, func(t *testing.T) {
			hr := requesting(tc.force, "")
			r := Finished(hr, release.Outcome{Action: tc.action, Desired: testDesired(), Err: errors.New("schema")}, testNow)
			if r.Retry.IsNow() != tc.now || r.Retry.IsBackoff() == tc.now {
				t.Errorf("retry %s", r.Retry)
			}
		})
	}
}

// TestDuration: lastAttemptedReleaseActionDuration is set when an action has ended by itself.
func TestDuration(t *testing.T) {
	for name, want := range map[string]*metav1.Duration{
		"Announced": nil, "Cancelled": nil, "AdoptedInterrupted": nil, "Unlocked": nil,
		"Finished": {Duration: time.Millisecond}, "Adopted": {Duration: time.Minute},
	} {
		hr := requesting("", "")
		hr.Status.LastAttemptedReleaseActionDuration = nil
		if diff := cmp.Diff(want, reports()[name](hr).Status.LastAttemptedReleaseActionDuration); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReadyFollowsTheActionThatIgnoresTests: the setting of the last action, and not spec.test,
// decides whether test failures are ignored.
func TestReadyFollowsTheActionThatIgnoresTests(t *testing.T) {
	for name, tc := range map[string]struct {
		byTest, byAction bool
		want             metav1.ConditionStatus
	}{
		"Neither":      {false, false, metav1.ConditionFalse},
		"ActionAlone":  {false, true, metav1.ConditionTrue},
		"ActionDenies": {true, false, metav1.ConditionFalse},
		"Both":         {true, true, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			hr, want := testObject(), testDesired()
			hr.Status.LastAttemptedReleaseAction = helmv2.ActionInstall
			want.Policy.Tests, want.Policy.IgnoreTestFailures, want.Policy.Install.IgnoreTests = true, tc.byTest, tc.byAction
			r := testRevision(1, helmv2.StatusDeployed)
			r.Tests = map[string]release.TestRun{"smoke": {Phase: helmv2.TestPhaseFailed}}
			rep := Finished(hr, release.Outcome{
				Action: release.Test{}, Desired: want, Err: errors.New("1 error"), Revisions: []release.Revision{r},
			}, testNow)
			ready := apimeta.FindStatusCondition(rep.Status.Conditions, helmv2.ConditionReady)
			if ready == nil || ready.Status != tc.want {
				t.Errorf("Ready is %+v, want %s", ready, tc.want)
			}
		})
	}
}
