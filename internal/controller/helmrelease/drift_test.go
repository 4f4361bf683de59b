// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/watch"
)

// livestub stands for live objects.
type livestub struct {
	found     release.Drift
	looks     int
	during    func()
	corrected []bool
	followed  string
	forgotten int
	forbidden []schema.GroupVersionResource
}

func (l *livestub) Detect(context.Context, drift.Request) (*release.Drift, error) {
	l.looks++
	if l.during != nil {
		l.during()
	}
	found := l.found
	found.Errors = slices.Clone(found.Errors)
	return &found, nil
}

func (l *livestub) Correct(_ context.Context, _ drift.Request, onlyRemoved bool) ([]release.DriftedObject, []release.ObjectError) {
	l.corrected = append(l.corrected, onlyRemoved)
	return l.found.Objects, nil
}

func (l *livestub) Record(types.NamespacedName, string, *drift.Recorder, []release.Object) bool {
	return true
}

func (l *livestub) Resources(types.NamespacedName) []schema.GroupVersionResource {
	return []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}}
}
func (l *livestub) Forget(types.NamespacedName) { l.forgotten++ }
func (l *livestub) Forbidden(types.NamespacedName) ([]schema.GroupVersionResource, bool) {
	return l.forbidden, true
}

func (l *livestub) WatchKinds(_ types.NamespacedName, c watch.Cluster, _ []schema.GroupVersionResource) {
	l.followed = c.ID
}

func (l *livestub) Observed(string, schema.GroupVersionResource, string, string) watch.Observation {
	return watch.Observation{}
}

// inSync makes the release of newReconciler one that is as it should be.
func inSync(t *testing.T, r *Reconciler, s *stub) {
	t.Helper()
	s.version, s.values = "1.0.0", "sha256:values"
	s.stored = []release.Revision{{
		Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1",
		ChartVersion: s.version, ConfigDigest: s.values,
	}}
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	hr.Status.StorageNamespace = "apps"
	done := status.Finished(hr, release.Outcome{
		Action: release.Install{}, Desired: release.Desired{UID: "uid-1", Target: release.Target{Name: "web", Namespace: "apps", StorageNamespace: "apps"}},
		Revisions: s.stored, Started: time.Now(), Ended: time.Now(),
	}, time.Now())
	hr.Status = done.Status
	hr.Status.StorageNamespace = "apps"
	if err := r.client.Status().Update(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
}

func reconcileOnce(t *testing.T, r *Reconciler) ctrl.Result {
	t.Helper()
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestDriftIsLookedForWhereItIsWanted: objects are compared, and their state is kept, only if drift
// detection is enabled.
func TestDriftIsLookedForWhereItIsWanted(t *testing.T) {
	for mode, looks := range map[helmv2.DriftDetectionMode]int{
		helmv2.DriftDetectionEnabled: 1, helmv2.DriftDetectionWarn: 1, helmv2.DriftDetectionDisabled: 0,
	} {
		t.Run(string(mode), func(t *testing.T) {
			s := &stub{mode: mode}
			r := testReconciler(t, s)
			inSync(t, r, s)
			reconcileOnce(t, r)
			if s.live.looks != looks || (s.live.followed == "") != (looks == 0) || (s.live.forgotten == 0) != (looks == 1) {
				t.Errorf("%+v", s.live)
			}
		})
	}
}

// TestDriftIsCorrected: by an action, which is announced like any other.
func TestDriftIsCorrected(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionEnabled, live: &livestub{found: release.Drift{
		Objects: []release.DriftedObject{{Object: release.Object{Kind: "ConfigMap", Name: "web"}, Removed: true}},
	}}}
	r := testReconciler(t, s)
	inSync(t, r, s)
	reconcileOnce(t, r)
	if s.begun == nil {
		t.Fatal("nothing was begun")
	}
	out := s.begun(t.Context(), nil)
	if len(s.live.corrected) != 1 || len(out.Corrected) != 1 || out.Err != nil || out.Ended.IsZero() {
		t.Errorf("%+v, %+v", out, s.live)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if out := s.begun(cancelled, nil); !out.Cancelled {
		t.Errorf("what was cut off counts as done: %+v", out)
	}
}

// TestEnqueuedWhileReconciling: a change during a reconciliation makes the next one compare
// objects, although this one ends in sync.
func TestEnqueuedWhileReconciling(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionEnabled, live: &livestub{}}
	r := testReconciler(t, s)
	inSync(t, r, s)
	reconcileOnce(t, r)
	if reconcileOnce(t, r); s.live.looks != 1 {
		t.Fatalf("in sync it was compared %d times", s.live.looks)
	}
	s.live.during = func() { r.memory.With(key, func(m *memory) { m.sync.changed = true }) }
	r.memory.With(key, func(m *memory) { m.sync.changed = true })
	reconcileOnce(t, r)
	s.live.during = nil
	if reconcileOnce(t, r); s.live.looks != 3 {
		t.Errorf("it was looked at %d times", s.live.looks)
	}
	if reconcileOnce(t, r); s.live.looks != 3 {
		t.Errorf("it was looked at %d times", s.live.looks)
	}
}

// hasCondition reports whether there is a condition whose message has a text.
func hasCondition(all []metav1.Condition, kind, text string) bool {
	c := apimeta.FindStatusCondition(all, kind)
	return c != nil && strings.Contains(c.Message, text)
}

// TestUnwatchedKindsAreNamed: Drifted names the kinds that the controller may not watch.
func TestUnwatchedKindsAreNamed(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionWarn}
	r := testReconciler(t, s)
	live := &livestub{forbidden: []schema.GroupVersionResource{{Group: "apps", Version: "v1", Resource: "deployments"}}}
	r.comparer.detector, r.comparer.objects = live, live
	inSync(t, r, s)
	reconcileOnce(t, r)
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionDrifted)
	if live.looks != 1 || c == nil || !strings.Contains(c.Message, "Not watched, because the controller lacks the right: deployments.apps.") {
		t.Errorf("%d comparisons, Drifted is %+v", live.looks, c)
	}
}
