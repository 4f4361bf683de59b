// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmRelease installs one chart with one set of values as one Helm release, and keeps the release
// in sync with it.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=hr,categories=all;fluxcd;fluxcd-appliers
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description=""
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="",priority=1
// +kubebuilder:printcolumn:name="Revision",type="integer",JSONPath=".status.history[0].version",description="",priority=1
// +kubebuilder:printcolumn:name="Chart",type="string",JSONPath=".status.history[0].chartName",description="",priority=1
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.history[0].chartVersion",description="",priority=1
// +kubebuilder:printcolumn:name="Suspended",type="boolean",JSONPath=".spec.suspend",description="",priority=1
// +kubebuilder:printcolumn:name="Suspended-By-Annotation",type="string",JSONPath=".status.conditions[?(@.type==\"Suspended\")].status",description="",priority=1
type HelmRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state of the release.
	Spec HelmReleaseSpec `json:"spec,omitempty"`

	// The observed state of the release. An observedGeneration of -1 means that no controller has
	// reconciled the object yet.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status HelmReleaseStatus `json:"status,omitempty"`
}

// HelmReleaseList is a list of HelmReleases.
//
// +kubebuilder:object:root=true
type HelmReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The HelmReleases.
	Items []HelmRelease `json:"items"`
}

// HelmReleaseSpec is the desired state of a Helm release: its chart and values, its cluster and
// namespaces, and how to install, upgrade, wait and remediate.
//
// +kubebuilder:validation:XValidation:rule="(has(self.chart) && !has(self.chartRef)) || (!has(self.chart) && has(self.chartRef))",message="either chart or chartRef must be set"
type HelmReleaseSpec struct {
	// Describes a HelmChart or OCIRepository that the controller creates and updates, and whose
	// artifact is installed. Set either this or chartRef.
	// +optional
	Chart *HelmChartTemplate `json:"chart,omitempty"`

	// References an existing source object whose artifact is the chart. Set either this or chart.
	// +optional
	ChartRef *CrossNamespaceSourceReference `json:"chartRef,omitempty"`

	// How long after a success the release is reconciled again, for example 10m. The controller
	// adds jitter, so that not all releases are reconciled at once.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +required
	Interval metav1.Duration `json:"interval"`

	// The cluster to install to. Absent means the cluster of this object.
	// +optional
	KubeConfig *KubeConfigReference `json:"kubeConfig,omitempty"`

	// Suspends the release while true: nothing is installed, upgraded or corrected, and deleting
	// this object does not uninstall the release. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Name of the Helm release. Default: the name of this object, preceded by targetNamespace and a
	// dash if that is set. A default longer than 53 characters is shortened and ends in a hash.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`

	// Namespace of those objects of the chart that set no namespace. Default: the namespace of this
	// object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// Namespace, on the target cluster, of the Secrets in which Helm stores its revisions. Default:
	// the namespace of this object, even if targetNamespace is set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	StorageNamespace string `json:"storageNamespace,omitempty"`

	// HelmReleases, and objects of other kinds, that have to be ready before this release is
	// installed or upgraded.
	// +optional
	DependsOn []DependencyReference `json:"dependsOn,omitempty"`

	// Timeout of each Kubernetes operation within a Helm action, including waiting and hooks. An
	// action may set its own. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Number of revisions that Helm keeps in its storage. 0 keeps all of them. Default 5.
	// +optional
	MaxHistory *int `json:"maxHistory,omitempty"`

	// ServiceAccount, in the namespace of this object, that Helm impersonates. Default: the
	// controller's --default-service-account. If that is empty too, Helm uses the identity of the
	// controller.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Whether one client with one set of discovered APIs is used for a whole reconciliation. Set it
	// to false for charts that add an API other than by CRDs, together with objects of that API.
	// Default true.
	// +optional
	PersistentClient *bool `json:"persistentClient,omitempty"`

	// Whether and how live objects are compared with the release. Absent means that they are not
	// compared.
	// +optional
	DriftDetection *DriftDetection `json:"driftDetection,omitempty"`

	// Settings of installs. Absent means all defaults.
	// +optional
	Install *Install `json:"install,omitempty"`

	// Settings of upgrades. Absent means all defaults.
	// +optional
	Upgrade *Upgrade `json:"upgrade,omitempty"`

	// Settings of the chart's tests. Absent means that tests are not run.
	// +optional
	Test *Test `json:"test,omitempty"`

	// Settings of rollbacks. Absent means all defaults. Whether to roll back is decided by
	// upgrade.remediation.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`

	// Settings of uninstalls. Absent means all defaults.
	// +optional
	Uninstall *Uninstall `json:"uninstall,omitempty"`

	// ConfigMaps, Secrets and files of sources with values, in this order. A later one overrides an
	// earlier one. The field values overrides all of them that set no targetPath. More than 256 are
	// refused.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`

	// Inline values for the chart.
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Changes to the rendered manifests before they are applied, in this order.
	// +optional
	PostRenderers []PostRenderer `json:"postRenderers,omitempty"`

	// How post-renderers treat hooks. nohooks leaves hooks unchanged. combined post-renders hooks
	// and other objects in one pass, separate in two. Default combined.
	// +optional
	PostRenderStrategy PostRenderStrategy `json:"postRenderStrategy,omitempty"`

	// Labels and annotations for every rendered object. They are set in the object's own metadata,
	// never in pod templates or selectors.
	// +optional
	CommonMetadata *CommonMetadata `json:"commonMetadata,omitempty"`

	// How to check whether applied objects are ready. Absent means the default strategy.
	// +optional
	WaitStrategy *WaitStrategy `json:"waitStrategy,omitempty"`

	// CEL expressions that check the readiness of objects of certain kinds, in place of the general
	// rules.
	// +optional
	HealthCheckExprs []CustomHealthCheck `json:"healthCheckExprs,omitempty"`
}

