// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Install says how to install a chart.
type Install struct {
	// Upper bound for each Kubernetes operation of an install. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// What to do after a failed install: clean up within a budget, or try again. Default RemediateOnFailure.
	// +optional
	Strategy *InstallStrategy `json:"strategy,omitempty"`

	// How to clean up after a failed install. Absent means that the failed release stays.
	// +optional
	Remediation *InstallRemediation `json:"remediation,omitempty"`

	// Refuses to take over existing objects that do not carry Helm's marks of this release. Default false: they are
	// taken over.
	// +optional
	DisableTakeOwnership bool `json:"disableTakeOwnership,omitempty"`

	// Does not wait for the objects to become ready. Default false.
	// +optional
	DisableWait bool `json:"disableWait,omitempty"`

	// When waiting, does not wait for Jobs to complete. Default false.
	// +optional
	DisableWaitForJobs bool `json:"disableWaitForJobs,omitempty"`

	// Does not run the chart's install hooks. Default false.
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`

	// Does not check the rendered objects against the cluster's OpenAPI schema. Default false.
	// +optional
	DisableOpenAPIValidation bool `json:"disableOpenAPIValidation,omitempty"`

	// Does not check the values against the chart's values.schema.json. Default false.
	// +optional
	DisableSchemaValidation bool `json:"disableSchemaValidation,omitempty"`

	// Reuses the name of a release that was uninstalled with its history kept. Default false.
	// +optional
	Replace bool `json:"replace,omitempty"`

	// Deprecated: has no effect. Use crds.
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`

	// What to do with the chart's crds directory. Default Create.
	// +optional
	CRDs CRDsPolicy `json:"crds,omitempty"`

	// Creates the target namespace if it does not exist. Only meaningful with spec.targetNamespace, and Helm does not
	// remove the namespace again. Default false.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`

	// Whether the API server merges the objects (server-side apply) rather than the client. Default true.
	// +optional
	ServerSideApply *bool `json:"serverSideApply,omitempty"`
}

// InstallStrategy says how to go on after a failed install.
//
// +kubebuilder:validation:XValidation:rule="!has(self.retryInterval) || self.name != 'RemediateOnFailure'",message="retryInterval must not be set when name is RemediateOnFailure"
type InstallStrategy struct {
	// RemediateOnFailure follows remediation. RetryOnFailure leaves the failed release and upgrades it, again and
	// again, without a budget.
	// +required
	Name ActionStrategyName `json:"name"`

	// With RetryOnFailure, how long to pause between attempts. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
}

// InstallRemediation says how to clean up after a failed install, which is by uninstalling.
type InstallRemediation struct {
	// How many more installs to try after the first one failed. A negative number sets no limit. Default 0.
	// +optional
	Retries int `json:"retries,omitempty"`

	// Whether a failed test leaves the install a success. Default: spec.test.ignoreFailures.
	// +optional
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`

	// Whether to clean up after the last permitted attempt too. Default false: what is left can be inspected.
	// +optional
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`
}

