// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestOneReleaseOneOwner: of two HelmReleases for one Helm release the second changes nothing, also
// when it is deleted, and takes over once the first is gone.
func TestOneReleaseOneOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	same := func(hr *helmv2.HelmRelease) {
		hr.Spec.ReleaseName, hr.Spec.ChartRef.Name = "app", "app"
	}
	first := w.release("first", map[string]any{"message": "first"}, same)
	w.untilReady(first)
	second := w.release("second", map[string]any{"message": "second"}, same)
	w.untilSays(second, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonContested, "HelmRelease '"+w.namespace+"/first'")
	third := w.release("third", map[string]any{"message": "third"}, same)
	w.untilSays(third, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonContested)

	w.must(suite.client.Delete(t.Context(), third))
	w.untilGone(third)
	if got := w.configMap("app").Data["message"]; got != "first" || len(w.stored("app")) != 1 {
		t.Errorf("message is %q, %d revisions are stored", got, len(w.stored("app")))
	}

	w.must(suite.client.Delete(t.Context(), first))
	w.untilGone(first)
	w.untilReady(second)
	if got := w.configMap("app").Data["message"]; got != "second" {
		t.Errorf("message is %q after the owner has gone", got)
	}
}

// TestNamesChangeHands: an owner with a new name uninstalls its old release, and only then the
// HelmRelease that waits for the old name installs its own.
func TestNamesChangeHands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	same := func(hr *helmv2.HelmRelease) {
		hr.Spec.ReleaseName, hr.Spec.ChartRef.Name = "app", "app"
	}
	first := w.release("first", map[string]any{"message": "first"}, same)
	w.untilReady(first)
	second := w.release("second", map[string]any{"message": "second"}, same)
	w.untilSays(second, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonContested)
	w.edit(first, func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName = "renamed" })
	w.untilReady(first)
	w.untilReady(second)
	stored := w.stored("app")
	if len(stored) != 1 || stored[0].Labels[helmv2.LabelRevision] != string(second.UID)+".1" {
		t.Errorf("%d revisions are stored, want one that the second made", len(stored))
	}
	if n := len(w.stored("renamed")); n != 1 {
		t.Errorf("%d revisions are stored under the new name", n)
	}
}

// TestMovedRelease: a release with a new namespace is uninstalled from the old one.
func TestMovedRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "one"})
	w.untilReady(hr)
	old := w.configMap("app")
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName = "renamed" })
	w.untilReady(hr)
	if got := hr.Status.History[0].Name; got != "renamed" || len(hr.Status.History) != 1 {
		t.Errorf("history is %+v", hr.Status.History)
	}
	if n := len(w.stored("app")); n != 0 {
		t.Errorf("%d revisions are left under the old name", n)
	}
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(old), old); !apierrors.IsNotFound(err) && old.Annotations["meta.helm.sh/release-name"] == "app" {
		t.Errorf("the old object is left: %v", err)
	}
	if n := len(w.stored("renamed")); n != 1 {
		t.Errorf("%d revisions are stored under the new name", n)
	}
}
