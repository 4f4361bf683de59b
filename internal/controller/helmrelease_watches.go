// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases/status,verbs=patch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmcharts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=ocirepositories;externalartifacts,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Indices find the HelmReleases that use an object: a source by
// "<kind>/<namespace>/<name>", what values come from by "<namespace>/<name>".
const (
	sourceIndex    = ".metadata.source"
	configMapIndex = ".metadata.configMap"
	secretIndex    = ".metadata.secret"
)

// setup registers the reconciler with a manager, visiting up to concurrent
// HelmReleases at a time. Nothing a watch sees decides anything: it only names
// the HelmRelease to visit.
func (r *HelmReleaseReconciler) setup(mgr ctrl.Manager, concurrent int, ended *wakeups, indexed <-chan struct{}) error {
	for name, keys := range map[string]client.IndexerFunc{
		sourceIndex:    sourceKey,
		claimIndex:     claimKey,
		holderIndex:    holderKey,
		uidIndex:       uidKey,
		bearerIndex:    bearerKeys,
		configMapIndex: valuesKeys(helmv2.KindConfigMap),
		secretIndex:    valuesKeys(helmv2.KindSecret),

		dependencyIndex: dependencyKeys,
	} {
		err := mgr.GetFieldIndexer().IndexField(context.Background(), &helmv2.HelmRelease{}, name, keys) //nolint:forbidigo // the indexer ignores it
		if err != nil {
			return err
		}
	}
	changed := builder.WithPredicates(sourceChanged{})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("helmrelease").
		For(&helmv2.HelmRelease{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, requestChanged{},
		))).
		Watches(&helmv2.HelmRelease{}, r.contenders()).
		Watches(&helmv2.HelmRelease{}, r.dependents()).
		Watches(&helmv2.HelmRelease{}, r.yielders()).
		Watches(&sourcev1.OCIRepository{}, r.usersOf(sourcev1.OCIRepositoryKind), changed).
		Watches(&sourcev1.HelmChart{}, r.usersOf(sourcev1.HelmChartKind), changed)
	if r.externalArtifacts {
		b = b.Watches(&sourcev1.ExternalArtifact{}, r.usersOf(sourcev1.ExternalArtifactKind), changed)
	}
	if !r.noConfigWatches {
		b = b.
			Watches(&corev1.ConfigMap{}, r.takersFrom(configMapIndex), builder.OnlyMetadata, builder.WithPredicates(configChanged{})).
			Watches(&corev1.Secret{}, r.takersFrom(secretIndex), builder.OnlyMetadata, builder.WithPredicates(configChanged{}))
	}
	if indexed != nil {
		b = b.WatchesRawSource(awaited{indexed})
	}
	return b.
		WatchesRawSource(source.Func(ended.start)).
		// What users change comes before what is there when we start.
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrent, UsePriorityQueue: new(true),
			// For writes that fail. Longer than outageRetry is too long after an outage.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstErrorRetry, outageRetry),
		}).
		Complete(r)
}

func sourceKey(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok || hr.HasChartRef() == hr.HasChartTemplate() {
		return nil
	}
	kind, key := inputs.SourceOf(hr)
	return []string{kind + "/" + key.String()}
}

func valuesKeys(kind string) client.IndexerFunc {
	return func(obj client.Object) []string {
		hr, ok := obj.(*helmv2.HelmRelease)
		if !ok {
			return nil
		}
		var keys []string
		for _, key := range inputs.ValuesFrom(hr, kind) {
			keys = append(keys, key.String())
		}
		if key, ok := kubeconfigSecret(hr); ok && kind == helmv2.KindSecret {
			keys = append(keys, key.String())
		}
		if key, ok := workloadConfigMap(hr); ok && kind == helmv2.KindConfigMap {
			keys = append(keys, key.String())
		}
		return keys
	}
}

// usersOf wakes the HelmReleases that use a source of the given kind, but for
// those that have what it offers.
func (r *HelmReleaseReconciler) usersOf(kind string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(ctx context.Context, obj client.Object, offers bool, q queue) {
		for _, hr := range r.indexed(ctx, sourceIndex, kind+"/"+client.ObjectKeyFromObject(obj).String()) {
			if !offers || !attempted(&hr, obj) {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&hr)})
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, true, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, e.ObjectNew, true, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, false, q) },
	}
}

