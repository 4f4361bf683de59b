// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// slowly serves /ready after a while only.
const slowly = "(sleep 3; touch ready) & exec httpd -f -p 8080"

// An install waits until the kubelet's probe has passed.
func TestInstallWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{"script": slowly})
	w.Until(hr, "to be ready, and not before its pod", func(hr *helmv2.HelmRelease) bool {
		return len(hr.Status.History) > 0 && hr.Status.History[0].Status == helmv2.StatusDeployed
	})
	// Availability is not revoked here, so if it is there now, it was there before.
	deployment := &appsv1.Deployment{ObjectMeta: w.Meta("app")}
	w.Must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
	if got := deployment.Status.AvailableReplicas; got != 1 {
		t.Errorf("%d replicas are available when the release is deployed, want 1\n%s", got, w.PodsText(t.Context()))
	}
	w.UntilReady(hr)
	w.revision(hr, 1, "deployed")
}

// TestInstallIsNeverReady: an install whose probe never passes fails after its timeout.
func TestInstallIsNeverReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{"script": "exec httpd -f -p 8080"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.Timeout = &metav1.Duration{Duration: 6 * time.Second}
	})
	w.UntilCondition(hr, helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonInstallFailed)
	w.revision(hr, 1, "failed")
}

// TestHookFails: a failed hook Job makes the revision fail, and running objects stay.
func TestHookFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{})
	w.UntilReady(hr)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{"script": slowly, "hook": values{"script": "echo cannot migrate; exit 3"}})
	})
	w.UntilCondition(hr, helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "app-pre-upgrade")
	w.revision(hr, 1, "deployed")
	w.revision(hr, 2, "failed")

	job := &batchv1.Job{ObjectMeta: w.Meta("app-pre-upgrade")}
	w.endsAs(job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	pod := w.podOf(job.Name)
	if got := w.terminated(pod); got.ExitCode != 3 {
		t.Errorf("the hook ended as %+v, want exit code 3", got)
	}
	if got := w.logs(pod, 1); got != "cannot migrate\n" {
		t.Errorf("the hook's log ends with %q", got)
	}
	deployment := &appsv1.Deployment{ObjectMeta: w.Meta("app")}
	w.Must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
	if deployment.Generation != 1 {
		t.Errorf("the Deployment has been changed, to generation %d", deployment.Generation)
	}
}

// A hook that succeeds lets the upgrade go on.
func TestHookSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("app", values{})
	w.UntilReady(hr)
	w.Edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{"script": slowly, "hook": values{"script": "echo migrated"}})
	})
	w.UntilReady(hr)
	w.revision(hr, 2, "deployed")
	if got := w.logs(w.podOf("app-pre-upgrade"), 1); got != "migrated\n" {
		t.Errorf("the hook's log ends with %q", got)
	}
}
