// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

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
