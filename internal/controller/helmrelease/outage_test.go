// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
)

var errTransient = apierrors.NewServiceUnavailable("try again later")

// TestTransientErrorsChangeNothing: while an API server answers with errors of its own,
// Ready stays as it is. After a while it says so once, in words that do not change, and it
// is back when the server is.
func TestTransientErrorsChangeNothing(t *testing.T) {
	s := &stub{values: "sha256:a"}
	s.stored = []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, ConfigDigest: "sha256:a", Sealed: true, Owner: "uid-1"}}
	r := testReconciler(t, s)
	now := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	r.now = func() time.Time { return now }
	events := r.events.(controllertest.Events)
	reconcile := func() (ready metav1.Condition, version string) {
		t.Helper()
		if s.unresolved == nil {
			// A release in sync is not observed otherwise.
			r.memory.With(key, func(m *memory) { m.sync.invalidate() })
		}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil || result.RequeueAfter <= 0 {
			t.Fatalf("the reconciliation ends with %v, %v", result, err)
		}
		if s.unresolved != nil && result.RequeueAfter > controller.MaxOutageRetry {
			t.Errorf("requeued after %s", result.RequeueAfter)
		}
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil {
			t.Fatal(err)
		}
		if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady); c != nil {
			ready = *c
		}
		return ready, hr.ResourceVersion
	}
	drain := func() (all []string) {
		for len(events) > 0 {
			all = append(all, <-events)
		}
		return all
	}
	for range 3 {
		reconcile()
	}
	sound, settled := reconcile()
	if sound.Status != metav1.ConditionTrue {
		t.Fatalf("it does not settle: %+v", sound)
	}
	drain()

	for i := range 10 {
		s.unresolved = release.BlockedBy(helmv2.ReasonStateError, fmt.Errorf("from port %d: %w", 50000+i, errTransient), "Could not read")
		if ready, version := reconcile(); version != settled || ready.Reason != sound.Reason {
			t.Fatalf("after %ds it is %+v", 3*i, ready)
		}
		now = now.Add(3 * time.Second)
	}
	first, told := reconcile()
	if first.Status != metav1.ConditionFalse || first.Reason != helmv2.ReasonStateError || !strings.Contains(first.Message, "(since 2026-01-01T12:00:00Z). ") {
		t.Fatalf("after 30 s it is %+v", first)
	}
	for i := range 5 {
		s.unresolved = release.BlockedBy(helmv2.ReasonStateError, fmt.Errorf("from port %d: %w", 60000+i, errTransient), "Could not read")
		now = now.Add(time.Minute)
		if ready, version := reconcile(); version != told {
			t.Fatalf("it was written again: %+v", ready)
		}
	}
	if made := drain(); len(made) != 1 {
		t.Errorf("events %q", made)
	}

	s.unresolved = nil
	if ready, _ := reconcile(); ready.Status != metav1.ConditionTrue || outages(r) != 0 {
		t.Errorf("when it is over, Ready is %+v, and %d outages are remembered", ready, outages(r))
	}
	s.unresolved = errTransient
	if ready, _ := reconcile(); ready.Status != metav1.ConditionTrue || outages(r) != 1 {
		t.Errorf("another outage begins with %+v", ready)
	}
	s.unresolved = nil
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || outages(r) != 0 {
		t.Errorf("of a release in sync, %d outages are remembered, %v", outages(r), err)
	}
}

// TestBackoffHasALimit: an outage that took long is noticed to be over soon.
func TestBackoffHasALimit(t *testing.T) {
	t.Parallel()
	r := testReconciler(t, &stub{})
	for range 10 {
		if got := r.requeue(key, release.BackoffUpTo(5*time.Second)); got.RequeueAfter > 5*time.Second || got.RequeueAfter < time.Second {
			t.Fatalf("requeued after %s", got.RequeueAfter)
		}
	}
	if got := r.requeue(key, release.Backoff()); got.RequeueAfter != time.Minute {
		t.Errorf("without a limit after %s", got.RequeueAfter)
	}
}

// TestOutageEndsWithAnAction: the next outage is not older than it is, and nothing is
// remembered of a HelmRelease that is gone.
func TestOutageEndsWithAnAction(t *testing.T) {
	t.Parallel()
	s := &stub{unresolved: errTransient}
	r := testReconciler(t, s)
	reconcile := func(want int) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || outages(r) != want {
			t.Errorf("%d outages are remembered, want %d; %v", outages(r), want, err)
		}
	}
	reconcile(1)
	s.unresolved = nil
	if reconcile(0); s.begun == nil {
		t.Error("nothing was begun")
	}
	s.unresolved = errTransient
	reconcile(1)
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	hr.Finalizers = nil
	if err := errors.Join(r.client.Update(t.Context(), hr), r.client.Delete(t.Context(), hr)); err != nil {
		t.Fatal(err)
	}
	reconcile(0)
}

// TestComparisonIsRepeated: a release of which an object could not be read is not in sync, and is
// compared again with back-off.
func TestComparisonIsRepeated(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionEnabled, live: &livestub{}}
	r := testReconciler(t, s)
	inSync(t, r, s)
	reconcileOnce(t, r)
	s.live.found.Errors = []release.ObjectError{{Err: "busy", Transient: true}}
	r.memory.With(key, func(m *memory) { m.sync.invalidate() })
	var last time.Duration
	for range 3 {
		looks := s.live.looks
		result := reconcileOnce(t, r)
		if result.RequeueAfter > controller.MaxOutageRetry || result.RequeueAfter <= last || s.live.looks != looks+1 {
			t.Fatalf("compared %d times, requeued after %s, and after %s before", s.live.looks-looks, result.RequeueAfter, last)
		}
		last = result.RequeueAfter
	}
}
