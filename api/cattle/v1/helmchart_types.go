// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// HelmChart installs one chart with one set of values as one Helm release.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hc
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Repo",type=string,JSONPath=`.spec.repo`
// +kubebuilder:printcolumn:name="Chart",type=string,JSONPath=`.spec.chart`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="TargetNamespace",type=string,JSONPath=`.spec.targetNamespace`
// +kubebuilder:printcolumn:name="Bootstrap",type=boolean,JSONPath=`.spec.bootstrap`
// +kubebuilder:printcolumn:name="Failed",type=string,JSONPath=`.status.conditions[?(@.type=='Failed')].status`
// +kubebuilder:printcolumn:name="Job",type=string,JSONPath=`.status.jobName`,priority=10
type HelmChart struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The chart, its values, and how it is installed.
	Spec HelmChartSpec `json:"spec,omitempty"`

	// The observed state.
	Status HelmChartStatus `json:"status,omitempty"`
}

// HelmChartList is a list of HelmCharts.
//
// +kubebuilder:object:root=true
type HelmChartList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The HelmCharts.
	Items []HelmChart `json:"items"`
}

// HelmChartSpec is the desired state of a HelmChart.
type HelmChartSpec struct {
	// Namespace of the release. Default: the namespace of the HelmChart.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// Creates the target namespace if it does not exist. Default false.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`

	// Name of the chart in the repository, oci:// URL of a chart, or URL of an archive.
	// +optional
	Chart string `json:"chart,omitempty"`

	// Version of the chart, or range of versions. Ignored for the URL of an archive and for
	// chartContent. Default: the newest.
	// +optional
	Version string `json:"version,omitempty"`

	// URL of a chart repository.
	// +optional
	Repo string `json:"repo,omitempty"`

	// Certificates, in PEM, of the authorities that sign the certificate of the repository.
	// +optional
	RepoCA string `json:"repoCA,omitempty"`

	// ConfigMap whose keys have such certificates.
	// +optional
	RepoCAConfigMap *LocalObjectReference `json:"repoCAConfigMap,omitempty"`

	// Values by path, in the notation of Helm's --set. They override all other values.
	// +optional
	Set map[string]intstr.IntOrString `json:"set,omitempty"`

	// Values of the chart. They override valuesContent.
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Values of the chart, as the text of a YAML map.
	// +optional
	ValuesContent string `json:"valuesContent,omitempty"`

	// Secrets with values of the chart. They override values.
	// +optional
	ValuesSecrets []SecretSpec `json:"valuesSecrets,omitempty"`

	// Version of Helm. Only v3 is supported, which is the default.
	// +optional
	HelmVersion string `json:"helmVersion,omitempty"`

	// Has no effect: no Job runs.
	// +optional
	Bootstrap bool `json:"bootstrap,omitempty"`

	// Adopts existing objects without the ownership metadata of this release. Default false.
	// +optional
	TakeOwnership bool `json:"takeOwnership,omitempty"`

	// Whether to use server-side apply. auto uses it for an install, and for an upgrade if the release
	// was installed with it. Default auto.
	// +optional
	ServerSide ServerSide `json:"serverSide,omitempty"`

	// Takes fields of other field managers with server-side apply. Pintle always does.
	// +optional
	ForceConflicts bool `json:"forceConflicts,omitempty"`

	// Archive of the chart, in base64. It overrides chart and version.
	// +optional
	ChartContent string `json:"chartContent,omitempty"`

	// Has no effect: no Job runs.
	// +optional
	JobImage string `json:"jobImage,omitempty"`

	// Number of retries. Default 1000.
	// +optional
	BackOffLimit *int32 `json:"backOffLimit,omitempty"`

	// Timeout of a Helm operation. Default 5m.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// What follows a failed install or upgrade: reinstall uninstalls the release and installs it anew,
	// abort leaves it failed, and retry tries again after a change. Default reinstall.
	// +kubebuilder:default=reinstall
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// Secret of type kubernetes.io/basic-auth with the credentials for the repository.
	// +optional
	AuthSecret *LocalObjectReference `json:"authSecret,omitempty"`

	// Sends the credentials to other hosts as well. Default false.
	// +optional
	AuthPassCredentials bool `json:"authPassCredentials,omitempty"`

	// Does not verify certificates of the repository. Pintle refuses it.
	// +optional
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify,omitempty"`

	// Connects to a registry without TLS. Default false.
	// +optional
	PlainHTTP bool `json:"plainHTTP,omitempty"`

	// Secret of type kubernetes.io/dockerconfigjson with the credentials for a registry.
	// +optional
	DockerRegistrySecret *LocalObjectReference `json:"dockerRegistrySecret,omitempty"`

	// Has no effect: no Job runs.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	PodSecurityContext *apiextensionsv1.JSON `json:"podSecurityContext,omitempty"`

	// Has no effect: no Job runs.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	SecurityContext *apiextensionsv1.JSON `json:"securityContext,omitempty"`

	// Where Helm stores the release. Pintle supports secret only, which is the default.
	// +kubebuilder:default=secret
	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self == oldSelf.value()",message="driver is immutable after creation",optionalOldSelf=true
	// +optional
	Driver Driver `json:"driver,omitempty"`
}

