// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// ask annotates a HelmRelease in one write, as flux reconcile does.
func (w *world) ask(hr *helmv2.HelmRelease, token string, annotations ...string) {
	w.t.Helper()
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		if hr.Annotations == nil {
			hr.Annotations = map[string]string{}
		}
		for _, a := range append(annotations, helmv2.AnnotationReconcileRequest) {
			hr.Annotations[a] = token
		}
	})
	w.until(hr, "the request "+token+" to be answered", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.LastHandledReconcileAt == token
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("pushed", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("pushed", nil)
	w.untilReady(hr)

	w.ask(hr, "one", helmv2.AnnotationForceRequest)
	if newest(hr) != 2 || hr.Status.LastHandledForceAt != "one" || condition(hr, "Ready").Status != metav1.ConditionTrue {
		t.Errorf("answered with %+v", hr.Status)
	}
	w.settle(hr)
	w.ask(hr, "two")
	w.settle(hr)
	if n := len(w.stored("pushed")); n != 2 || newest(hr) != 2 {
		t.Errorf("%d revisions are stored and %d is recorded, want 2: a force is for once", n, newest(hr))
	}
}

func TestResetOfStalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("stuck", "1.0.0", pack(t, "stuck", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not-A-Name\n",
	}))
	// The preflight check would prevent the failed revision.
	hr := w.release("stuck", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{DisableOpenAPIValidation: true}
		hr.Spec.Upgrade = &helmv2.Upgrade{DisableOpenAPIValidation: true}
	})
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to install after 1 attempt(s)")

	w.ask(hr, "plain")
	w.settle(hr)
	if n := len(w.stored("stuck")); n != 1 {
		t.Errorf("%d revisions after a reconcile request, want 1", n)
	}
	w.ask(hr, "reset", helmv2.AnnotationResetRequest)
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, "Failed to upgrade after 1 attempt(s)")
	w.settle(hr)
	if n := len(w.stored("stuck")); n != 2 || hr.Status.LastHandledResetAt != "reset" || hr.Status.InstallFailures != 0 {
		t.Errorf("%d revisions, want 2; status %+v", n, hr.Status)
	}
}
