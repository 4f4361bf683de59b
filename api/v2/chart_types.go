// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmChartTemplate describes the HelmChart object that the controller creates for a release.
type HelmChartTemplate struct {
	// Labels and annotations for the HelmChart.
	// +optional
	ObjectMeta *HelmChartTemplateObjectMeta `json:"metadata,omitempty"`

	// Which chart, from where.
	// +required
	Spec HelmChartTemplateSpec `json:"spec"`
}

// HelmChartTemplateObjectMeta is the part of the metadata of the HelmChart that users may choose.
type HelmChartTemplateObjectMeta struct {
	// Labels for the HelmChart. The controller adds two of its own.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations for the HelmChart.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// HelmChartTemplateSpec says which chart to take, and from which source.
type HelmChartTemplateSpec struct {
	// Name of the chart in a HelmRepository, or its path in a GitRepository or Bucket.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	Chart string `json:"chart"`

	// Version, or semver range of versions, to take from a HelmRepository. Without meaning for other sources.
	// Default: the newest.
	// +kubebuilder:default:="*"
	// +optional
	Version string `json:"version,omitempty"`

	// The source that has the chart.
	// +required
	SourceRef CrossNamespaceObjectReference `json:"sourceRef"`

	// How often the source is asked for a newer chart. Default: the interval of the release.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// What makes a new chart: ChartVersion, a new version in its Chart.yaml; Revision, any new revision of the
	// source.
	// +kubebuilder:default:=ChartVersion
	// +optional
	ReconcileStrategy ReconcileStrategy `json:"reconcileStrategy,omitempty"`

	// Files of the source whose values replace the chart's own values.yaml, merged in this order: the last one wins.
	// Paths are relative to the root of the source, or to the chart if it comes from a HelmRepository.
	// +optional
	ValuesFiles []string `json:"valuesFiles,omitempty"`

	// Whether valuesFiles may name files that do not exist. Default false: they make the chart fail.
	// +optional
	IgnoreMissingValuesFiles bool `json:"ignoreMissingValuesFiles,omitempty"`

	// How to check the signature of a chart that comes from an OCI HelmRepository. Absent means no check.
	// +optional
	Verify *HelmChartTemplateVerification `json:"verify,omitempty"`
}

// HelmChartTemplateVerification says how the signature of a chart is checked. The source-controller does it.
type HelmChartTemplateVerification struct {
	// Technology of the signature.
	// +kubebuilder:default:=cosign
	// +required
	Provider VerificationProvider `json:"provider"`

	// Secret, beside the HelmChart, with the public keys or certificates to trust. Absent means keyless
	// verification, where the provider has it.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
}

// ReconcileStrategy says what counts as a new chart.
//
// +kubebuilder:validation:Enum=ChartVersion;Revision
type ReconcileStrategy string

const (
	// ReconcileStrategyChartVersion makes a new chart of a new version in Chart.yaml. The default.
	ReconcileStrategyChartVersion ReconcileStrategy = "ChartVersion"

	// ReconcileStrategyRevision makes a new chart of every new revision of the source.
	ReconcileStrategyRevision ReconcileStrategy = "Revision"
)

// VerificationProvider names a way to sign OCI artifacts.
//
// +kubebuilder:validation:Enum=cosign;notation
type VerificationProvider string

const (
	// VerificationCosign checks signatures made with cosign. The default.
	VerificationCosign VerificationProvider = "cosign"

	// VerificationNotation checks signatures made with notation.
	VerificationNotation VerificationProvider = "notation"
)

// CrossNamespaceObjectReference names a source from which a HelmChart is made.
type CrossNamespaceObjectReference struct {
	// API version of the source. Informative: the controller uses the version it knows.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the source.
	// +kubebuilder:validation:Enum=HelmRepository;GitRepository;Bucket
	// +required
	Kind string `json:"kind"`

	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Namespace of the source, in which the HelmChart is created too. Default: the namespace of the HelmRelease.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// CrossNamespaceSourceReference names a source whose artifact is itself the chart.
type CrossNamespaceSourceReference struct {
	// API version of the source. Informative: the controller uses the version it knows.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the source.
	// +kubebuilder:validation:Enum=OCIRepository;HelmChart;ExternalArtifact
	// +required
	Kind string `json:"kind"`

	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Namespace of the source. Default: the namespace of the HelmRelease.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