// Upgrade says how to upgrade a release.
type Upgrade struct {
	// Upper bound for each Kubernetes operation of an upgrade. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// What to do after a failed upgrade: clean up within a budget, or try again. Default RemediateOnFailure.
	// +optional
	Strategy *UpgradeStrategy `json:"strategy,omitempty"`

	// How to clean up after a failed upgrade. Absent means that the failed revision stays.
	// +optional
	Remediation *UpgradeRemediation `json:"remediation,omitempty"`

	// Refuses to take over existing objects that do not carry Helm's marks of this release. Default false: they are
	// taken over.
	// +optional
	DisableTakeOwnership bool `json:"disableTakeOwnership,omitempty"`

	// Does not wait for the objects to become ready. Default false.
	// +optional
	DisableWait bool `json:"disableWait,omitempty"`

	// When waiting, does not wait for Jobs to complete. Default false.
	// +optional
	DisableWaitForJobs bool `json:"disableWaitForJobs,omitempty"`

	// Does not run the chart's upgrade hooks. Default false.
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`

	// Does not check the rendered objects against the cluster's OpenAPI schema. Default false.
	// +optional
	DisableOpenAPIValidation bool `json:"disableOpenAPIValidation,omitempty"`

	// Does not check the values against the chart's values.schema.json. Default false.
	// +optional
	DisableSchemaValidation bool `json:"disableSchemaValidation,omitempty"`

	// Replaces objects that cannot be patched, deleting and creating them if need be. Without effect under
	// server-side apply. Default false.
	// +optional
	Force bool `json:"force,omitempty"`

	// Starts from the values of the previous revision and lays the composed values over them. Default false.
	// +optional
	PreserveValues bool `json:"preserveValues,omitempty"`

	// Deletes the objects that a failed upgrade newly created. Default false.
	// +optional
	CleanupOnFail bool `json:"cleanupOnFail,omitempty"`

	// What to do with the chart's crds directory. Default Create.
	// +optional
	CRDs CRDsPolicy `json:"crds,omitempty"`

	// Whether the API server merges the objects (server-side apply) rather than the client. Default auto.
	// +optional
	ServerSideApply ServerSideApplyMode `json:"serverSideApply,omitempty"`

	// What to do when the chart has another name than the one installed: InPlaceUpdate upgrades, Reinstall uninstalls
	// and installs. Default Reinstall.
	// +optional
	ChartNameChangeStrategy ChartNameChangeStrategy `json:"chartNameChangeStrategy,omitempty"`
}

// UpgradeStrategy says how to go on after a failed upgrade.
//
// +kubebuilder:validation:XValidation:rule="!has(self.retryInterval) || self.name == 'RetryOnFailure'",message="retryInterval may only be set when name is RetryOnFailure"
type UpgradeStrategy struct {
	// RemediateOnFailure follows remediation. RetryOnFailure leaves the failed revision and upgrades again, without a
	// budget.
	// +required
	Name ActionStrategyName `json:"name"`

	// With RetryOnFailure, how long to pause between attempts. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
}

// UpgradeRemediation says how to clean up after a failed upgrade.
type UpgradeRemediation struct {
	// How many more upgrades to try after the first one failed. A negative number sets no limit. Default 0.
	// +optional
	Retries int `json:"retries,omitempty"`

	// Whether a failed test leaves the upgrade a success. Default: spec.test.ignoreFailures.
	// +optional
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`

	// Whether to clean up after the last permitted attempt too. Default: true if retries is above 0, else false.
	// +optional
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`

	// How to clean up: rollback to the last revision that worked, or uninstall. Default rollback.
	// +optional
	Strategy RemediationStrategy `json:"strategy,omitempty"`
}

// Test says whether and how to run the chart's tests after an install or upgrade.
type Test struct {
	// Runs the tests. Default false.
	// +optional
	Enable bool `json:"enable,omitempty"`

	// Upper bound for each test. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Whether a failed test leaves the release ready. The remediation of an action may say otherwise for itself.
	// Default false.
	// +optional
	IgnoreFailures bool `json:"ignoreFailures,omitempty"`

	// Which tests to run. Empty means all of them.
	// +optional
	Filters []Filter `json:"filters,omitempty"`
}

// Filter picks a test, or leaves one out.
type Filter struct {
	// Name of the test.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Leaves the test out rather than picking it. Default false.
	// +optional
	Exclude bool `json:"exclude,omitempty"`
}

// Rollback says how to go back to an earlier revision.
type Rollback struct {
	// Upper bound for each Kubernetes operation of a rollback. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Does not wait for the objects to become ready. Default false.
	// +optional
	DisableWait bool `json:"disableWait,omitempty"`

	// When waiting, does not wait for Jobs to complete. Default false.
	// +optional
	DisableWaitForJobs bool `json:"disableWaitForJobs,omitempty"`

	// Does not run the chart's rollback hooks. Default false.
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`

	// Deprecated: has no effect besides a warning in the log.
	// +optional
	Recreate bool `json:"recreate,omitempty"`

	// Replaces objects that cannot be patched, deleting and creating them if need be. Without effect under
	// server-side apply. Default false.
	// +optional
	Force bool `json:"force,omitempty"`

	// Deletes the objects that a failed rollback newly created. Default false.
	// +optional
	CleanupOnFail bool `json:"cleanupOnFail,omitempty"`

	// Whether the API server merges the objects (server-side apply) rather than the client. Default auto.
	// +optional
	ServerSideApply ServerSideApplyMode `json:"serverSideApply,omitempty"`
}

// Uninstall says how to remove a release.
type Uninstall struct {
	// Upper bound for each Kubernetes operation of an uninstall. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Does not run the chart's delete hooks. Default false.
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`

	// Keeps Helm's record of the release, marked as uninstalled. Default false.
	// +optional
	KeepHistory bool `json:"keepHistory,omitempty"`

	// Does not wait for the objects to be gone. Default false.
	// +optional
	DisableWait bool `json:"disableWait,omitempty"`

	// What becomes of objects owned by the deleted ones: background deletes them after their owner, foreground before
	// it, orphan leaves them.
	// +kubebuilder:default:=background
	// +optional
	DeletionPropagation DeletionPropagation `json:"deletionPropagation,omitempty"`
}
