// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

var now = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

func releaseWith(conditions ...string) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 1}, Status: helmv2.HelmReleaseStatus{ObservedGeneration: 1}}
	for _, c := range conditions {
		part := strings.SplitN(c, " ", 4)
		hr.Status.Conditions = append(hr.Status.Conditions, metav1.Condition{Type: part[0], Status: metav1.ConditionStatus(part[1]), Reason: part[2], Message: strings.Join(part[3:], "")})
	}
	return hr
}

const ready, failed = "Ready True UpgradeSucceeded fine", "Ready False UpgradeFailed broken"

// TestProgress: each request is done when the controller has answered it, and not before.
func TestProgress(t *testing.T) {
	reconcile := func(o ReconcileOptions) Request {
		r, err := Reconcile(releaseWith(ready), o, now)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before := releaseWith(ready)
	for _, tc := range []struct {
		name    string
		request Request
		hr      *helmv2.HelmRelease
		edit    func(hr *helmv2.HelmRelease)
		want    string
	}{
		{"ready", reconcile(ReconcileOptions{}), releaseWith(ready), nil, "done: apps/web is ready: fine"},
		{"failing", reconcile(ReconcileOptions{}), releaseWith(failed), nil, "failed: apps/web is not ready (UpgradeFailed): broken"},
		{"not answered", reconcile(ReconcileOptions{}), releaseWith(ready), func(hr *helmv2.HelmRelease) { hr.Status.LastHandledReconcileAt = "" }, "waiting for the controller"},
		{"not answered during an action", reconcile(ReconcileOptions{}), releaseWith(ready, "Reconciling True Progressing upgrade runs"), func(hr *helmv2.HelmRelease) { hr.Status.LastHandledReconcileAt = "" }, "waiting for the controller: upgrade runs"},
		{"replaced", reconcile(ReconcileOptions{}), releaseWith(ready), func(hr *helmv2.HelmRelease) {
			hr.Status.LastHandledReconcileAt, hr.Annotations[helmv2.AnnotationReconcileRequest] = "", "another"
		}, "failed: another request has replaced this one; nothing else was changed"},
		{"runs", reconcile(ReconcileOptions{}), releaseWith("Ready Unknown Progressing", "Reconciling True Progressing upgrade runs"), nil, "upgrade runs "},
		{"waits", reconcile(ReconcileOptions{}), releaseWith("Ready Unknown AwaitingApproval of all changes"), nil, "waits: apps/web waits (AwaitingApproval) for: approval of its plan. What is installed stays. of all changes"},
		{"waits for a moment", reconcile(ReconcileOptions{}), releaseWith("Ready False DryRunDenied denied"), nil, "apps/web waits (DryRunDenied) for: . What is installed stays."},
		{"rejected", reconcile(ReconcileOptions{}), releaseWith("Ready False Rejected by jane", "Stalled True Rejected by jane"), nil, "failed: apps/web stays as it is: the plan of its next change is rejected. by jane"},
		{"holds", reconcile(ReconcileOptions{}), releaseWith("Ready Unknown RolledBack held", "RolledBack True RolledBack held at revision 3"), func(hr *helmv2.HelmRelease) {
			hr.Annotations[helmv2.AnnotationRollbackTo], hr.Annotations[helmv2.AnnotationRollbackReason] = "3", "incident 42"
		}, "waits: apps/web is held at revision 3 (incident 42): changes of its spec have no effect. held at revision 3"},
		{"suspended meanwhile", reconcile(ReconcileOptions{}), releaseWith(ready), suspend, "waits: apps/web is suspended: annotation pintle.dev/suspend: maintenance."},
		{"suspended before the rollback", Rollback(3, time.Time{}, "", now), releaseWith(ready), suspend, "waits: apps/web is suspended: annotation pintle.dev/suspend: maintenance."},
		{"rollback waits", Rollback(3, time.Time{}, "", now), releaseWith("RolledBack Unknown Frozen incident 42"), nil, "waits: apps/web waits (Frozen): incident 42"},
		{"forced", reconcile(ReconcileOptions{Force: true}), releaseWith(ready), func(hr *helmv2.HelmRelease) { hr.Status.LastHandledForceAt = Token(now) }, "done: apps/web is ready: fine"},
		{"not forced", reconcile(ReconcileOptions{Force: true}), releaseWith(failed), nil, "failed: apps/web is not ready (UpgradeFailed): broken The request to force or reset was not carried out, because the release was blocked or suspended: repeat it."},
		{"suspended", Suspend("why", time.Time{}, false), releaseWith(ready), unanswered, "done: apps/web is suspended: annotation pintle.dev/suspend: why. flux resume does not end it: kubectl pintle resume web -n apps does."},
		{"suspended by spec", Suspend("", time.Time{}, true), releaseWith(ready), unanswered, "done: apps/web is suspended: spec.suspend is set."},
		{"an action runs", Suspend("why", time.Time{}, false), releaseWith(ready, "Reconciling True Progressing Running 'upgrade' action with timeout of 5m0s"), unanswered, "waiting for the running action to end: Running 'upgrade' action with timeout of 5m0s"},
		{"suspension removed", Suspend("why", time.Time{}, false), releaseWith(ready), func(hr *helmv2.HelmRelease) { delete(hr.Annotations, helmv2.AnnotationSuspend) }, "failed: apps/web is not suspended: another client has removed the annotation, or its time is over"},
		{"resumed", Resume(releaseWith(ready), now), releaseWith(ready), nil, "done: apps/web is ready: fine"},
		{"held", Rollback(3, time.Time{}, "", now), releaseWith("RolledBack True RolledBack held at revision 3"), nil, "done: apps/web: held at revision 3"},
		{"earlier hold", Rollback(3, time.Time{}, "", now), releaseWith("RolledBack True RolledBack held at revision 2", "Reconciling True Progressing rollback runs"), nil, "waiting for the rollback: rollback runs"},
		{"refused", Rollback(3, time.Time{}, "", now), releaseWith("RolledBack False RollbackRefused no such revision"), nil, "failed: apps/web: no such revision"},
		{"unheld", Unhold(now), releaseWith(ready), nil, "done: apps/web is ready: fine"},
		{"tests wait", Test(before, now), releaseWith(ready, "TestSuccess True TestSucceeded passed"), nil, "waiting until the tests can run"},
		{"tests of before", Test(tests(before.DeepCopy(), 1), now), tests(releaseWith(ready, "TestSuccess True TestSucceeded passed"), 1), accept, "the tests run"},
		{"tests passed", Test(tests(before.DeepCopy(), 1), now), tests(releaseWith(ready, "TestSuccess True TestSucceeded passed"), 2), accept, "done: apps/web: passed"},
		{"tests failed", Test(tests(before.DeepCopy(), 1), now), tests(releaseWith(ready, "TestSuccess False TestFailed no answer"), 2), accept, "failed: apps/web: no answer"},
		{"no tests", Test(before, now), releaseWith(ready, "TestSuccess True TestSucceeded none"), accept, "done: apps/web: none"},
	} {
		tc.request.Apply(tc.hr)
		tc.hr.Status.LastHandledReconcileAt = Token(now)
		if tc.edit != nil {
			tc.edit(tc.hr)
		}
		p := tc.request.Progress(tc.hr, now)
		got := p.Text
		switch {
		case p.Waits:
			got = "waits: " + got
		case p.Failed:
			got = "failed: " + got
		case p.Done:
			got = "done: " + got
		}
		if got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}

// tests adds a revision whose test started at a second.
func tests(hr *helmv2.HelmRelease, second int64) *helmv2.HelmRelease {
	s := &helmv2.Snapshot{Version: 1}
	s.SetTestHooks(map[string]*helmv2.TestHookStatus{"ping": {LastStarted: metav1.Unix(second, 0)}})
	hr.Status.History = helmv2.Snapshots{s}
	return hr
}

// unanswered removes the answer of the controller.
func unanswered(hr *helmv2.HelmRelease) { hr.Status.LastHandledReconcileAt = "" }

// suspend suspends a release that has not answered the request.
func suspend(hr *helmv2.HelmRelease) {
	unanswered(hr)
	hr.Annotations[helmv2.AnnotationSuspend] = "maintenance"
}

func accept(hr *helmv2.HelmRelease) {
	hr.Annotations[helmv2.AnnotationHandled] = release.WithHandled(hr.Annotations, helmv2.AnnotationTestAt, Token(now))
}

func TestReconcileRefusesSuspended(t *testing.T) {
	hr := releaseWith(ready)
	hr.Spec.Suspend = true
	if _, err := Reconcile(hr, ReconcileOptions{}, now); err == nil {
		t.Error("a suspended release is not reconciled, so the request has no effect")
	}
}

// TestApply: requests change only their annotations and fields.
func TestApply(t *testing.T) {
	hr := releaseWith(ready)
	hr.Spec.Suspend = true
	hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "a", helmv2.AnnotationSuspendUntil: "b", "other": "c"}
	Resume(hr, now).Apply(hr)
	if len(hr.Annotations) != 2 || hr.Annotations["other"] != "c" || hr.Spec.Suspend {
		t.Errorf("after resuming: %v, %t", hr.Annotations, hr.Spec.Suspend)
	}
	Suspend("d", now.Add(time.Hour), false).Apply(hr)
	if hr.Annotations[helmv2.AnnotationSuspend] != "d" || hr.Annotations[helmv2.AnnotationSuspendUntil] != "2026-01-02T16:00:00Z" || hr.Spec.Suspend {
		t.Errorf("after suspending: %v", hr.Annotations)
	}
	Suspend("e", time.Time{}, false).Apply(hr)
	if _, bounded := hr.Annotations[helmv2.AnnotationSuspendUntil]; bounded || hr.Annotations[helmv2.AnnotationSuspend] != "e" {
		t.Errorf("after suspending without an end: %v", hr.Annotations)
	}
	Suspend("", time.Time{}, true).Apply(hr)
	if !hr.Spec.Suspend {
		t.Error("spec.suspend is not set")
	}
	Rollback(3, time.Time{}, "", now).Apply(hr)
	if hr.Annotations[helmv2.AnnotationRollbackTo] != "3" {
		t.Errorf("after rolling back: %v", hr.Annotations)
	}
	Rollback(3, time.Time{}, "incident 42", now).Apply(hr)
	if hr.Annotations[helmv2.AnnotationRollbackReason] != "incident 42" {
		t.Errorf("after rolling back for a reason: %v", hr.Annotations)
	}
	Rollback(3, time.Time{}, "", now).Apply(hr)
	if _, stays := hr.Annotations[helmv2.AnnotationRollbackReason]; stays {
		t.Errorf("after rolling back without a reason: %v", hr.Annotations)
	}
	hr.Annotations[helmv2.AnnotationRollbackUntil], hr.Annotations[helmv2.AnnotationRollbackReason] = "a", "b"
	Unhold(now).Apply(hr)
	for _, key := range []string{helmv2.AnnotationRollbackTo, helmv2.AnnotationRollbackUntil, helmv2.AnnotationRollbackReason} {
		if _, held := hr.Annotations[key]; held {
			t.Errorf("after the end of a hold: %v", hr.Annotations)
		}
	}
}
