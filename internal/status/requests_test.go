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

// answers is what status says about requests after a visit: visit, force and
// reset, and the sum of the failure counters.
type answers struct {
	Visit, Force, Reset string
	Failures            int64
}

func answersIn(s helmv2.HelmReleaseStatus) answers {
	return answers{s.LastHandledReconcileAt, s.LastHandledForceAt, s.LastHandledResetAt, s.Failures + s.InstallFailures + s.UpgradeFailures}
}

// asking returns an object that has answered all requests so far, with three
// failures counted, and asks for something new.
func asking(force, reset string) *helmv2.HelmRelease {
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

// visits are the ways a visit can end, each on the object it is given.
func visits() map[string]func(*helmv2.HelmRelease) Report {
	settled := func(a release.Action, suspended, interrupted bool, status helmv2.ReleaseStatus, version int) func(*helmv2.HelmRelease) Report {
		return func(hr *helmv2.HelmRelease) Report {
			newest := testRevision(version, status)
			newest.Interrupted, newest.Modified = interrupted, testNow.Add(time.Minute)
			in := release.Input{Desired: desiredBy(hr), Observed: release.Observed{Revisions: []release.Revision{newest}}, Now: testNow}
			in.Desired.Suspended = suspended
			return Settled(hr, release.Decision{Action: a, Why: "why"}, in)
		}
	}
	finished := func(a release.Action, cancelled bool) func(*helmv2.HelmRelease) Report {
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
		"Held":               settled(release.Wait{}, false, false, helmv2.StatusDeployed, 1),
		"Foreign":            settled(release.Wait{After: time.Minute}, false, false, helmv2.StatusPendingUpgrade, 2),
		"Adopted":            settled(release.Adopt{}, false, false, helmv2.StatusDeployed, 2),
		"AdoptedInterrupted": settled(release.Adopt{}, false, true, helmv2.StatusFailed, 2),
		"Finished":           finished(release.Upgrade{}, false),
		"Cancelled":          finished(release.Upgrade{}, true),
		"Unlocked":           finished(release.Unlock{}, false),
	}
}

func checkAnswers(t *testing.T, object func() *helmv2.HelmRelease, want map[string]answers) {
	t.Helper()
	for name, visit := range visits() {
		t.Run(name, func(t *testing.T) {
			hr := object()
			before := hr.DeepCopy()
			if diff := cmp.Diff(want[name], answersIn(visit(hr).Status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, hr); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func TestVisitRequested(t *testing.T) {
	none, handled := answers{"old", "old", "old", 3}, answers{"new", "old", "old", 3}
	checkAnswers(t, func() *helmv2.HelmRelease { return asking("", "") }, map[string]answers{
		"Announced": none, "UnlockAnnounced": none, "Progressing": none, "Blocked": handled, "InSync": handled, "Suspended": handled,
		"Stalled": handled, "Held": handled, "Foreign": handled, "Adopted": handled, "AdoptedInterrupted": handled,
		"Finished": handled, "Cancelled": handled, "Unlocked": handled,
	})
}

func TestForceRequested(t *testing.T) {
	open, answered := answers{"old", "old", "old", 3}, answers{"new", "new", "old", 3}
	expired := answers{"new", "old", "old", 3}
	checkAnswers(t, func() *helmv2.HelmRelease { return asking("new", "") }, map[string]answers{
		"Announced": {"old", "new", "old", 3}, "UnlockAnnounced": open, "Progressing": open, "Blocked": expired, "InSync": answered, "Suspended": expired,
		"Stalled": answered, "Held": open, "Foreign": answered, "Adopted": open, "AdoptedInterrupted": open,
		"Finished": open, "Cancelled": open, "Unlocked": open,
	})
}

// TestForceBegun: the force was announced, and nobody recorded its end yet.
func TestForceBegun(t *testing.T) {
	open, ended := answers{"old", "new", "old", 3}, answers{"new", "new", "old", 3}
	object := func() *helmv2.HelmRelease {
		hr := asking("new", "")
		hr.Status = visits()["Announced"](hr).Status
		return hr
	}
	checkAnswers(t, object, map[string]answers{
		"Announced": open, "UnlockAnnounced": open, "Progressing": open, "Blocked": open, "InSync": open, "Suspended": open,
		"Stalled": open, "Held": open, "Foreign": open, "Adopted": ended, "AdoptedInterrupted": open,
		"Finished": ended, "Cancelled": open, "Unlocked": open,
	})
}

func TestResetRequested(t *testing.T) {
	open, answered := answers{"old", "old", "old", 3}, answers{"new", "old", "new", 0}
	expired := answers{"new", "old", "old", 3}
	checkAnswers(t, func() *helmv2.HelmRelease { return asking("", "new") }, map[string]answers{
		"Announced": {"old", "old", "new", 0}, "UnlockAnnounced": open, "Progressing": open, "Blocked": expired, "InSync": answered, "Suspended": expired,
		"Stalled": answered, "Held": open, "Foreign": answered, "Adopted": open, "AdoptedInterrupted": open,
		"Finished": open, "Cancelled": open, "Unlocked": open,
	})
}

// TestTokensThatDoNotCount are noted by a visit that decides, so that they do
// not come to count when the tokens happen to agree later.
func TestTokensThatDoNotCount(t *testing.T) {
	handled, noted := answers{"new", "old", "old", 3}, answers{"new", "other", "other", 3}
	checkAnswers(t, func() *helmv2.HelmRelease { return asking("other", "other") }, map[string]answers{
		"Announced": {"old", "old", "other", 3}, "UnlockAnnounced": {"old", "old", "old", 3}, "Progressing": {"old", "old", "old", 3}, "Blocked": handled, "InSync": noted,
		"Suspended": handled, "Stalled": noted, "Held": handled, "Foreign": noted, "Adopted": handled, "AdoptedInterrupted": handled,
		"Finished": handled, "Cancelled": handled, "Unlocked": handled,
	})
}

// TestRequestDuringARefusedAttempt: what comes next is not the same again, and
// need not wait; unless an unlock was refused, which comes before anything.
func TestRequestDuringARefusedAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		action release.Action
		force  string
		now    bool
	}{
		"Force":  {release.Upgrade{}, "new", true},
		"Visit":  {release.Upgrade{}, "", false},
		"Unlock": {release.Unlock{}, "new", false},
	} {
		t.Run(name, func(t *testing.T) {
			hr := asking(tc.force, "")
			r := Finished(hr, release.Outcome{Action: tc.action, Desired: testDesired(), Err: errors.New("schema")}, testNow)
			if r.Retry.IsNow() != tc.now || r.Retry.IsBackoff() == tc.now {
				t.Errorf("tried again %s", r.Retry)
			}
		})
	}
}

// TestDuration: it is there as soon as an attempt has ended by itself, and zero only if that was
// rejected.
func TestDuration(t *testing.T) {
	for name, want := range map[string]*metav1.Duration{
		"Announced": nil, "Cancelled": nil, "AdoptedInterrupted": nil, "Unlocked": nil,
		"Finished": {Duration: time.Millisecond}, "Adopted": {Duration: time.Minute},
	} {
		hr := asking("", "")
		hr.Status.LastAttemptedReleaseActionDuration = nil
		if diff := cmp.Diff(want, visits()[name](hr).Status.LastAttemptedReleaseActionDuration); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

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
