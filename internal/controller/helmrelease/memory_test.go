// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/trigger"
	"github.com/pintle-dev/pintle/internal/release"
)

// remembered returns what is remembered of the HelmRelease.
func remembered(r *Reconciler) (m memory) {
	r.memory.With(key, func(known *memory) { m = *known })
	return m
}

// current returns the HelmRelease as it is stored.
func current(t *testing.T, r *Reconciler) *helmv2.HelmRelease {
	t.Helper()
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	return hr
}

// TestStaleCache: a version that the last write has replaced is not reconciled.
func TestStaleCache(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	before := current(t, r).ResourceVersion
	reconcileOnce(t, r)
	if m := remembered(r); !m.replaced.Is(before) {
		t.Errorf("replaced is %+v, want version %q", m.replaced, before)
	}
	s.resolved = nil
	r.memory.With(key, func(m *memory) { m.replaced.Found(current(t, r).ResourceVersion, r.now()) })
	if result := reconcileOnce(t, r); result.RequeueAfter != controller.StaleRetry || s.resolved != nil {
		t.Errorf("a stale read is reconciled: %+v", result)
	}
}

// TestSuspensionByAnnotation: the inputs of a HelmRelease that an annotation suspends are resolved
// as those of a suspended one, and neither the object nor the HelmChart is changed.
func TestSuspensionByAnnotation(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	hr := current(t, r)
	hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "maintenance"}
	hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "note"}}
	hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"}
	if err := r.client.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	reconcileOnce(t, r)
	if s.resolved == nil || !s.suspension.Active || s.resolved.Spec.Suspend || current(t, r).Spec.Suspend {
		t.Errorf("resolved is %+v", s.resolved)
	}
	var charts sourcev1.HelmChartList
	if err := r.client.List(t.Context(), &charts); err != nil || len(charts.Items) > 0 {
		t.Errorf("%d HelmCharts, %v", len(charts.Items), err)
	}
}

// TestHelmChartIsRecorded: status names the HelmChart, also while the HelmChart is not ready.
func TestHelmChartIsRecorded(t *testing.T) {
	r := testReconciler(t, &stub{})
	hr := current(t, r)
	hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "note"}}
	hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"}
	if err := r.client.Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	reconcileOnce(t, r)
	if got := current(t, r).Status.HelmChart; got != "apps/apps-web" {
		t.Errorf("status.helmChart is %q", got)
	}
}

// TestFinalize: the HelmChart is deleted with the HelmRelease, unless that is suspended.
func TestFinalize(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		r := testReconciler(t, &stub{})
		chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "apps-web"}}
		if err := r.client.Create(t.Context(), chart); err != nil {
			t.Fatal(err)
		}
		hr := current(t, r)
		hr.Status.HelmChart = "apps/apps-web"
		rec := reconciliation{read: hr, hr: hr}
		rec.want.Suspension.Active = suspended
		if _, err := r.actor.finalize(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		err := r.client.Get(t.Context(), client.ObjectKeyFromObject(chart), chart)
		if deleted := apierrors.IsNotFound(err); deleted == suspended {
			t.Errorf("suspended %t: the HelmChart is deleted %t", suspended, deleted)
		}
		if len(current(t, r).Finalizers) > 0 || len(hr.Finalizers) == 0 {
			t.Errorf("suspended %t: the finalizer is not removed, or the object that was read is changed", suspended)
		}
	}
}

// TestEnqueueInvalidates: a trigger from outside of the cache makes the next reconciliation observe
// the release.
func TestEnqueueInvalidates(t *testing.T) {
	c := &Controller{memory: &controller.Table[memory]{}, queue: &trigger.Queue{}}
	c.Enqueue(key)
	c.memory.With(key, func(m *memory) {
		if !m.sync.changed {
			t.Error("the release still counts as in sync")
		}
	})
}

// TestConflictsAreRemembered: until an action finds no objects of other releases in its way.
func TestConflictsAreRemembered(t *testing.T) {
	r := testReconciler(t, &stub{})
	const shop = "|apps|shop"
	for _, step := range []struct {
		owners []release.Target
		waits  bool
	}{{[]release.Target{{Namespace: "apps", Name: "shop"}}, true}, {nil, false}} {
		outcome := release.Outcome{Action: release.Upgrade{}, Err: errors.New("x"), Desired: release.Desired{UID: "uid-1"}, Owners: step.owners}
		if _, err := r.publisher.publishOutcome(t.Context(), current(t, r), outcome); err != nil {
			t.Fatal(err)
		}
		if waits := len(r.waitingFor([]string{shop})) == 1; waits != step.waits {
			t.Errorf("after an action with the owners %v it waits: %t", step.owners, waits)
		}
		if len(r.waitingFor([]string{"|apps|other"})) > 0 {
			t.Error("it waits for another release")
		}
	}
}

