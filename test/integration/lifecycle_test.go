// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// message returns the message in the ConfigMap of a release; empty if there is none.
func (w *world) message(name string) string {
	var cm corev1.ConfigMap
	if err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &cm); err != nil {
		return ""
	}
	return cm.Data["message"]
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "one"})
	w.untilReady(hr)

	cm := w.configMap("app")
	if cm.Data["message"] != "one" {
		t.Errorf("message is %q", cm.Data["message"])
	}
	if cm.Labels[helmv2.LabelName] != "app" || cm.Labels[helmv2.LabelNamespace] != w.namespace {
		t.Errorf("origin labels are missing: %v", cm.Labels)
	}
	if got := hr.Status.History[0]; got.Version != 1 || got.Status != helmv2.StatusDeployed || got.Action != helmv2.ActionInstall {
		t.Errorf("history[0] = %+v", got)
	}
	if c := condition(hr, helmv2.ConditionReconciling); c.Type != "" {
		t.Errorf("still reconciling: %+v", c)
	}
	if hr.Status.Inventory == nil || len(hr.Status.Inventory.Entries) != 1 || hr.Status.Inventory.Entries[0].ID != w.namespace+"_app__ConfigMap" {
		t.Errorf("inventory = %+v", hr.Status.Inventory)
	}

	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	w.untilReady(hr)
	if got := w.configMap("app").Data["message"]; got != "two" {
		t.Errorf("message is %q", got)
	}
	if n := len(w.stored("app")); n != 2 {
		t.Errorf("%d revisions are stored", n)
	}

	w.publish("app", "1.1.0", configMapChart(t, "1.1.0"))
	w.until(hr, "revision 3", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 3 && condition(hr, "Ready").Status == metav1.ConditionTrue
	})

	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend = true
		hr.Spec.Values = rawValues(t, map[string]any{"message": "three"})
	})
	w.untilObserved(hr)
	if got := w.configMap("app").Data["message"]; got != "two" {
		t.Errorf("a suspended release was changed: message is %q", got)
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.untilReady(hr)
	if got := w.configMap("app").Data["message"]; got != "three" {
		t.Errorf("message is %q after resuming", got)
	}

	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if n := len(w.stored("app")); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap is left: %v", err)
	}
}

// TestTwoWritesPerUpgrade: an upgrade writes the announcement and the record; a reconciliation
// without changes writes nothing.
func TestTwoWritesPerUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("quiet", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("quiet", nil)
	w.untilReady(hr)
	before := hr.ResourceVersion

	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "now"}
	})
	w.until(hr, "the request to be acknowledged", func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == "now" })
	w.quiet(hr)
	acknowledged := hr.ResourceVersion
	if acknowledged == before {
		t.Fatal("the object did not change")
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{"a": "b"} })
	after := hr.ResourceVersion
	w.quiet(hr)
	if hr.ResourceVersion != after {
		t.Errorf("a change of labels led to a write")
	}

	writes := w.countWrites(hr, func() {
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "x"}) })
		w.untilReady(hr)
		w.quiet(hr)
	})
	// One is the test's own change of the spec.
	if writes != 3 {
		t.Errorf("an upgrade made %d writes to the object, want 2 and the change itself", writes)
	}
}
