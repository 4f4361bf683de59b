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

	// The chart and its source.
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

// HelmChartTemplateSpec selects a chart and its source.
type HelmChartTemplateSpec struct {
	// Name of the chart in a HelmRepository, or its path in a GitRepository or Bucket.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	Chart string `json:"chart"`

	// Version, or semver range of versions, of a chart in a HelmRepository. Ignored for other
	// sources. Default: the newest.
	// +kubebuilder:default:="*"
	// +optional
	Version string `json:"version,omitempty"`

	// The source of the chart.
	// +required
	SourceRef CrossNamespaceObjectReference `json:"sourceRef"`

	// The interval at which the source is checked for a newer chart. Default: the interval of the
	// HelmRelease.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// The changes that create a new chart artifact: ChartVersion, a new version in its Chart.yaml;
	// Revision, any new revision of the source.
	// +kubebuilder:default:=ChartVersion
	// +optional
	ReconcileStrategy ReconcileStrategy `json:"reconcileStrategy,omitempty"`

	// Files of the source whose values replace the chart's values.yaml, merged in this order: a
	// later file overrides an earlier one. Paths are relative to the root of the source, or to the
	// chart if it comes from a HelmRepository.
	// +optional
	ValuesFiles []string `json:"valuesFiles,omitempty"`

	// Whether files in valuesFiles may be missing. Default false: a missing file makes the chart
	// fail.
	// +optional
	IgnoreMissingValuesFiles bool `json:"ignoreMissingValuesFiles,omitempty"`

	// Verification of the signature of a chart from an OCI HelmRepository. Absent means no
	// verification.
	// +optional
	Verify *HelmChartTemplateVerification `json:"verify,omitempty"`
}

// HelmChartTemplateVerification is the verification of a chart's signature, which source-controller
// performs.
type HelmChartTemplateVerification struct {
	// Technology of the signature.
	// +kubebuilder:default:=cosign
	// +required
	Provider VerificationProvider `json:"provider"`

	// Secret, in the namespace of the HelmChart, with the trusted public keys or certificates.
	// Absent means keyless verification, if the provider supports it.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
}

// ReconcileStrategy selects the changes that create a new chart artifact.
//
// +kubebuilder:validation:Enum=ChartVersion;Revision
type ReconcileStrategy string

const (
	// ReconcileStrategyChartVersion creates a new artifact for a new version in Chart.yaml. The
	// default.
	ReconcileStrategyChartVersion ReconcileStrategy = "ChartVersion"

	// ReconcileStrategyRevision creates a new artifact for every new revision of the source.
	ReconcileStrategyRevision ReconcileStrategy = "Revision"
)

// VerificationProvider is a technology to sign OCI artifacts.
//
// +kubebuilder:validation:Enum=cosign;notation
type VerificationProvider string

const (
	// VerificationCosign verifies signatures made with cosign. The default.
	VerificationCosign VerificationProvider = "cosign"

	// VerificationNotation verifies signatures made with notation.
	VerificationNotation VerificationProvider = "notation"
)

// CrossNamespaceObjectReference references a source that a HelmChart is built from.
type CrossNamespaceObjectReference struct {
	// API version of the source. It is informative only: the controller uses a fixed version.
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

	// Namespace of the source and of the HelmChart. Default: the namespace of the HelmRelease.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// CrossNamespaceSourceReference references a source whose artifact is itself the chart.
type CrossNamespaceSourceReference struct {
	// API version of the source. It is informative only: the controller uses a fixed version.
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