// attempted reports whether a HelmRelease has installed what a source offers, or
// is about to.
func attempted(hr *helmv2.HelmRelease, source client.Object) bool {
	reconciling := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReconciling)
	// With another reason it waits, for this source perhaps.
	acting := reconciling != nil && reconciling.Status == metav1.ConditionTrue && reconciling.Reason == helmv2.ReasonProgressing
	return (acting || atRest(hr)) &&
		inputs.HasRevision(source, hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest)
}

// configSettling is how long a change of a ConfigMap or Secret waits for others:
// what one commit changes in several objects is to be one upgrade.
const configSettling = time.Second

// takersFrom wakes the HelmReleases that take values from an object, after others
// have had time to change too.
func (r *HelmReleaseReconciler) takersFrom(index string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(ctx context.Context, obj client.Object, changed bool, q queue) {
		for _, hr := range r.indexed(ctx, index, client.ObjectKeyFromObject(obj).String()) {
			if by := applierOf(obj); changed && by != (applier{}) && by == applierOf(&hr) {
				r.bursts.note(client.ObjectKeyFromObject(&hr), r.now())
			}
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&hr)}, configSettling)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, false, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, e.ObjectNew, true, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, false, q) },
	}
}

// indexed returns every HelmRelease that an index has under key.
func (r *HelmReleaseReconciler) indexed(ctx context.Context, index, key string) []helmv2.HelmRelease {
	var users helmv2.HelmReleaseList
	if err := r.client.List(ctx, &users, client.MatchingFields{index: key}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the HelmReleases that use an object", "index", index, "object", key)
		return nil
	}
	return users.Items
}

// configChanged passes everything that happens to a ConfigMap or Secret but for
// its being there when we start: every HelmRelease is visited then anyway.
type configChanged struct {
	predicate.ResourceVersionChangedPredicate
}

// Create implements predicate.Predicate.
func (configChanged) Create(e event.CreateEvent) bool { return !e.IsInInitialList }

// requestChanged passes updates that ask for a visit, suspend, or give the release
// to an Operation or back, by annotation.
type requestChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (requestChanged) Update(e event.UpdateEvent) bool {
	for _, key := range []string{
		helmv2.AnnotationReconcileRequest, helmv2.AnnotationSuspend, helmv2.AnnotationSuspendUntil, opsv1alpha1.AnnotationHolder,
		helmv2.AnnotationOrphan, helmv2.AnnotationUninstallDisableHooks,
	} {
		before, was := e.ObjectOld.GetAnnotations()[key]
		if after, is := e.ObjectNew.GetAnnotations()[key]; before != after || was != is {
			return true
		}
	}
	return false
}

// sourceChanged passes updates after which a source offers something else than
// before, or has another reason for offering nothing. A source that stops
// offering wakes nobody: what it offered is installed, and news will follow.
type sourceChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (sourceChanged) Update(e event.UpdateEvent) bool {
	before, offered := inputs.SourceState(e.ObjectOld)
	after, offers := inputs.SourceState(e.ObjectNew)
	return before != after && (offers || !offered)
}

// wakeups carries keys from the attempts that end to the controller's queue. The
// zero value is ready for use.
type wakeups struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early []types.NamespacedName
}

// Wake visits a HelmRelease. It never blocks, and what it is told before the
// controller runs is kept.
func (w *wakeups) Wake(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		w.early = append(w.early, key)
		return
	}
	w.queue.Add(reconcile.Request{NamespacedName: key})
}

func (w *wakeups) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for _, key := range w.early {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	w.early = nil
	return nil
}

// indexPatience is how long visits wait for the index of Helm storage. It may never
// come: the controller may not be allowed to watch.
const indexPatience = 10 * time.Second

// awaited is a source of nothing that the first visits wait for.
type awaited struct{ done <-chan struct{} }

// Start implements source.Source.
func (awaited) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

// WaitForSync implements source.SyncingSource.
func (a awaited) WaitForSync(ctx context.Context) error {
	select {
	case <-a.done:
	case <-time.After(indexPatience):
		ctrl.LoggerFrom(ctx).Info("the index of Helm storage is not there yet: releases are looked up one by one")
	case <-ctx.Done():
	}
	return nil
}
