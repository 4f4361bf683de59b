// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestQuiet: whatever a change leads to is over when quiet returns. The tests that find nothing to
// happen depend on that: an install in the background, an upgrade after the delay of a change of
// values, a request that is only acknowledged, and an uninstall.
func TestQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	cm := w.values("base", watched(), map[string]string{"values.yaml": "message: one"})
	hr := w.release("app", nil, from(helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: "base"}))
	w.quiet(hr)
	if newest(hr) != 1 || condition(hr, helmv2.ConditionReady).Reason != helmv2.ReasonInstallSucceeded {
		t.Errorf("after the install: %+v", hr.Status)
	}
	cm.Data["values.yaml"] = "message: two"
	w.must(suite.client.Update(t.Context(), cm))
	w.settleConfigs(hr, cm)
	if newest(hr) != 2 || w.message("app") != "two" {
		t.Errorf("after a change of values: %+v", hr.Status)
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "now"}
	})
	w.quiet(hr)
	if hr.Status.LastHandledReconcileAt != "now" {
		t.Errorf("after a request: %+v", hr.Status)
	}
	w.must(suite.client.Delete(t.Context(), hr))
	w.quiet(hr)
	if w.present(hr) != "" || w.message("app") != "" {
		t.Errorf("after the deletion: %+v", hr.Status)
	}
}
