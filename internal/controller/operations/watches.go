// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

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
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/trigger"
	"github.com/pintle-dev/pintle/internal/status"
)

// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=ops.vworkspace.io,resources=operations/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=list

// setup registers the reconciler with a manager.
func (r *Reconciler) setup(ctx context.Context, mgr ctrl.Manager, placed *trigger.Queue, concurrent int, queue controller.NewQueue) error {
	if err := controller.AddIndexes(ctx, mgr.GetFieldIndexer(), &opsv1alpha1.Operation{}, controller.OperationIndexes()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("operation").
		For(&opsv1alpha1.Operation{}, builder.WithPredicates(changed{})).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.operationOf)).
		Watches(&helmv2.HelmRelease{}, handler.EnqueueRequestsFromMapFunc(r.active), builder.WithPredicates(releaseChanged{})).
		Watches(&opsv1alpha1.Operation{}, r.enqueueWaiting()).
		WatchesRawSource(source.Func(placed.Start)).
		WithOptions(ctrlcontroller.Options{
			MaxConcurrentReconciles: concurrent, UsePriorityQueue: new(true), NewQueue: queue,
			// HelmReleases do not depend on Operations. The starter has checked that the kinds
			// can be watched, so that this is for changes since.
			CacheSyncTimeout: 24 * time.Hour,
			RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond, time.Minute),
		}).
		Complete(r)
}

// changed passes changes of the spec and deletions of an Operation. This controller itself writes
// status and finalizers.
type changed struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (changed) Update(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}

// operationOf returns the Operation that the label of a Pod names.
func (r *Reconciler) operationOf(ctx context.Context, pod client.Object) []reconcile.Request {
	uid := pod.GetLabels()[opsv1alpha1.LabelOperation]
	return r.requests(ctx, client.InNamespace(pod.GetNamespace()), client.MatchingFields{controller.IndexUID: uid})
}

// active returns the Operations in the namespace of an object that are not over, and the holder of a
// HelmRelease.
func (r *Reconciler) active(ctx context.Context, object client.Object) []reconcile.Request {
	all := r.requests(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{controller.IndexActive: "true"})
	if holder := object.GetAnnotations()[opsv1alpha1.AnnotationHolder]; holder != "" {
		all = append(all, r.requests(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{controller.IndexUID: holder})...)
	}
	return all
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var list opsv1alpha1.OperationList
	if err := r.client.List(ctx, &list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Operations that an object concerns")
		return nil
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return all
}

// releaseChanged passes the changes of a HelmRelease that an Operation may wait for.
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
		requestAnswered(before, after) ||
		status.Announced(before.Status) != status.Announced(after.Status) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		!equality.Semantic.DeepEqual(before.Status.History, after.Status.History)
}

// enqueueWaiting enqueues the objects that wait for the end of an Operation: other Operations, and
// the HelmReleases that name it as their holder.
func (r *Reconciler) enqueueWaiting() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, op client.Object, q queue) {
		if hr, waited := r.locks.Leave(op.GetUID()); waited {
			r.enqueue(hr)
		}
		var held helmv2.HelmReleaseList
		if err := r.client.List(ctx, &held, client.InNamespace(op.GetNamespace()), client.MatchingFields{controller.IndexHolder: string(op.GetUID())}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the HelmReleases that an Operation held")
		}
		for i := range held.Items {
			r.enqueue(client.ObjectKeyFromObject(&held.Items[i]))
		}
		for _, other := range r.active(ctx, op) {
			q.Add(other)
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*opsv1alpha1.Operation)
			after, isToo := e.ObjectNew.(*opsv1alpha1.Operation)
			if ok && isToo && controller.IsOver(after) && !controller.IsOver(before) {
				enqueue(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}
