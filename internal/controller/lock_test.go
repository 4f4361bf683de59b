// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestHolder: only an Operation that is not over is a holder, and the API server is asked if the
// cache has none.
func TestHolder(t *testing.T) {
	op := func(phase opsv1alpha1.OperationPhase) *opsv1alpha1.Operation {
		return &opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "op", UID: "op-1"}, Status: opsv1alpha1.OperationStatus{Phase: phase}}
	}
	reader := func(objects ...client.Object) client.Reader {
		b := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...)
		for name, keys := range OperationIndexes() {
			b = b.WithIndex(&opsv1alpha1.Operation{}, name, keys)
		}
		return b.Build()
	}
	tidying := op(opsv1alpha1.PhaseSucceeded)
	tidying.Finalizers = []string{opsv1alpha1.Finalizer}
	for name, tc := range map[string]struct {
		cached, live client.Reader
		held         bool
	}{
		"running":     {cached: reader(op(opsv1alpha1.PhaseRunning)), live: reader(), held: true},
		"over":        {cached: reader(op(opsv1alpha1.PhaseSucceeded)), live: reader()},
		"tidies up":   {cached: reader(tidying), live: reader(), held: true},
		"gone":        {cached: reader(), live: reader()},
		"new":         {cached: reader(), live: reader(op("")), held: true},
		"another UID": {cached: reader(), live: reader(&opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "op", UID: "op-2"}})},
	} {
		l := NewLocks(tc.cached, tc.live)
		l.UseCache()
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Annotations: map[string]string{opsv1alpha1.AnnotationHolder: "op-1"}}}
		var have release.Observed
		if err := l.Observe(t.Context(), hr, now, &have); err != nil || (have.LockHolder != nil) != tc.held {
			t.Errorf("%s: %+v, %v", name, have.LockHolder, err)
		}
	}
}

// TestSkippingIsGuarded: an Operation that has succeeded lets an upgrade leave out a hook only while the
// admission policy is older, since others may have written its status.
func TestSkippingIsGuarded(t *testing.T) {
	t.Parallel()
	made := func(phase opsv1alpha1.OperationPhase) *opsv1alpha1.Operation {
		op := &opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "op", CreationTimestamp: metav1.Time{Time: now}}}
		op.Spec.TargetRef = opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: "web"}
		op.Spec.Parameters = &opsv1alpha1.Parameters{From: opsv1alpha1.FromNext, SkipInUpgrade: true, SkipApprovedBy: "lead"}
		op.Status.Phase = phase
		return op
	}
	guarded := func(age time.Duration) []client.Object {
		policy, binding := guard(now.Add(-age))
		policy.Name, binding.Name, binding.Spec.PolicyName = SkipGuard().Name, SkipGuard().Name, SkipGuard().Name
		return []client.Object{policy, binding}
	}
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	for name, tc := range map[string]struct {
		objects []client.Object
		want    int
	}{
		"Guarded":   {append(guarded(time.Minute), made(opsv1alpha1.PhaseSucceeded)), 1},
		"Unguarded": {[]client.Object{made(opsv1alpha1.PhaseSucceeded)}, 0},
		"Younger":   {append(guarded(0), made(opsv1alpha1.PhaseSucceeded)), 0},
		"Running":   {[]client.Object{made(opsv1alpha1.PhaseRunning)}, 1},
	} {
		b := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(tc.objects...)
		for name, keys := range OperationIndexes() {
			b = b.WithIndex(&opsv1alpha1.Operation{}, name, keys)
		}
		c := b.Build()
		l := NewLocks(c, c)
		l.UseCache()
		if got, err := l.Skipping(t.Context(), hr); err != nil || len(got) != tc.want {
			t.Errorf("%s: %d Operations, %v", name, len(got), err)
		}
	}
}

// TestWaitEnds: a wait that is not renewed keeps Helm waiting for a while only.
func TestWaitEnds(t *testing.T) {
	var l Locks
	hr := types.NamespacedName{Name: "web"}
	l.Wait("op-1", "op", hr, now)
	if l.next(hr, now.Add(waitTimeout-1)) == nil || l.next(hr, now.Add(waitTimeout)) != nil {
		t.Error("it ends too early, or never")
	}
	if l.next(types.NamespacedName{Name: "other"}, now) != nil {
		t.Error("another release waits too")
	}
}
