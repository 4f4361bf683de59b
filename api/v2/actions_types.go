// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Install are the settings of installs.
type Install struct {
	// Timeout of each Kubernetes operation of an install. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// The strategy after a failed install. Default RemediateOnFailure.
	// +optional
	Strategy *InstallStrategy `json:"strategy,omitempty"`

	// The remediation of a failed install. Absent means that the failed release stays.
	// +optional
	Remediation *InstallRemediation `json:"remediation,omitempty"`

	// Does not adopt existing objects without the ownership metadata of this release. Default
	// false: they are adopted.
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

	// Treatment of the chart's crds directory. Default Create.
	// +optional
	CRDs CRDsPolicy `json:"crds,omitempty"`

	// Creates the target namespace if it does not exist. It has an effect only with
	// spec.targetNamespace. Helm does not delete the namespace again. Default false.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`

	// Whether to use server-side apply. Default true.
	// +optional
	ServerSideApply *bool `json:"serverSideApply,omitempty"`
}

// InstallStrategy is the strategy after a failed install.
//
// +kubebuilder:validation:XValidation:rule="!has(self.retryInterval) || self.name != 'RemediateOnFailure'",message="retryInterval must not be set when name is RemediateOnFailure"
type InstallStrategy struct {
	// RemediateOnFailure follows remediation. RetryOnFailure keeps the failed release and upgrades
	// it, without a limit of retries.
	// +required
	Name ActionStrategyName `json:"name"`

	// The pause between attempts of RetryOnFailure. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
}

// InstallRemediation is the remediation of a failed install, which is an uninstall.
type InstallRemediation struct {
	// Number of retries after a failed install. A negative number sets no limit. Default 0.
	// +optional
	Retries int `json:"retries,omitempty"`

	// Whether an install with a failed test counts as a success. Default: spec.test.ignoreFailures.
	// +optional
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`

	// Whether the last permitted attempt is remediated too. Default false, so that the failed
	// release can be inspected.
	// +optional
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`
}

// Upgrade are the settings of upgrades.
type Upgrade struct {
	// Timeout of each Kubernetes operation of an upgrade. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// The strategy after a failed upgrade. Default RemediateOnFailure.
	// +optional
	Strategy *UpgradeStrategy `json:"strategy,omitempty"`

	// The remediation of a failed upgrade. Absent means that the failed revision stays.
	// +optional
	Remediation *UpgradeRemediation `json:"remediation,omitempty"`

	// Does not adopt existing objects without the ownership metadata of this release. Default
	// false: they are adopted.
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

	// Replaces objects that cannot be patched, by deleting and creating them if necessary. It has
	// no effect with server-side apply. Default false.
	// +optional
	Force bool `json:"force,omitempty"`

	// Merges the values into the values of the previous revision. Default false.
	// +optional
	PreserveValues bool `json:"preserveValues,omitempty"`

	// Deletes the objects that a failed upgrade created. Default false.
	// +optional
	CleanupOnFail bool `json:"cleanupOnFail,omitempty"`

	// Treatment of the chart's crds directory. Default Create.
	// +optional
	CRDs CRDsPolicy `json:"crds,omitempty"`

	// Whether to use server-side apply. Default auto.
	// +optional
	ServerSideApply ServerSideApplyMode `json:"serverSideApply,omitempty"`

	// Treatment of a chart with another name than the installed one: InPlaceUpdate upgrades,
	// Reinstall uninstalls and installs. Default Reinstall.
	// +optional
	ChartNameChangeStrategy ChartNameChangeStrategy `json:"chartNameChangeStrategy,omitempty"`
}

// UpgradeStrategy is the strategy after a failed upgrade.
//
// +kubebuilder:validation:XValidation:rule="!has(self.retryInterval) || self.name == 'RetryOnFailure'",message="retryInterval may only be set when name is RetryOnFailure"
type UpgradeStrategy struct {
	// RemediateOnFailure follows remediation. RetryOnFailure keeps the failed revision and upgrades
	// again, without a limit of retries.
	// +required
	Name ActionStrategyName `json:"name"`

	// The pause between attempts of RetryOnFailure. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
}

// UpgradeRemediation is the remediation of a failed upgrade.
type UpgradeRemediation struct {
	// Number of retries after a failed upgrade. A negative number sets no limit. Default 0.
	// +optional
	Retries int `json:"retries,omitempty"`

	// Whether an upgrade with a failed test counts as a success. Default: spec.test.ignoreFailures.
	// +optional
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`

	// Whether the last permitted attempt is remediated too. Default: true if retries is above 0,
	// else false.
	// +optional
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`

	// The remediation: rollback to the last successful revision, or uninstall. Default rollback.
	// +optional
	Strategy RemediationStrategy `json:"strategy,omitempty"`
}

// Test are the settings of the chart's tests, which run after an install or upgrade.
type Test struct {
	// Runs the tests. Default false.
	// +optional
	Enable bool `json:"enable,omitempty"`

	// Timeout of each test. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Whether the release is ready even if a test failed. The remediation of an action may override
	// it. Default false.
	// +optional
	IgnoreFailures bool `json:"ignoreFailures,omitempty"`

	// The tests to run. Empty means all of them.
	// +optional
	Filters []Filter `json:"filters,omitempty"`
}

// Filter includes or excludes a test.
type Filter struct {
	// Name of the test.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Excludes the test. Default false.
	// +optional
	Exclude bool `json:"exclude,omitempty"`
}

// Rollback are the settings of rollbacks.
type Rollback struct {
	// Timeout of each Kubernetes operation of a rollback. Default: spec.timeout.
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

	// Deprecated: has no effect except a warning in the log.
	// +optional
	Recreate bool `json:"recreate,omitempty"`

	// Replaces objects that cannot be patched, by deleting and creating them if necessary. It has
	// no effect with server-side apply. Default false.
	// +optional
	Force bool `json:"force,omitempty"`

	// Deletes the objects that a failed rollback created. Default false.
	// +optional
	CleanupOnFail bool `json:"cleanupOnFail,omitempty"`

	// Whether to use server-side apply. Default auto.
	// +optional
	ServerSideApply ServerSideApplyMode `json:"serverSideApply,omitempty"`
}

// Uninstall are the settings of uninstalls.
type Uninstall struct {
	// Timeout of each Kubernetes operation of an uninstall. Default: spec.timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Does not run the chart's delete hooks. Default false.
	// +optional
	DisableHooks bool `json:"disableHooks,omitempty"`

	// Keeps Helm's records of the release, with status uninstalled. Default false.
	// +optional
	KeepHistory bool `json:"keepHistory,omitempty"`

	// Does not wait for the objects to be gone. Default false.
	// +optional
	DisableWait bool `json:"disableWait,omitempty"`

	// Treatment of objects that the deleted objects own: background deletes them after their owner,
	// foreground before it, orphan keeps them.
	// +kubebuilder:default:=background
	// +optional
	DeletionPropagation DeletionPropagation `json:"deletionPropagation,omitempty"`
}
