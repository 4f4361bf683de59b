// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestRolloutByValues: a new content of a ConfigMap reaches releases of the second stage only after the one of
// the first stage has it, which a freeze holds here.
func TestRolloutByValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	common := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "common", Labels: map[string]string{"reconcile.fluxcd.io/watch": "Enabled"}},
		Data:       map[string]string{"values.yaml": "message: first"},
	}
	w.must(suite.client.Create(t.Context(), common))
	member := func(name, stage string) *helmv2.HelmRelease {
		return w.release(name, nil, func(hr *helmv2.HelmRelease) {
			hr.Labels, hr.Spec.ChartRef.Name = map[string]string{"stage": stage}, "app"
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindConfigMap, Name: common.Name}}
		})
	}
	production, canary := member("app", "production"), member("canary", "canary")
	w.untilReady(production)
	w.untilReady(canary)
	first := metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}
	w.policy("fleet", v1alpha1.ReleasePolicySpec{Rollout: &v1alpha1.Rollout{By: v1alpha1.RolloutByValues, Order: []metav1.LabelSelector{first, {}}}})
	freeze := w.policy("freeze", v1alpha1.ReleasePolicySpec{Freeze: "not yet", Selector: &first})

	before := common.DeepCopy()
	common.Data["values.yaml"] = "message: second"
	w.must(suite.client.Patch(t.Context(), common, client.MergeFrom(before)))
	w.untilHeldBy(canary, helmv2.ReasonFrozen, "not yet")
	w.untilHeldBy(production, helmv2.ReasonAwaitingRollout,
		"ReleasePolicy/fleet: place 2 of 2 for values of ConfigMap/"+w.namespace+"/common:values.yaml, stage 2 of 2", "'upgrade' action waits")
	w.wantData("app", "first", "none")

	w.must(suite.client.Delete(t.Context(), freeze))
	for _, hr := range []*helmv2.HelmRelease{canary, production} {
		w.untilRevision(hr, 2)
		w.untilReady(hr)
		w.wantData(hr.Name, "second", "none")
	}
}
