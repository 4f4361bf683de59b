// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/release"
)

// reconciled returns count and sum of the observations of all HelmReleases.
func reconciled(t *testing.T, g prometheus.Gatherer) (count uint64, sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "gotk_reconcile_duration_seconds" {
			count += f.GetMetric()[0].GetHistogram().GetSampleCount()
			sum += f.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return count, sum
}

// TestReconciliationsAreTimed: reconciliations and actions are observed. The series of a deleted
// HelmRelease are removed.
func TestReconciliationsAreTimed(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	r, now := testReconciler(t, &stub{}), time.Unix(1000, 0)
	r.metrics = m
	// Each look at the clock takes a second.
	r.now = func() time.Time { now = now.Add(time.Second); return now }
	reconcile := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	count, sum := reconciled(t, registry)
	if count != 1 || sum < 1 {
		t.Errorf("a reconciliation was observed %d times, and took %v", count, sum)
	}
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	outcome := release.Outcome{Action: release.Install{}, Started: now, Ended: now.Add(time.Minute)}
	if _, err := r.publisher.publishOutcome(t.Context(), hr, outcome); err != nil {
		t.Fatal(err)
	}
	if n, s := reconciled(t, registry); n != count+1 || s != sum+60 {
		t.Errorf("an action was observed %d times, and took %v", n-count, s-sum)
	}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	hr.Finalizers = nil
	if err := r.client.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	if err := r.client.Delete(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	reconcile()
	if n, _ := reconciled(t, registry); n != 0 {
		t.Errorf("%d observations are left of what is gone", n)
	}
}