// LocalObjectReference references an object in the namespace of the HelmChart.
type LocalObjectReference struct {
	// Name of the object.
	// +optional
	Name string `json:"name,omitempty"`
}

// SecretSpec references values in a Secret in the namespace of the HelmChart.
type SecretSpec struct {
	// Name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`

	// Keys of the Secret, each with the text of a YAML map. Without keys the Secret is not used.
	// +optional
	Keys []string `json:"keys,omitempty"`

	// Lets the Secret be missing, and does nothing when only the Secret changes. Default false.
	// +optional
	IgnoreUpdates bool `json:"ignoreUpdates,omitempty"`
}

// FailurePolicy is what follows a failed install or upgrade.
//
// +kubebuilder:validation:Enum=abort;reinstall;retry
type FailurePolicy string

// The values of FailurePolicy.
const (
	FailurePolicyAbort     FailurePolicy = "abort"
	FailurePolicyReinstall FailurePolicy = "reinstall"
	FailurePolicyRetry     FailurePolicy = "retry"
)

// ServerSide selects whether to use server-side apply.
//
// +kubebuilder:validation:Enum="true";"false";auto
type ServerSide string

// The values of ServerSide.
const (
	ServerSideTrue  ServerSide = "true"
	ServerSideFalse ServerSide = "false"
	ServerSideAuto  ServerSide = "auto"
)

// Driver is where Helm stores a release.
//
// +kubebuilder:validation:Enum=secret;configmap
type Driver string

// The values of Driver.
const (
	DriverSecret    Driver = "secret"
	DriverConfigMap Driver = "configmap"
)

// HelmChartStatus is the observed state of a HelmChart.
type HelmChartStatus struct {
	// Name of the Job. Pintle leaves it empty.
	// +optional
	JobName string `json:"jobName,omitempty"`

	// The conditions.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []HelmChartCondition `json:"conditions,omitempty"`
}

// HelmChartCondition is a condition without a time.
type HelmChartCondition struct {
	// Type of the condition.
	// +required
	Type string `json:"type"`

	// True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status"`

	// Reason of the status.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// HelmChartConfig adds to the HelmChart of the same name and namespace, which others manage.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=hcc
// +kubebuilder:storageversion
type HelmChartConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is added.
	Spec HelmChartConfigSpec `json:"spec,omitempty"`
}

// HelmChartConfigList is a list of HelmChartConfigs.
//
// +kubebuilder:object:root=true
type HelmChartConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The HelmChartConfigs.
	Items []HelmChartConfig `json:"items"`
}

// HelmChartConfigSpec has values that override the values of the HelmChart except for set, and other
// fields that override the fields of the HelmChart.
type HelmChartConfigSpec struct {
	// Values of the chart. They override valuesContent.
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Values of the chart, as the text of a YAML map.
	// +optional
	ValuesContent string `json:"valuesContent,omitempty"`

	// Secrets with values of the chart. They override values.
	// +optional
	ValuesSecrets []SecretSpec `json:"valuesSecrets,omitempty"`

	// What follows a failed install or upgrade. Default reinstall, which overrides the HelmChart too.
	// +kubebuilder:default=reinstall
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// Whether to use server-side apply. Absent leaves it to the HelmChart.
	// +optional
	ServerSide ServerSide `json:"serverSide,omitempty"`

	// Takes fields of other field managers with server-side apply. Pintle always does.
	// +optional
	ForceConflicts *bool `json:"forceConflicts,omitempty"`
}
