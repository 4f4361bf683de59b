// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// Dependencies enqueues the HelmReleases that depend on one that becomes ready, and those that one
// depended on that was deleted. A dependency that is no longer ready enqueues none: its
// dependents are installed, and an upgrade of the dependency does not make them unready.
func (h *Handlers) Dependencies() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			// All HelmReleases of the initial list are reconciled anyway.
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok && !e.IsInInitialList {
				_, ready := inputs.IsReady(hr)
				h.enqueueDependents(ctx, hr, ready, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*helmv2.HelmRelease)
			hr, isToo := e.ObjectNew.(*helmv2.HelmRelease)
			if !ok || !isToo || before.ResourceVersion == hr.ResourceVersion {
				return
			}
			_, was := inputs.IsReady(before)
			_, ready := inputs.IsReady(hr)
			h.enqueueDependents(ctx, hr, ready && !was, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok {
				h.enqueueDeleted(ctx, hr, q)
			}
		},
	}
}

// Rollouts enqueues nothing itself: Received does, as far as releases wait for their turn.
func (h *Handlers) Rollouts() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { h.Received(e.Object, false) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { h.Received(e.ObjectNew, false) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { h.Received(e.Object, true) },
	}
}

// enqueueDeleted enqueues the HelmReleases that hr depended on, if they are being deleted: they
// wait for the end of hr.
func (h *Handlers) enqueueDeleted(ctx context.Context, hr *helmv2.HelmRelease, q queue) {
	for _, key := range inputs.DependsOn(hr) {
		dep := &helmv2.HelmRelease{}
		if h.Client.Get(ctx, key, dep) == nil && !dep.DeletionTimestamp.IsZero() {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// enqueueDependents enqueues the HelmReleases that depend on hr: all if hr has become ready, or
// else those that wait and have an expression, which may refer to any field.
func (h *Handlers) enqueueDependents(ctx context.Context, hr *helmv2.HelmRelease, becameReady bool, q queue) {
	for _, user := range h.listByIndex(ctx, controller.IndexDependency, client.ObjectKeyFromObject(hr).String()) {
		if becameReady || hasExpression(&user) && !isReady(&user) {
			q.Add(request(&user))
		}
	}
}

// hasExpression reports whether hr has a readiness expression about a HelmRelease.
func hasExpression(hr *helmv2.HelmRelease) bool {
	for _, ref := range hr.Spec.DependsOn {
		if ref.ReadyExpr != "" && inputs.IsHelmRelease(ref) {
			return true
		}
	}
	return false
}
