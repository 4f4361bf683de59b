// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"

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
	// IndexFiles is by the sources that values come from: "<kind>", and "<kind>/<namespace>/<name>".
	IndexFiles = ".metadata.files"
	// IndexConfigMap and IndexSecret are by the objects with values, and with the kubeconfig:
	// "<namespace>/<name>".
	IndexConfigMap = ".metadata.configMap"
	IndexSecret    = ".metadata.secret"
	// IndexDependency is by the HelmReleases that spec.dependsOn names: "<namespace>/<name>".
	IndexDependency = ".metadata.dependsOn"
	// IndexRelease is by the Helm release that the spec requests: inputs.RequestedKey.
	IndexRelease = ".spec.release"
	// IndexHistory is by the Helm releases that the spec requests or the history contains:
	// inputs.HistoryKeys.
	IndexHistory = ".status.history.release"
	// IndexHolder is by the UID of the Operation that the annotation names as the holder.
	IndexHolder = ".metadata.annotations.holder"
	// IndexUID is by UID, of HelmReleases and Operations.
	IndexUID = ".metadata.uid"
)

// IndexActive contains the Operations that are not over, under the key "true". Those that have ended
// and keep Jobs elsewhere are not in it.
const IndexActive = ".status.active"

// IndexSkips contains the Operations that let an upgrade leave out a hook, by the name of the target.
const IndexSkips = ".spec.parameters.skipInUpgrade"

// HelmReleaseIndexes returns the indexes of HelmReleases by name.
func HelmReleaseIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		IndexSource:     sourceKeys,
		IndexFiles:      fileKeys,
		IndexConfigMap:  configKeys(helmv2.KindConfigMap),
		IndexSecret:     configKeys(helmv2.KindSecret),
		IndexDependency: dependencyKeys,
		IndexRelease:    releaseKeys,
		IndexHistory:    historyKeys,
		IndexHolder:     holderKeys,
		IndexUID:        uidKeys,
	}
}

// OperationIndexes returns the indexes of Operations by name.
func OperationIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{IndexUID: uidKeys, IndexActive: activeKeys, IndexSkips: skipKeys}
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

func fileKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	var keys []string
	for _, source := range inputs.FileSources(hr) {
		keys = append(keys, source.Kind, source.String())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
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
		if key, ok := inputs.KubeconfigSecret(hr); ok && kind == helmv2.KindSecret {
			keys = append(keys, key.String())
		}
		if key, ok := inputs.KubeconfigConfigMap(hr); ok && kind == helmv2.KindConfigMap {
			keys = append(keys, key.String())
		}
		return keys
	}
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

func releaseKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	return []string{inputs.RequestedKey(hr)}
}

func historyKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	return inputs.HistoryKeys(hr)
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
	if !ok || IsOver(op) || op.Status.Phase.Final() && op.Status.Placement != nil {
		return nil
	}
	return []string{"true"}
}

func skipKeys(obj client.Object) []string {
	if op, ok := obj.(*opsv1alpha1.Operation); ok && op.Spec.Parameters.Skips() {
		return []string{op.Spec.TargetRef.Name}
	}
	return nil
}

// IsOver reports whether nothing is left to do for an Operation: it has ended, and its
// finalizer is removed.
func IsOver(op *opsv1alpha1.Operation) bool {
	return op.Status.Phase.Final() && !controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer)
}
