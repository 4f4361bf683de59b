// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmChartTemplate describes the source object that the controller creates for a release.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spec.url) || (has(self.kind) && self.kind == 'OCIRepository')",message="spec.url must not be set unless kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || (has(self.spec.url) && size(self.spec.url) > 0)",message="spec.url must be set if kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="(has(self.kind) && self.kind == 'OCIRepository') || (has(self.spec.chart) && has(self.spec.sourceRef))",message="spec.chart and spec.sourceRef must be set unless kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || !has(self.spec.chart)",message="spec.chart must not be set if kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || !has(self.spec.sourceRef)",message="spec.sourceRef must not be set if kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || !has(self.spec.valuesFiles)",message="spec.valuesFiles must not be set if kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || !has(self.spec.ignoreMissingValuesFiles)",message="spec.ignoreMissingValuesFiles must not be set if kind is OCIRepository"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || !has(self.spec.version) || self.spec.version == '*'",message="spec.version must not be set if kind is OCIRepository: use spec.ref"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'OCIRepository' || !has(self.spec.reconcileStrategy) || self.spec.reconcileStrategy == 'ChartVersion'",message="spec.reconcileStrategy must not be set if kind is OCIRepository"
type HelmChartTemplate struct {
	// Kind of the source object: HelmChart or OCIRepository. Default: HelmChart.
	// +kubebuilder:validation:Enum=HelmChart;OCIRepository
	// +optional
	Kind string `json:"kind,omitempty"`

	// Labels and annotations for the source object.
	// +optional
	ObjectMeta *HelmChartTemplateObjectMeta `json:"metadata,omitempty"`

	// The chart, and where it comes from.
	// +required
	Spec HelmChartTemplateSpec `json:"spec"`
}

// HelmChartTemplateObjectMeta is the part of the metadata of the source object that users may
// choose.
type HelmChartTemplateObjectMeta struct {
	// Labels for the source object. The controller adds two of its own.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations for the source object.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// HelmChartTemplateSpec selects a chart and its source: with kind HelmChart by chart and sourceRef,
// with kind OCIRepository by url and ref.
type HelmChartTemplateSpec struct {
	// Name of the chart in a HelmRepository, or its path in a GitRepository or Bucket. For kind
	// HelmChart, which requires it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Chart string `json:"chart,omitempty"`

	// Version, or semver range of versions, of a chart in a HelmRepository. Ignored for other
	// sources. Default: the newest. For kind HelmChart.
	// +optional
	Version string `json:"version,omitempty"`

	// The source of the chart. For kind HelmChart, which requires it.
	// +optional
	SourceRef CrossNamespaceObjectReference `json:"sourceRef,omitzero"`

	// URL of the chart in an OCI registry, without a tag: oci://ghcr.io/org/charts/name. For kind
	// OCIRepository, which requires it.
	// +kubebuilder:validation:Pattern="^oci://.*$"
	// +optional
	URL string `json:"url,omitempty"`

	// Tag, semver range or digest of the chart. Default: the tag latest. For kind OCIRepository.
	// +optional
	Reference *OCIRepositoryRef `json:"ref,omitempty"`

	// The layer of the artifact that is the chart. Default: the first one. For kind OCIRepository.
	// +optional
	LayerSelector *OCILayerSelector `json:"layerSelector,omitempty"`

	// How source-controller authenticates to the registry. Default: generic. For kind OCIRepository.
	// +kubebuilder:validation:Enum=generic;aws;azure;gcp
	// +optional
	Provider string `json:"provider,omitempty"`

	// Secret of type kubernetes.io/dockerconfigjson with the credentials for the registry. For kind
	// OCIRepository.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`

	// ServiceAccount whose image pull secrets, or workload identity, source-controller uses. For
	// kind OCIRepository.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Secret with the certificate authority, or the client certificate, for the registry. For kind
	// OCIRepository.
	// +optional
	CertSecretRef *LocalObjectReference `json:"certSecretRef,omitempty"`

	// Secret with the proxy for the registry. For kind OCIRepository.
	// +optional
	ProxySecretRef *LocalObjectReference `json:"proxySecretRef,omitempty"`

	// Whether the registry is reached without TLS. Default false. For kind OCIRepository.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// Files of the artifact to leave out, in the format of .sourceignore. For kind OCIRepository.
	// +optional
	Ignore *string `json:"ignore,omitempty"`

	// Suspends the source: source-controller does not fetch it. Default false. For kind
	// OCIRepository.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Timeout of requests to the registry. Default 60s. For kind OCIRepository.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// The interval at which the source is checked for a newer chart. Default: the interval of the
	// HelmRelease.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// The changes that create a new chart artifact: ChartVersion, a new version in its Chart.yaml;
	// Revision, any new revision of the source. Default: ChartVersion. For kind HelmChart.
	// +optional
	ReconcileStrategy ReconcileStrategy `json:"reconcileStrategy,omitempty"`

	// Files of the source whose values replace the chart's values.yaml, merged in this order: a
	// later file overrides an earlier one. Paths are relative to the root of the source, or to the
	// chart if it comes from a HelmRepository. For kind HelmChart.
	// +optional
	ValuesFiles []string `json:"valuesFiles,omitempty"`

	// Whether files in valuesFiles may be missing. Default false: a missing file makes the chart
	// fail. For kind HelmChart.
	// +optional
	IgnoreMissingValuesFiles bool `json:"ignoreMissingValuesFiles,omitempty"`

	// Verification of the signature of a chart from an OCI HelmRepository or with kind
	// OCIRepository. Absent means no verification.
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

	// Secret, in the namespace of the source object, with the trusted public keys or certificates.
	// Absent means keyless verification, if the provider supports it.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`

	// Identities that may have signed the chart, for keyless verification with cosign. Absent means
	// any.
	// +optional
	MatchOIDCIdentity []OIDCIdentityMatch `json:"matchOIDCIdentity,omitempty"`

	// Secret with the file trusted_root.json of a self-hosted Sigstore. For kind OCIRepository.
	// +optional
	TrustedRootSecretRef *LocalObjectReference `json:"trustedRootSecretRef,omitempty"`
}

// OIDCIdentityMatch describes identities in the certificates of keyless signatures.
type OIDCIdentityMatch struct {
	// Regular expression for the OIDC issuer.
	// +required
	Issuer string `json:"issuer"`

	// Regular expression for the subject.
	// +required
	Subject string `json:"subject"`
}

// OCIRepositoryRef selects the version of a chart in a registry. A digest precedes a range, and a
// range precedes a tag.
type OCIRepositoryRef struct {
	// Digest of the artifact: sha256:<hex>.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Semver range of tags, of which the newest is used.
	// +optional
	SemVer string `json:"semver,omitempty"`

	// Regular expression for the tags that the range is applied to.
	// +optional
	SemverFilter string `json:"semverFilter,omitempty"`

	// Tag of the artifact. Default: latest.
	// +optional
	Tag string `json:"tag,omitempty"`
}

// OCILayerSelector selects a layer of an OCI artifact.
type OCILayerSelector struct {
	// Media type of the layer: the first one of this type is used.
	// +optional
	MediaType string `json:"mediaType,omitempty"`

	// How the layer becomes an artifact: extract, the default, packs its files again; copy takes it
	// as it is.
	// +kubebuilder:validation:Enum=extract;copy
	// +optional
	Operation string `json:"operation,omitempty"`
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
