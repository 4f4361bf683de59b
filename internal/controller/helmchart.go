// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"strings"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
	chart := helmChart(hr)
	applied, err := r.helmChartApplied(ctx, chart)
	if err == nil && !applied {
		err = r.applyHelmChart(ctx, chart)
	}
	if err != nil {
		return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not apply HelmChart '%s'", name)
	}
	hr.Status.HelmChart = name
	return nil
}

// helmChartApplied reports whether the cache shows the HelmChart as it should
// be, which saves applying it on every visit.
func (r *HelmReleaseReconciler) helmChartApplied(ctx context.Context, want *sourcev1.HelmChart) (bool, error) {
	live := &sourcev1.HelmChart{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	// People may suspend a HelmChart, and that is theirs.
	live.Spec.Suspend = want.Spec.Suspend
	return covers(live.Labels, want.Labels) && covers(live.Annotations, want.Annotations) &&
		equality.Semantic.DeepEqual(live.Spec, want.Spec), nil
}

// applyHelmChart applies what we have an opinion on and nothing else.
func (r *HelmReleaseReconciler) applyHelmChart(ctx context.Context, chart *sourcev1.HelmChart) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(chart)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership)
}

func covers(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// helmChart describes the HelmChart of a HelmRelease.
func helmChart(hr *helmv2.HelmRelease) *sourcev1.HelmChart {
	key, tmpl := desired.HelmChartKey(hr), hr.Spec.Chart
	labels := map[string]string{}
	var annotations map[string]string
	if tmpl.ObjectMeta != nil {
		annotations = tmpl.ObjectMeta.Annotations
		maps.Copy(labels, tmpl.ObjectMeta.Labels)
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
	return chart
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
