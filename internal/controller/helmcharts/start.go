// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"errors"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/trigger"
	"github.com/pintle-dev/pintle/internal/controller/optional"
)

// The rights are in config/helmchart, since only the feature gate HelmChartAPI needs them.

// Add adds the controller of HelmCharts to a manager. The controller starts when the Starter finds that
// HelmCharts can be watched.
//
// enqueue triggers a reconciliation of a HelmRelease.
func Add(mgr ctrl.Manager, o controller.Options, shared controller.Shared, enqueue func(types.NamespacedName)) (*optional.Starter, error) {
	r := &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), events: shared.Events, enqueue: enqueue, connections: shared.Connections, records: o.Helm,
		defaultServiceAccount: o.DefaultServiceAccount, asK3s: o.HelmCharts.ReinstallAsK3s, now: o.Now,
		archives: &archives{read: o.HelmCharts.Archives.Read, now: o.Now, known: map[types.NamespacedName]*knownArchive{}},
	}
	start := &optional.Starter{
		What: "HelmCharts", Log: mgr.GetLogger().WithName("helmcharts"), Signal: optional.NewSignal(),
		Watchable: func(ctx context.Context) error { return r.watchable(ctx, o) },
		Run:       func(ctx context.Context) error { return r.setup(ctx, mgr, o) },
	}
	return start, mgr.Add(start)
}

// watchable returns an error if a kind that the controller watches cannot be listed. Only archives need
// ExternalArtifacts.
func (r *Reconciler) watchable(ctx context.Context, o controller.Options) error {
	for _, list := range []client.ObjectList{
		&cattlev1.HelmChartList{}, &cattlev1.HelmChartConfigList{}, &sourcev1.HelmRepositoryList{}, &corev1.ServiceAccountList{},
	} {
		if err := r.listable(ctx, list, o.WatchedNamespace); err != nil {
			return err
		}
	}
	err := r.listable(ctx, &sourcev1.ExternalArtifactList{}, o.WatchedNamespace)
	r.externalArtifacts = err == nil
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (r *Reconciler) listable(ctx context.Context, list client.ObjectList, namespace string) error {
	if err := r.live.List(ctx, list, client.Limit(1), client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	return nil
}

// setup registers the reconciler with a manager.
func (r *Reconciler) setup(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	referenced, err := newReferenced(mgr, o.WatchedNamespace)
	if err != nil {
		return err
	}
	if err := errors.Join(mgr.Add(referenced), addIndexes(ctx, mgr.GetFieldIndexer())); err != nil {
		return err
	}
	r.referenced = referenced
	same := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
	})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("helmchart").
		For(&cattlev1.HelmChart{}).
		Watches(&cattlev1.HelmChartConfig{}, same).
		Owns(&helmv2.HelmRelease{}).
		Owns(&sourcev1.HelmRepository{}).
		Owns(&sourcev1.OCIRepository{})
	if r.externalArtifacts {
		b = b.Owns(&sourcev1.ExternalArtifact{})
		if !o.ExternalArtifacts {
			// The controller of HelmReleases does not watch them.
			b = b.Watches(&sourcev1.ExternalArtifact{}, handler.EnqueueRequestsFromMapFunc(r.releasing), builder.WithPredicates(trigger.SourceChanged{}))
		}
	}
	for _, kind := range referencedKinds() {
		b = b.WatchesRawSource(source.Kind(referenced, kind, handler.TypedEnqueueRequestsFromMapFunc(r.referencing)))
	}
	return b.WithOptions(ctrlcontroller.Options{
		MaxConcurrentReconciles: o.Concurrent, UsePriorityQueue: new(true), NewQueue: o.NewQueue,
		// HelmReleases do not depend on HelmCharts.
		CacheSyncTimeout: 24 * time.Hour,
	}).Complete(r)
}

// releasing triggers a reconciliation of the HelmRelease of an archive, and returns nothing.
func (r *Reconciler) releasing(_ context.Context, source client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(source); owner != nil && owner.Kind == cattlev1.HelmChartKind {
		r.enqueue(client.ObjectKeyFromObject(source))
	}
	return nil
}
