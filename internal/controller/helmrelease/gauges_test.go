// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// value returns the sum of all series of a metric, and their number. For a histogram it is the sum
// of the observations.
func value(t *testing.T, g prometheus.Gatherer, name string) (sum float64, series int) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
				series++
			}
		}
	}
	return sum, series
}

// measured returns a reconciler and the registry of its metrics.
func measured(t *testing.T, s *stub) (*Reconciler, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	r := testReconciler(t, s)
	r.metrics = m
	return r, registry
}

// TestSeriesOfReleases: they are there while we reconciliation releases, and as the cache has
// them.
func TestSeriesOfReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, registry := measured(t, &stub{})
		const info = "pintle_helm_release_info"
		if _, n := value(t, registry, info); n != 0 {
			t.Errorf("%d series of who reconciliations nothing", n)
		}
		ctx, end := context.WithCancel(t.Context())
		go func() { _ = collector{cached: r.client, metrics: r.metrics, now: time.Now}.Start(ctx) }()
		synctest.Wait()
		if _, n := value(t, registry, info); n != 1 {
			t.Errorf("%d series of one HelmRelease", n)
		}
		end()
		synctest.Wait()
		if _, n := value(t, registry, info); n != 0 {
			t.Errorf("%d series after the end", n)
		}
		if !(collector{}).NeedLeaderElection() {
			t.Error("two instances would have the same series")
		}
	})
}

// TestSuccessIsDated: at each reconciliation that finds a release in sync, from memory too,
// and at no other.
func TestSuccessIsDated(t *testing.T) {
	s := &stub{version: "1.0.0", values: "sha256:v"}
	r, registry := measured(t, s)
	now := time.Unix(1000, 0)
	r.now = func() time.Time { return now }
	defer r.metrics.Releases(collector{cached: r.client}.listing(t.Context()), r.now)()
	last := func() float64 {
		at, _ := value(t, registry, "pintle_helm_release_last_success_timestamp_seconds")
		return at
	}
	reconcile := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	if last() != 0 {
		t.Errorf("a release that is missing is as wanted since %v", last())
	}
	settled := release.Decision{Rule: "InSync", State: release.StateInSync, Action: release.Settle{}}
	settle := func(suspended bool) {
		t.Helper()
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil {
			t.Fatal(err)
		}
		want, err := s.Resolve(t.Context(), hr, release.Suspension{})
		if err != nil {
			t.Fatal(err)
		}
		want.Suspension.Active = suspended
		if _, err := r.publisher.publishDecision(t.Context(), reconciliation{
			read: hr, hr: hr, decision: settled, in: release.Input{Desired: want.Desired, Recorded: hr.Status, Now: now},
		}); err != nil {
			t.Fatal(err)
		}
	}
	settle(true)
	if last() != 0 {
		t.Errorf("what is suspended counts as a success at %v", last())
	}
	settle(false)
	if last() != 1000 {
		t.Errorf("in sync at %v", last())
	}
	now = now.Add(time.Second)
	r.stagger = func(d time.Duration) time.Duration { return d }
	reconcile()
	if all, _ := value(t, registry, "pintle_helm_release_reconciliations_total"); last() != 1001 {
		t.Errorf("in sync at %v, after %v reconciliations", last(), all)
	}
}

// TestHoldIsMeasured: once, when an Operation lets go of a release.
func TestHoldIsMeasured(t *testing.T) {
	r, registry := measured(t, &stub{})
	now := time.Unix(1000, 0)
	r.now = func() time.Time { return now }
	write := func(locked *metav1.Condition) {
		t.Helper()
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil {
			t.Fatal(err)
		}
		status := *hr.Status.DeepCopy()
		status.Conditions = slices.DeleteFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == helmv2.ConditionLocked })
		if locked != nil {
			apimeta.SetStatusCondition(&status.Conditions, *locked)
		}
		status.Failures++
		if _, err := r.publisher.writeStatus(t.Context(), hr, sentOf(status)); err != nil {
			t.Fatal(err)
		}
	}
	const waits = "pintle_helm_release_lock_wait_seconds"
	write(&metav1.Condition{Type: helmv2.ConditionLocked, Status: metav1.ConditionTrue, Reason: "a", LastTransitionTime: metav1.NewTime(now)})
	now = now.Add(time.Minute)
	write(&metav1.Condition{Type: helmv2.ConditionLocked, Status: metav1.ConditionTrue, Reason: "b", LastTransitionTime: metav1.Unix(1000, 0)})
	if sum, _ := value(t, registry, waits); sum != 0 {
		t.Errorf("%v seconds are over while it goes on", sum)
	}
	write(nil)
	write(nil)
	if sum, _ := value(t, registry, waits); sum != 60 {
		t.Errorf("locked back for %v seconds", sum)
	}
}

func sentOf(written helmv2.HelmReleaseStatus) sentStatus {
	return sentStatus{Report: status.Report{Status: written}}
}
