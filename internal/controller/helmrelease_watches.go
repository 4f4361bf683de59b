// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/desired"
)

// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases/finalizers,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmcharts,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmcharts/status;ocirepositories/status,verbs=get
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=ocirepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// sourceIndex finds the HelmReleases that use a source, by "<kind>/<namespace>/<name>".
const sourceIndex = ".metadata.source"

// setup registers the reconciler with a manager, visiting up to concurrent
// HelmReleases at a time. Nothing a watch sees decides anything: it only names
// the HelmRelease to visit.
func (r *HelmReleaseReconciler) setup(mgr ctrl.Manager, concurrent int, ended *Wakeups) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &helmv2.HelmRelease{}, sourceIndex, sourceKey) //nolint:forbidigo // the indexer ignores it
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("helmrelease").
		For(&helmv2.HelmRelease{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, requestChanged{},
		))).
		Watches(&sourcev1.OCIRepository{}, r.usersOf(sourcev1.OCIRepositoryKind), builder.WithPredicates(sourceChanged{})).
		Watches(&sourcev1.HelmChart{}, r.usersOf(sourcev1.HelmChartKind), builder.WithPredicates(sourceChanged{})).
		WatchesRawSource(source.Func(ended.start)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrent}).
		Complete(r)
}

func sourceKey(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok || hr.HasChartRef() == hr.HasChartTemplate() {
		return nil
	}
	kind, key := desired.SourceOf(hr)
	return []string{kind + "/" + key.String()}
}

// usersOf wakes the HelmReleases that use a source of the given kind.
func (r *HelmReleaseReconciler) usersOf(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var users helmv2.HelmReleaseList
		key := kind + "/" + client.ObjectKeyFromObject(obj).String()
		if err := r.client.List(ctx, &users, client.MatchingFields{sourceIndex: key}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the HelmReleases that use a source", "source", key)
			return nil
		}
		requests := make([]reconcile.Request, 0, len(users.Items))
		for i := range users.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&users.Items[i])})
		}
		return requests
	})
}

// requestChanged passes updates that ask for a visit by annotation.
type requestChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (requestChanged) Update(e event.UpdateEvent) bool {
	return e.ObjectOld.GetAnnotations()[helmv2.AnnotationReconcileRequest] !=
		e.ObjectNew.GetAnnotations()[helmv2.AnnotationReconcileRequest]
}

// sourceChanged passes updates after which a source offers something else than
// before, or has another reason for offering nothing. A source that stops
// offering wakes nobody: what it offered is installed, and news will follow.
type sourceChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (sourceChanged) Update(e event.UpdateEvent) bool {
	before, offered := desired.Offer(e.ObjectOld)
	after, offers := desired.Offer(e.ObjectNew)
	return before != after && (offers || !offered)
}

// Wakeups carries keys from the attempts that end to the controller's queue. The
// zero value is ready for use.
type Wakeups struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []types.NamespacedName
}

// Wake visits a HelmRelease. It never blocks, and what it is told before the
// controller runs is kept.
func (w *Wakeups) Wake(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		w.early = append(w.early, key)
		return
	}
	w.queue.Add(reconcile.Request{NamespacedName: key})
}

func (w *Wakeups) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for _, key := range w.early {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	w.early = nil
	return nil
}
