// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/desired"
	"github.com/pintle-dev/pintle/internal/release"
)

// ensureHelmChart makes the HelmChart that spec.chart stands for and removes the
// one it no longer stands for. It notes the name in hr's status, which the visit
// writes when it ends. There is no owner reference, which could not cross
// namespaces: labels say whose the object is.
func (r *HelmReleaseReconciler) ensureHelmChart(ctx context.Context, hr *helmv2.HelmRelease) error {
	var name string
	if hr.HasChartTemplate() {
		name = desired.HelmChartKey(hr).String()
	}
	if hr.Status.HelmChart != "" && hr.Status.HelmChart != name {
		if err := r.deleteHelmChart(ctx, hr); err != nil {
			return err
		}
	}
	if name == "" {
		return nil
	}
	chart, err := helmChart(hr)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "HelmChart '%s' cannot be described", name)
	}
	applied, err := r.helmChartApplied(ctx, chart)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not read HelmChart '%s'", name)
	}
	if !applied {
		if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(chart), fieldOwner, client.ForceOwnership); err != nil {
			return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not apply HelmChart '%s'", name)
		}
	}
	hr.Status.HelmChart = name
	return nil
}

// helmChartApplied reports whether the cache shows the HelmChart as it should
// be, which saves applying it on every visit.
func (r *HelmReleaseReconciler) helmChartApplied(ctx context.Context, want *unstructured.Unstructured) (bool, error) {
	live := &sourcev1.HelmChart{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	wanted := &sourcev1.HelmChart{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(want.Object, wanted); err != nil {
		return false, err
	}
	return covers(live.Labels, wanted.Labels) && covers(live.Annotations, wanted.Annotations) &&
		sameChartSpec(live.Spec, wanted.Spec), nil
}

func covers(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func sameChartSpec(a, b sourcev1.HelmChartSpec) bool {
	return fmt.Sprint(flat(a)) == fmt.Sprint(flat(b))
}

// flat writes a spec as a map, which prints with its keys in order.
func flat(spec sourcev1.HelmChartSpec) map[string]any {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return m
}

// helmChart describes the HelmChart of a HelmRelease.
func helmChart(hr *helmv2.HelmRelease) (*unstructured.Unstructured, error) {
	key, tmpl := desired.HelmChartKey(hr), hr.Spec.Chart
	labels := map[string]string{}
	var annotations map[string]string
	if tmpl.ObjectMeta != nil {
		annotations = tmpl.ObjectMeta.Annotations
		for k, v := range tmpl.ObjectMeta.Labels {
			labels[k] = v
		}
	}
	labels[helmv2.LabelName], labels[helmv2.LabelNamespace] = hr.Name, hr.Namespace
	chart := &sourcev1.HelmChart{
		TypeMeta: metav1.TypeMeta{
			APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.HelmChartKind,
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: key.Name, Namespace: key.Namespace, Labels: labels, Annotations: annotations,
		},
		Spec: sourcev1.HelmChartSpec{
			Chart:   tmpl.Spec.Chart,
			Version: tmpl.Spec.Version,
			SourceRef: sourcev1.LocalHelmChartSourceReference{
				Kind: tmpl.Spec.SourceRef.Kind, Name: tmpl.Spec.SourceRef.Name,
			},
			Interval:                 metav1.Duration{Duration: tmpl.GetInterval(hr.Spec.Interval.Duration)},
			ReconcileStrategy:        string(tmpl.Spec.ReconcileStrategy),
			ValuesFiles:              tmpl.Spec.ValuesFiles,
			IgnoreMissingValuesFiles: tmpl.Spec.IgnoreMissingValuesFiles,
		},
	}
	if v := tmpl.Spec.Verify; v != nil {
		chart.Spec.Verify = &sourcev1.HelmChartVerification{Provider: string(v.Provider)}
		if v.SecretRef != nil {
			chart.Spec.Verify.SecretRef = &fluxmeta.LocalObjectReference{Name: v.SecretRef.Name}
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(chart)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	// Neither is ours to claim.
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

// deleteHelmChart removes the HelmChart noted in hr's status and clears the note.
func (r *HelmReleaseReconciler) deleteHelmChart(ctx context.Context, hr *helmv2.HelmRelease) error {
	namespace, name, ok := strings.Cut(hr.Status.HelmChart, "/")
	if !ok {
		return nil
	}
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, chart)); err != nil {
		return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not delete HelmChart '%s'", hr.Status.HelmChart)
	}
	hr.Status.HelmChart = ""
	return nil
}
