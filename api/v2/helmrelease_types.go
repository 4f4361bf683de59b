// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmRelease asks for one chart, with one set of values, to be installed as one Helm release and kept that way.
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
type HelmRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What should be installed, and how.
	Spec HelmReleaseSpec `json:"spec,omitempty"`

	// What the controller last saw and did. An observedGeneration of -1 means that no controller has looked yet.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status HelmReleaseStatus `json:"status,omitempty"`
}

// HelmReleaseList is a page of HelmReleases.
//
// +kubebuilder:object:root=true
type HelmReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The HelmReleases of this page.
	Items []HelmRelease `json:"items"`
}

// HelmReleaseSpec says which chart to install, with which values, where, and how to act, wait and recover.
//
// +kubebuilder:validation:XValidation:rule="(has(self.chart) && !has(self.chartRef)) || (!has(self.chart) && has(self.chartRef))",message="either chart or chartRef must be set"
type HelmReleaseSpec struct {
	// Describes a HelmChart object that the controller creates and keeps, and whose artifact is installed. Set either
	// this or chartRef.
	// +optional
	Chart *HelmChartTemplate `json:"chart,omitempty"`

	// Names an existing source object whose artifact is the chart. Set either this or chart.
	// +optional
	ChartRef *CrossNamespaceSourceReference `json:"chartRef,omitempty"`

	// How long after a success the release is looked at again, for example 10m. The controller varies it slightly, so
	// that releases do not all wake at once.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +required
	Interval metav1.Duration `json:"interval"`

	// The cluster to install to, when it is not the one this object lives in. Absent means this cluster.
	// +optional
	KubeConfig *KubeConfigReference `json:"kubeConfig,omitempty"`

	// Leaves the release alone while true: nothing is installed, upgraded or corrected, and deleting this object does
	// not uninstall anything. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Name of the Helm release. Default: the name of this object, preceded by targetNamespace and a dash if that is
	// set; a default longer than 53 characters is shortened and ends in a hash.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`

	// Namespace that the chart's objects go to unless they name one. Default: the namespace of this object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// Namespace, on the target cluster, of the Secrets in which Helm records its revisions. Default: the namespace of
	// this object, whatever targetNamespace says.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	StorageNamespace string `json:"storageNamespace,omitempty"`

	// HelmReleases, and objects of other kinds, that have to be ready before this one is acted on.
	// +optional
	DependsOn []DependencyReference `json:"dependsOn,omitempty"`

	// Upper bound for each Kubernetes operation within a Helm action, waiting and hooks included; an action may set
	// its own. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// How many revisions Helm keeps in its storage. 0 keeps all of them. Default 5.
	// +optional
	MaxHistory *int `json:"maxHistory,omitempty"`

	// ServiceAccount, in the namespace of this object, as whom Helm acts. Default: the controller's
	// --default-service-account; if that is empty too, the controller acts as itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Whether one client, with what it learned of the cluster's API, serves a whole reconciliation. Set it to false
	// for charts that bring an API and objects of that API at once through other means than CRDs. Default true.
	// +optional
	PersistentClient *bool `json:"persistentClient,omitempty"`

	// Whether and how live objects are compared with the release. Absent means that they are not.
	// +optional
	DriftDetection *DriftDetection `json:"driftDetection,omitempty"`

	// How to install. Absent means every default.
	// +optional
	Install *Install `json:"install,omitempty"`

	// How to upgrade. Absent means every default.
	// +optional
	Upgrade *Upgrade `json:"upgrade,omitempty"`

	// Whether and how to run the chart's tests. Absent means that they are not run.
	// +optional
	Test *Test `json:"test,omitempty"`

	// How to roll back. Absent means every default. Whether to roll back is decided by upgrade.remediation.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`

	// How to uninstall. Absent means every default.
	// +optional
	Uninstall *Uninstall `json:"uninstall,omitempty"`

	// ConfigMaps and Secrets to take values from, in this order: a later one wins over an earlier one, and values wins
	// over all that name no targetPath.
	// +optional
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`

	// Values for the chart, written in place.
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Changes to the rendered manifests before they are applied, in this order.
	// +optional
	PostRenderers []PostRenderer `json:"postRenderers,omitempty"`

	// What becomes of hooks when manifests are post-rendered: nohooks leaves hooks as the chart rendered them,
	// combined treats hooks and other objects in one pass, separate treats them in two. Default combined.
	// +optional
	PostRenderStrategy PostRenderStrategy `json:"postRenderStrategy,omitempty"`

	// Labels and annotations for every rendered object. They go to the object's own metadata, never into pod
	// templates or selectors.
	// +optional
	CommonMetadata *CommonMetadata `json:"commonMetadata,omitempty"`

	// How to find out that applied objects have become ready. Absent means the default strategy.
	// +optional
	WaitStrategy *WaitStrategy `json:"waitStrategy,omitempty"`

	// CEL expressions that tell whether objects of certain kinds are ready, instead of the general rules.
	// +optional
	HealthCheckExprs []CustomHealthCheck `json:"healthCheckExprs,omitempty"`
}

// HelmReleaseStatus is what the controller last saw and did.
type HelmReleaseStatus struct {
	// Generation of the spec that was last dealt with to an end: a success, a suspension, or a state that only a
	// change can end. -1 means none.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Where the release stands: Ready, Reconciling, Stalled, Released, TestSuccess, Remediated, Drifted.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Namespace and name, as namespace/name, of the HelmChart created from spec.chart. Empty with spec.chartRef.
	// +optional
	HelmChart string `json:"helmChart,omitempty"`

	// Namespace in which Helm's revisions really are. Empty means that nothing was ever attempted, or that the
	// release has been uninstalled.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	StorageNamespace string `json:"storageNamespace,omitempty"`

	// Revisions this object is answerable for, newest first. It is shortened independently of Helm's own history.
	// +optional
	History Snapshots `json:"history,omitempty"`

	// The objects of the newest revision.
	// +optional
	Inventory *ResourceInventory `json:"inventory,omitempty"`

	// Digest of spec.postRenderers as last seen. Empty if there were none.
	// +optional
	ObservedPostRenderersDigest string `json:"observedPostRenderersDigest,omitempty"`

	// Digest of spec.commonMetadata as last seen. Empty if there was none.
	// +optional
	ObservedCommonMetadataDigest string `json:"observedCommonMetadataDigest,omitempty"`

	// Generation of the spec that the last action was made for. 0 means that none was made.
	// +optional
	LastAttemptedGeneration int64 `json:"lastAttemptedGeneration,omitempty"`

	// Version of the chart of the last action, followed by a part of the artifact's digest if that is being tracked.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// OCI digest of the chart of the last action. Empty if its source has none.
	// +optional
	LastAttemptedRevisionDigest string `json:"lastAttemptedRevisionDigest,omitempty"`

	// Digest, as algorithm:hex, of the composed values of the last action.
	// +optional
	LastAttemptedConfigDigest string `json:"lastAttemptedConfigDigest,omitempty"`

	// Deprecated: written by old versions only, read once to recognise their values, then emptied.
	// +optional
	LastAttemptedValuesChecksum string `json:"lastAttemptedValuesChecksum,omitempty"`

	// Deprecated: written by old versions only. The newest revision is the first entry of history.
	// +optional
	LastReleaseRevision int `json:"lastReleaseRevision,omitempty"`

	// Which of install and upgrade came last. Its remediation and strategy settings are the ones in force.
	// +kubebuilder:validation:Enum=install;upgrade
	// +optional
	LastAttemptedReleaseAction ReleaseAction `json:"lastAttemptedReleaseAction,omitempty"`

	// How long that install or upgrade took, for example 12.3s. Absent until one has ended.
	// +optional
	LastAttemptedReleaseActionDuration *metav1.Duration `json:"lastAttemptedReleaseActionDuration,omitempty"`

	// Failed actions of any type since the counters were last reset.
	// +optional
	Failures int64 `json:"failures,omitempty"`

	// Failed installs since the counters were last reset; compared with install.remediation.retries.
	// +optional
	InstallFailures int64 `json:"installFailures,omitempty"`

	// Failed upgrades since the counters were last reset; compared with upgrade.remediation.retries.
	// +optional
	UpgradeFailures int64 `json:"upgradeFailures,omitempty"`

	// Value of the reconcile.fluxcd.io/requestedAt annotation that was last acted upon.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// Value of the reconcile.fluxcd.io/forceAt annotation that was last considered, honoured or not.
	// +optional
	LastHandledForceAt string `json:"lastHandledForceAt,omitempty"`

	// Value of the reconcile.fluxcd.io/resetAt annotation that was last considered, honoured or not.
	// +optional
	LastHandledResetAt string `json:"lastHandledResetAt,omitempty"`
}
