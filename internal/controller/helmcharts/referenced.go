// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helmchart"
)

const (
	kindSecret         = "Secret"
	kindConfigMap      = "ConfigMap"
	kindServiceAccount = "ServiceAccount"
)

// indexReferenced is of HelmCharts that Pintle manages and of HelmChartConfigs, by the objects of their
// namespace that they reference: "<kind>/<name>".
const indexReferenced = ".spec.referenced"

// referencedKinds returns objects of the kinds that HelmCharts reference, as metadata.
func referencedKinds() []*metav1.PartialObjectMetadata {
	return []*metav1.PartialObjectMetadata{metadata(kindSecret), metadata(kindConfigMap), metadata(kindServiceAccount)}
}

func metadata(kind string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return o
}

// newReferenced returns a cache of the metadata of objects that HelmCharts reference. The manager's cache
// only has labelled ones, and users of k3s do not label them. Release records are left out.
func newReferenced(mgr ctrl.Manager, namespace string) (cache.Cache, error) {
	o := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			metadata(kindSecret): {Field: fields.OneTermNotEqualSelector("type", "helm.sh/release.v1")},
		},
		DefaultTransform: onlyIdentity,
	}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return cache.New(mgr.GetConfig(), o)
}

// onlyIdentity removes the fields of an object that are not read here.
func onlyIdentity(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
		o.SetAnnotations(nil)
		o.SetLabels(nil)
		o.SetOwnerReferences(nil)
		o.SetFinalizers(nil)
	}
	return obj, nil
}

// seen returns the metadata of an object in the namespace of a HelmChart from the cache; nil if it is not
// there. It may have been created since.
func (r *Reconciler) seen(ctx context.Context, kind string, c *cattlev1.HelmChart, name string) (*metav1.PartialObjectMetadata, error) {
	o := metadata(kind)
	err := r.referenced.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return o, err
}

// addIndexes adds the indexes by referenced objects to the manager's cache.
func addIndexes(ctx context.Context, to client.FieldIndexer) error {
	all := map[string]client.IndexerFunc{indexReferenced: referencedKeys}
	if err := controller.AddIndexes(ctx, to, &cattlev1.HelmChart{}, all); err != nil {
		return err
	}
	return controller.AddIndexes(ctx, to, &cattlev1.HelmChartConfig{}, all)
}

func referencedKeys(obj client.Object) []string {
	var secrets, all []string
	switch o := obj.(type) {
	case *cattlev1.HelmChart:
		if !helmchart.Manages(o) {
			return nil
		}
		if ref := o.Spec.RepoCAConfigMap; ref != nil {
			all = append(all, kindConfigMap+"/"+ref.Name)
		}
		all = append(all, kindServiceAccount+"/"+helmchart.ServiceAccountName(o))
		secrets = append(helmchart.ReferencedSecrets(o.Spec.ValuesSecrets), helmchart.SecretName(o))
	case *cattlev1.HelmChartConfig:
		secrets = helmchart.ReferencedSecrets(o.Spec.ValuesSecrets)
	}
	for _, name := range secrets {
		all = append(all, kindSecret+"/"+name)
	}
	return all
}

// referencing returns the HelmCharts that reference an object, or whose Secret it is. A HelmRelease
// reads the values of a Secret again only after a trigger.
func (r *Reconciler) referencing(ctx context.Context, object *metav1.PartialObjectMetadata) []reconcile.Request {
	var charts cattlev1.HelmChartList
	var configs cattlev1.HelmChartConfigList
	keys := map[types.NamespacedName]bool{}
	for _, list := range []client.ObjectList{&charts, &configs} {
		err := r.client.List(ctx, list, client.InNamespace(object.Namespace), client.MatchingFields{indexReferenced: object.Kind + "/" + object.Name})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the HelmCharts that an object concerns")
		}
	}
	for i := range charts.Items {
		// Its own Secret triggers the HelmRelease when the HelmChart has applied both.
		keys[client.ObjectKeyFromObject(&charts.Items[i])] = object.Name != helmchart.SecretName(&charts.Items[i])
	}
	for i := range configs.Items {
		keys[client.ObjectKeyFromObject(&configs.Items[i])] = true
	}
	var all []reconcile.Request
	for key, values := range keys {
		if object.Kind == kindSecret && values {
			r.enqueue(key)
		}
		all = append(all, reconcile.Request{NamespacedName: key})
	}
	return all
}