// HelmReleaseStatus is the observed state of a Helm release.
type HelmReleaseStatus struct {
	// Generation of the spec that was last reconciled to a final state: a success, a suspension, or
	// a failure that only a change can resolve. -1 means none.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions of the release: Ready, Reconciling, Stalled, Released, TestSuccess, Remediated,
	// Drifted.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The source object created from spec.chart: namespace/name of a HelmChart, or
	// OCIRepository/namespace/name. Empty with spec.chartRef.
	// +optional
	HelmChart string `json:"helmChart,omitempty"`

	// Namespace in which Helm's revisions are stored. Empty means that nothing was ever attempted,
	// or that the release has been uninstalled.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	StorageNamespace string `json:"storageNamespace,omitempty"`

	// Revisions that this object owns, newest first. It is truncated independently of Helm's own
	// history.
	// +optional
	History Snapshots `json:"history,omitempty"`

	// The objects of the newest revision.
	// +optional
	Inventory *ResourceInventory `json:"inventory,omitempty"`

	// Digest of spec.postRenderers of the newest revision that succeeded with them. Empty if there
	// were none.
	// +optional
	ObservedPostRenderersDigest string `json:"observedPostRenderersDigest,omitempty"`

	// Digest of spec.commonMetadata of the newest revision that succeeded with it. Empty if there
	// was none.
	// +optional
	ObservedCommonMetadataDigest string `json:"observedCommonMetadataDigest,omitempty"`

	// Generation of the spec of the last attempted action. 0 means that none was attempted.
	// +optional
	LastAttemptedGeneration int64 `json:"lastAttemptedGeneration,omitempty"`

	// Version of the chart of the last action. If the artifact's digest is tracked, a part of the
	// digest follows.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// OCI digest of the chart of the last action. Empty if its source has none.
	// +optional
	LastAttemptedRevisionDigest string `json:"lastAttemptedRevisionDigest,omitempty"`

	// Digest, as algorithm:hex, of the composed values of the last action.
	// +optional
	LastAttemptedConfigDigest string `json:"lastAttemptedConfigDigest,omitempty"`

	// Deprecated: written by old versions only. It is read once to compare values, then cleared.
	// +optional
	LastAttemptedValuesChecksum string `json:"lastAttemptedValuesChecksum,omitempty"`

	// Deprecated: written by old versions only. The newest revision is the first entry of history.
	// +optional
	LastReleaseRevision int `json:"lastReleaseRevision,omitempty"`

	// The last one of install and upgrade. Its remediation and strategy settings apply.
	// +kubebuilder:validation:Enum=install;upgrade
	// +optional
	LastAttemptedReleaseAction ReleaseAction `json:"lastAttemptedReleaseAction,omitempty"`

	// Duration of that install or upgrade, for example 12.3s. Absent until one has ended.
	// +optional
	LastAttemptedReleaseActionDuration *metav1.Duration `json:"lastAttemptedReleaseActionDuration,omitempty"`

	// Failed actions of any type since the counters were last reset.
	// +optional
	Failures int64 `json:"failures,omitempty"`

	// Failed installs since the counters were last reset; compared with
	// install.remediation.retries.
	// +optional
	InstallFailures int64 `json:"installFailures,omitempty"`

	// Failed upgrades since the counters were last reset; compared with
	// upgrade.remediation.retries.
	// +optional
	UpgradeFailures int64 `json:"upgradeFailures,omitempty"`

	// Last handled value of the reconcile.fluxcd.io/requestedAt annotation.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// Last handled value of the reconcile.fluxcd.io/forceAt annotation, whether it had an effect or
	// not.
	// +optional
	LastHandledForceAt string `json:"lastHandledForceAt,omitempty"`

	// Last handled value of the reconcile.fluxcd.io/resetAt annotation, whether it had an effect or
	// not.
	// +optional
	LastHandledResetAt string `json:"lastHandledResetAt,omitempty"`
}
