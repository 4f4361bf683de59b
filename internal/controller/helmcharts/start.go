// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"fmt"
	"slices"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
	"github.com/pintle-dev/pintle/internal/helmchart"
)

// The rights are in config/helmchart, since only the feature gate HelmChartAPI needs them.

// Add adds the controller of HelmCharts to a manager. The controller starts when the Starter finds that
// HelmCharts can be watched.
//
// enqueue triggers a reconciliation of a HelmRelease.
func Add(mgr ctrl.Manager, o controller.Options, shared controller.Shared, enqueue func(types.NamespacedName)) (*optional.Starter, error) {
	r := &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), events: shared.Events, enqueue: enqueue, connections: shared.Connections, records: o.Helm,
		defaultServiceAccount: o.DefaultServiceAccount, asK3s: o.HelmCharts.ReinstallAsK3s,
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
	if err := mgr.Add(referenced); err != nil {
		return err
	}
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

// referencedKinds returns objects of the kinds that HelmCharts reference, as metadata.
func referencedKinds() []*metav1.PartialObjectMetadata {
	var all []*metav1.PartialObjectMetadata
	for _, kind := range []string{"Secret", "ConfigMap", "ServiceAccount"} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		all = append(all, o)
	}
	return all
}

// newReferenced returns a cache of the metadata of objects that HelmCharts reference. The manager's cache
// only has labelled ones. Release records are left out.
func newReferenced(mgr ctrl.Manager, namespace string) (cache.Cache, error) {
	kinds := referencedKinds()
	o := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			kinds[0]: {Field: fields.OneTermNotEqualSelector("type", "helm.sh/release.v1")},
		},
		DefaultTransform: func(obj any) (any, error) {
			if o, ok := obj.(metav1.Object); ok {
				o.SetManagedFields(nil)
				o.SetAnnotations(nil)
				o.SetLabels(nil)
			}
			return obj, nil
		},
	}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return cache.New(mgr.GetConfig(), o)
}

// referencing returns the HelmCharts that reference an object, or whose Secret it is. A HelmRelease
// reads the values of a Secret again only after a trigger.
func (r *Reconciler) referencing(ctx context.Context, object *metav1.PartialObjectMetadata) []reconcile.Request {
	var charts cattlev1.HelmChartList
	if err := r.client.List(ctx, &charts, client.InNamespace(object.Namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the HelmCharts that an object concerns")
		return nil
	}
	var all []reconcile.Request
	for i := range charts.Items {
		c := &charts.Items[i]
		if !helmchart.Manages(c) {
			continue
		}
		key := client.ObjectKeyFromObject(c)
		switch object.Kind {
		case "ServiceAccount":
			if object.Name != helmchart.ServiceAccountName(c) {
				continue
			}
		case "ConfigMap":
			if ref := c.Spec.RepoCAConfigMap; ref == nil || ref.Name != object.Name {
				continue
			}
		default:
			config, err := r.config(ctx, key)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot read a HelmChartConfig")
			}
			if object.Name != helmchart.SecretName(c) && !slices.Contains(helmchart.ReferencedSecrets(c, config), object.Name) {
				continue
			}
			r.enqueue(key)
		}
		all = append(all, reconcile.Request{NamespacedName: key})
	}
	return all
}