// TestRefusalIsRemembered: the input of the decision contains the last record that was too large.
func TestRefusalIsRemembered(t *testing.T) {
	r := testReconciler(t, &stub{})
	outcome := release.Outcome{
		Action: release.Upgrade{}, Err: errors.New("x"), Desired: release.Desired{UID: "uid-1"}, Record: &release.RecordSize{Bytes: 2, Limit: 1},
	}
	hr := current(t, r)
	if _, err := r.publisher.publishOutcome(t.Context(), hr, outcome); err != nil {
		t.Fatal(err)
	}
	rec, err := r.withDesired(t.Context(), reconciliation{read: hr, hr: hr})
	if err != nil || rec.in.Observed.Oversized == nil {
		t.Errorf("observed is %+v, %v", rec.in.Observed, err)
	}
}

// TestConflictIsNoObstacle: a stale write is repeated, and nothing is published.
func TestConflictIsNoObstacle(t *testing.T) {
	r := testReconciler(t, &stub{})
	hr := current(t, r)
	cause := apierrors.NewConflict(schema.GroupResource{Resource: "helmcharts"}, "web", errors.New("changed"))
	result, err := r.publisher.publishObstacle(t.Context(), reconciliation{read: hr, hr: hr}, cause)
	if want := (ctrl.Result{RequeueAfter: controller.StaleRetry}); err != nil || result != want || len(current(t, r).Status.Conditions) > 0 {
		t.Errorf("got %+v, %v", result, err)
	}
	// The cache still returns the same version: its watch may be interrupted.
	later := r.now().Add(time.Minute)
	r.now = func() time.Time { return later }
	if result, err = r.publisher.endUnwritten(hr, cause); err != nil || result.RequeueAfter != time.Second {
		t.Errorf("a minute later: %+v, %v", result, err)
	}
}

// TestDebounceEndsWithAnAction: changes are part of the decision until an action begins.
func TestDebounceEndsWithAnAction(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	hr, now := current(t, r), time.Now()
	r.memory.With(key, func(m *memory) {
		m.debounce.Observe([2]int64{1, 1}, now)
		m.debounce.RecordChange(now)
	})
	rec, err := r.observer.observe(t.Context(), reconciliation{read: hr, hr: hr})
	if err != nil || rec.in.Observed.Debounce == nil {
		t.Fatalf("observed is %+v, %v", rec.in.Observed, err)
	}
	rec.decision.Action = release.Install{}
	if !r.actor.start(t.Context(), rec) {
		t.Fatal("nothing was begun")
	}
	if m := remembered(r); m.debounce.Burst() != nil {
		t.Error("the changes are not over when the action begins")
	}
}

// TestReadersAreRemembered: of charts that read the cluster, until objects are not compared any
// more.
func TestReadersAreRemembered(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionWarn, offers: "a", rendered: release.RenderResult{Reads: true, Capabilities: "a"}}
	r := testReconciler(t, s)
	now := time.Now()
	r.now = func() time.Time { return now }
	inSync(t, r, s)
	reconcileOnce(t, r)
	now = now.Add(time.Minute)
	reconcileOnce(t, r)
	if s.doAside(t); s.renderings != 1 || !remembered(r).readsCluster {
		t.Errorf("rendered %d times, reads %t", s.renderings, remembered(r).readsCluster)
	}
	r.comparer.forget(key)
	if remembered(r).readsCluster {
		t.Error("a chart is rendered again although its objects are not compared")
	}
	hr := current(t, r)
	conn, _, err := r.connections.Find(t.Context(), hr)
	if err != nil {
		t.Fatal(err)
	}
	rec := reconciliation{read: hr, hr: hr, conn: conn}
	outcome := release.Outcome{Action: release.Upgrade{}, Revisions: s.stored, Inventory: []release.Object{}}
	if r.comparer.record(t.Context(), rec, r.job(rec, release.Upgrade{}), outcome, nil); !remembered(r).readsCluster {
		t.Error("the action has rendered a chart that reads the cluster")
	}
}
