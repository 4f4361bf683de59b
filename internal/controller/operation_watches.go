// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/status"
)

// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=list

// activeIndex finds the Operations for which something is left to do.
const activeIndex = ".status.active"

func activeKey(obj client.Object) []string {
	op, ok := obj.(*opsv1alpha1.Operation)
	if !ok || over(op) {
		return nil
	}
	return []string{"true"}
}

// over reports whether nothing is left to do for an Operation.
func over(op *opsv1alpha1.Operation) bool {
	return op.Status.Phase.Final() && !controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer)
}

// setup registers the reconciler with a manager.
func (r *OperationReconciler) setup(ctx context.Context, mgr ctrl.Manager, concurrent int) error {
	for name, keys := range map[string]client.IndexerFunc{uidIndex: uidKey, activeIndex: activeKey} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &opsv1alpha1.Operation{}, name, keys); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("operation").
		For(&opsv1alpha1.Operation{}, builder.WithPredicates(operationChanged{})).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.operationOf)).
		Watches(&helmv2.HelmRelease{}, handler.EnqueueRequestsFromMapFunc(r.active), builder.WithPredicates(releaseChanged{})).
		Watches(&opsv1alpha1.Operation{}, r.ended()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrent, UsePriorityQueue: new(true),
			// Without Operations, releases go on. It is asked beforehand whether they can be
			// watched, so that this is for what happens in between.
			CacheSyncTimeout: 24 * time.Hour,
			RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond, time.Minute),
		}).
		Complete(r)
}

// operationChanged passes what its author does to an Operation. That its status
// changes is our own doing, and that its finalizer goes too.
type operationChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (operationChanged) Update(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}

// operationOf returns the Operation whose label a pod has.
func (r *OperationReconciler) operationOf(ctx context.Context, pod client.Object) []reconcile.Request {
	uid := pod.GetLabels()[opsv1alpha1.LabelOperation]
	return r.requests(ctx, client.InNamespace(pod.GetNamespace()), client.MatchingFields{uidIndex: uid})
}

// active returns the Operations of an object's namespace for which something is
// left to do.
func (r *OperationReconciler) active(ctx context.Context, object client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{activeIndex: "true"})
}

func (r *OperationReconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var list opsv1alpha1.OperationList
	if err := r.client.List(ctx, &list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot tell which Operations are concerned")
		return nil
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}

// releaseChanged passes changes of a HelmRelease that an Operation may have waited
// for.
type releaseChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (releaseChanged) Update(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*helmv2.HelmRelease)
	after, isToo := e.ObjectNew.(*helmv2.HelmRelease)
	if !ok || !isToo {
		return false
	}
	return before.Generation != after.Generation ||
		before.Annotations[opsv1alpha1.AnnotationHolder] != after.Annotations[opsv1alpha1.AnnotationHolder] ||
		status.Announced(before.Status) != status.Announced(after.Status) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		!equality.Semantic.DeepEqual(before.Status.History, after.Status.History)
}

// ended wakes those that waited for an Operation that is over or gone: others, and
// the HelmReleases that still name it as their holder.
func (r *OperationReconciler) ended() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(ctx context.Context, op client.Object, q queue) {
		if hr, waited := r.holders.turns.leave(op.GetUID()); waited {
			r.wake(hr)
		}
		var held helmv2.HelmReleaseList
		if err := r.client.List(ctx, &held, client.InNamespace(op.GetNamespace()), client.MatchingFields{holderIndex: string(op.GetUID())}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot tell which HelmReleases an Operation held")
		}
		for i := range held.Items {
			r.wake(client.ObjectKeyFromObject(&held.Items[i]))
		}
		for _, other := range r.active(ctx, op) {
			q.Add(other)
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*opsv1alpha1.Operation)
			after, isToo := e.ObjectNew.(*opsv1alpha1.Operation)
			if ok && isToo && over(after) && !over(before) {
				wake(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, q) },
	}
}
