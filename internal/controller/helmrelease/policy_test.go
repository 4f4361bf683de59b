// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// reconcileAndGet reconciles the HelmRelease of the stub and returns it.
func reconcileAndGet(t *testing.T, r *Reconciler) (*helmv2.HelmRelease, ctrl.Result) {
	t.Helper()
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	return hr, result
}

// TestRefusedChartIsNotResolved: a refused spec.chart is neither resolved nor made, a refused source
// is not fetched, and nothing begins.
func TestRefusedChartIsNotResolved(t *testing.T) {
	refused := &inputs.Refused{Refusal: policy.Refusal{Policy: "ReleasePolicy/exact", Field: "spec.chart.spec.version", Why: "1.x is a range"}}
	for name, edit := range map[string]func(s *stub, hr *helmv2.HelmRelease){
		"Template": func(s *stub, hr *helmv2.HelmRelease) {
			s.refused = refused
			hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "web", Version: "1.x", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"},
			}}
		},
		"Source": func(s *stub, _ *helmv2.HelmRelease) { s.unresolved = refused },
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{}
			r := testReconciler(t, s)
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			edit(s, hr)
			if err := r.client.Update(t.Context(), hr); err != nil {
				t.Fatal(err)
			}
			hr, result := reconcileAndGet(t, r)
			ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
			if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != helmv2.ReasonPolicyRefused || !strings.Contains(ready.Message, refused.Error()) {
				t.Errorf("%+v", hr.Status.Conditions)
			}
			if s.begun != nil || hr.Status.HelmChart != "" || hr.Status.Failures != 0 || result.RequeueAfter <= 0 {
				t.Errorf("begun: %v, status %+v, %+v", s.begun != nil, hr.Status, result)
			}
			if name == "Template" && s.resolved != nil {
				t.Error("the inputs were resolved")
			}
			r.memory.With(key, func(m *memory) {
				if m.sync.last != nil {
					t.Error("a refused release counts as in sync")
				}
			})
		})
	}
}

// TestRefusedForChangesOnly: a release that has the refused chart is warned of once, and counts as in
// sync. Its next upgrade is refused.
func TestRefusedForChangesOnly(t *testing.T) {
	s := &stub{refusal: &policy.Refusal{Policy: "ReleasePolicy/sources", Field: "spec.chartRef", Why: "it has certificates of its own", ChangesOnly: true}}
	r := testReconciler(t, s)
	inSync(t, r, s)
	events := r.events.(controllertest.Events)
	ready := func() *metav1.Condition {
		hr, _ := reconcileAndGet(t, r)
		return apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	}
	const warning = "Warning PolicyRefused ReleasePolicy/sources refuses spec.chartRef: it has certificates of its own. The installed release stays. Its next install or upgrade is refused."
	for range 2 {
		if c := ready(); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("%+v", c)
		}
		r.memory.With(key, func(m *memory) { m.sync.invalidate() })
	}
	var warnings []string
	for len(events) > 0 {
		if e := <-events; strings.Contains(e, helmv2.ReasonPolicyRefused) {
			warnings = append(warnings, e)
		}
	}
	if len(warnings) != 1 || warnings[0] != warning {
		t.Errorf("%q, want once %q", warnings, warning)
	}
	s.values = "sha256:others"
	if c := ready(); s.begun != nil || c == nil || c.Status != metav1.ConditionFalse || c.Reason != helmv2.ReasonPolicyRefused {
		t.Errorf("begun: %v, %+v", s.begun != nil, c)
	}
}

// TestDemandsHold: demands reach the decision, and a change of them ends the time for which a release
// counts as in sync.
func TestDemandsHold(t *testing.T) {
	s := &stub{demands: policy.Demands{Freezes: []policy.Freeze{{Policy: "ReleasePolicy/incident", Why: "incident 4711"}}}}
	r := testReconciler(t, s)
	hr, _ := reconcileAndGet(t, r)
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	if s.begun != nil || ready == nil || ready.Status != metav1.ConditionUnknown || ready.Reason != helmv2.ReasonFrozen {
		t.Errorf("begun: %v, %+v", s.begun != nil, ready)
	}
	s.demands = policy.Demands{}
	if _, _ = reconcileAndGet(t, r); s.begun == nil {
		t.Error("nothing begins after the freeze")
	}
	in := release.Input{Now: time.Unix(1, 0)}
	in.Observed.Synced = &release.Synced{Until: time.Unix(2, 0)}
	if release.CachedFor(in) == 0 {
		t.Error("not cached without a change")
	}
	in.Desired.Demands.Unavailable = "forbidden"
	if release.CachedFor(in) != 0 {
		t.Error("cached although demands have changed")
	}
}
