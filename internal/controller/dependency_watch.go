// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// dependencyIndex finds the HelmReleases that depend on another one, by the
// "<namespace>/<name>" of that.
const dependencyIndex = ".metadata.dependsOn"

func dependencyKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	var keys []string
	for _, key := range inputs.DependsOn(hr) {
		keys = append(keys, key.String())
	}
	return keys
}

// dependents wakes the HelmReleases that depend on one that has become ready, and
// those that one depended on that is gone. A
// dependency that is not ready any more wakes nobody: who needed it has it, and is
// not to be called not ready for every upgrade of it.
func (r *HelmReleaseReconciler) dependents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			// What is there when we start is no news: everything is visited then.
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok && !e.IsInInitialList {
				_, ready := inputs.IsReady(hr)
				r.wakeDependents(ctx, hr, ready, q)
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
			r.wakeDependents(ctx, hr, ready && !was, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok {
				r.wakeWaiting(ctx, hr, q)
			}
		},
	}
}

// wakeWaiting wakes the HelmReleases that hr depended on, if they are being deleted:
// they wait for its end.
func (r *HelmReleaseReconciler) wakeWaiting(ctx context.Context, hr *helmv2.HelmRelease, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, key := range inputs.DependsOn(hr) {
		dep := &helmv2.HelmRelease{}
		if r.client.Get(ctx, key, dep) == nil && !dep.DeletionTimestamp.IsZero() {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// wakeDependents wakes those who depend on hr: all if it has become ready, or else
// those that wait and have an expression of their own, which may ask for anything.
func (r *HelmReleaseReconciler) wakeDependents(ctx context.Context, hr *helmv2.HelmRelease, becameReady bool, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, user := range r.indexed(ctx, dependencyIndex, client.ObjectKeyFromObject(hr).String()) {
		if becameReady || hasExpression(&user) && !atRest(&user) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&user)})
		}
	}
}

// hasExpression reports whether hr asks something of its own about a HelmRelease.
func hasExpression(hr *helmv2.HelmRelease) bool {
	for _, ref := range hr.Spec.DependsOn {
		if ref.ReadyExpr != "" && inputs.IsHelmRelease(ref) {
			return true
		}
	}
	return false
}

// atRest reports whether a HelmRelease is as its present spec asks for: it waits
// for nothing.
func atRest(hr *helmv2.HelmRelease) bool {
	return hr.Status.ObservedGeneration == hr.Generation &&
		apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReady)
}
