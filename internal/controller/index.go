// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// Indexes of HelmReleases.
const (
	// IndexSource is by the source: "<kind>/<namespace>/<name>".
	IndexSource = ".metadata.source"
	// IndexConfigMap and IndexSecret are by the objects with values, and with the kubeconfig:
	// "<namespace>/<name>".
	IndexConfigMap = ".metadata.configMap"
	IndexSecret    = ".metadata.secret"
	// IndexDependency is by the HelmReleases that spec.dependsOn names: "<namespace>/<name>".
	IndexDependency = ".metadata.dependsOn"
	// IndexRelease is by the Helm release that the spec requests: ReleaseKey with the
	// namespace of the storage.
	IndexRelease = ".spec.release"
	// IndexHistory is by the Helm releases that the spec requests or the history contains:
	// ReleaseKey with the namespace of the release, which is in the ownership metadata.
	IndexHistory = ".status.history.release"
	// IndexHolder is by the UID of the Operation that the annotation names as the holder.
	IndexHolder = ".metadata.annotations.holder"
	// IndexUID is by UID, of HelmReleases and Operations.
	IndexUID = ".metadata.uid"
)

// IndexActive contains the Operations that are not over, under the key "true".
const IndexActive = ".status.active"

// HelmReleaseIndexes returns the indexes of HelmReleases by name.
func HelmReleaseIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		IndexSource:     sourceKeys,
		IndexConfigMap:  configKeys(helmv2.KindConfigMap),
		IndexSecret:     configKeys(helmv2.KindSecret),
		IndexDependency: dependencyKeys,
		IndexRelease:    ReleaseKeys,
		IndexHistory:    HistoryKeys,
		IndexHolder:     holderKeys,
		IndexUID:        uidKeys,
	}
}

// OperationIndexes returns the indexes of Operations by name.
func OperationIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{IndexUID: uidKeys, IndexActive: activeKeys}
}

// AddIndexes adds indexes of a kind to the cache.
func AddIndexes(ctx context.Context, to client.FieldIndexer, kind client.Object, indexes map[string]client.IndexerFunc) error {
	var failed []error
	for name, keys := range indexes {
		failed = append(failed, to.IndexField(ctx, kind, name, keys))
	}
	return errors.Join(failed...)
}

func sourceKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok || hr.HasChartRef() == hr.HasChartTemplate() {
		return nil
	}
	kind, key := inputs.SourceOf(hr)
	return []string{kind + "/" + key.String()}
}

func configKeys(kind string) client.IndexerFunc {
	return func(obj client.Object) []string {
		hr, ok := obj.(*helmv2.HelmRelease)
		if !ok {
			return nil
		}
		var keys []string
		for _, key := range inputs.ValuesFrom(hr, kind) {
			keys = append(keys, key.String())
		}
		if key, ok := KubeconfigSecret(hr); ok && kind == helmv2.KindSecret {
			keys = append(keys, key.String())
		}
		if key, ok := KubeconfigConfigMap(hr); ok && kind == helmv2.KindConfigMap {
			keys = append(keys, key.String())
		}
		return keys
	}
}

// KubeconfigSecret returns the Secret with the kubeconfig of hr, if hr names one.
func KubeconfigSecret(hr *helmv2.HelmRelease) (client.ObjectKey, bool) {
	if hr.Spec.KubeConfig == nil || hr.Spec.KubeConfig.SecretRef == nil {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.KubeConfig.SecretRef.Name}, true
}

// KubeconfigConfigMap returns the ConfigMap that describes the cluster of hr, if hr names one.
func KubeconfigConfigMap(hr *helmv2.HelmRelease) (client.ObjectKey, bool) {
	if hr.Spec.KubeConfig == nil || hr.Spec.KubeConfig.ConfigMapRef == nil {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.KubeConfig.ConfigMapRef.Name}, true
}

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

// ReleaseKeys returns the key of IndexRelease.
func ReleaseKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	return []string{ReleaseKey(hr, hr.GetStorageNamespace(), inputs.ReleaseName(hr))}
}

// HistoryKeys returns the keys of IndexHistory.
func HistoryKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	keys := append(RecordedKeys(hr), ReleaseKey(hr, hr.GetReleaseNamespace(), inputs.ReleaseName(hr)))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// RecordedKeys returns those keys of IndexHistory that follow from the history.
func RecordedKeys(hr *helmv2.HelmRelease) []string {
	var keys []string
	for _, s := range hr.Status.History {
		if s != nil {
			keys = append(keys, ReleaseKey(hr, s.Namespace, s.Name))
		}
	}
	return keys
}

// ReleaseKey identifies a Helm release in the cluster of hr. Two kubeconfigs for the same
// cluster make different keys.
func ReleaseKey(hr *helmv2.HelmRelease, namespace, name string) string {
	in := ""
	if k := hr.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		in = strings.Join([]string{hr.Namespace, k.SecretRef.Name, k.SecretRef.Key}, "/")
	}
	if key, ok := KubeconfigConfigMap(hr); ok {
		in = "ConfigMap " + key.String()
	}
	return strings.Join([]string{in, namespace, name}, "|")
}

func holderKeys(obj client.Object) []string {
	if uid := obj.GetAnnotations()[opsv1alpha1.AnnotationHolder]; uid != "" {
		return []string{uid}
	}
	return nil
}

func uidKeys(obj client.Object) []string { return []string{string(obj.GetUID())} }

func activeKeys(obj client.Object) []string {
	op, ok := obj.(*opsv1alpha1.Operation)
	if !ok || IsOver(op) {
		return nil
	}
	return []string{"true"}
}

// IsOver reports whether nothing is left to do for an Operation: it has ended, and its
// finalizer is removed.
func IsOver(op *opsv1alpha1.Operation) bool {
	return op.Status.Phase.Final() && !controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer)
}
