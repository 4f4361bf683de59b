// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultTimeout bounds a Kubernetes operation of an action when the spec does not.
	DefaultTimeout = 5 * time.Minute

	// DefaultRetryInterval is the pause between attempts of RetryOnFailure when the spec names none.
	DefaultRetryInterval = 5 * time.Minute

	// DefaultMaxHistory is how many revisions Helm keeps when the spec does not say.
	DefaultMaxHistory = 5

	// DefaultValuesKey is the key of a ValuesReference that names none.
	DefaultValuesKey = "values.yaml"
)

// Defaults are the feature gates that stand in for what a spec leaves out. The zero value has them all off.
type Defaults struct {
	// RetryOnFailure makes RetryOnFailure the strategy of an install or upgrade that names none (feature gate
	// DefaultToRetryOnFailure).
	RetryOnFailure bool

	// Helm3 makes install merge in the client, wait in the legacy way and spare hooks from post-rendering (feature
	// gate UseHelm3Defaults).
	Helm3 bool
}

// GetConditions returns the conditions of the status.
func (hr *HelmRelease) GetConditions() []metav1.Condition {
	return hr.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (hr *HelmRelease) SetConditions(conditions []metav1.Condition) {
	hr.Status.Conditions = conditions
}

// HasChartTemplate tells whether the chart comes from a HelmChart that we create. False if chartRef is set as well,
// which the API server refuses.
func (hr *HelmRelease) HasChartTemplate() bool {
	return hr.Spec.Chart != nil && hr.Spec.ChartRef == nil
}

// HasChartRef tells whether the chart comes from an existing source. False if chart is set as well, which the API
// server refuses.
func (hr *HelmRelease) HasChartRef() bool {
	return hr.Spec.ChartRef != nil && hr.Spec.Chart == nil
}

// GetHelmChartName returns the name of the HelmChart made from spec.chart. It can be longer than Kubernetes permits.
func (hr *HelmRelease) GetHelmChartName() string {
	return hr.Namespace + "-" + hr.Name
}

// GetReleaseName returns the name of the Helm release before it is shortened to what Helm permits.
func (hr *HelmRelease) GetReleaseName() string {
	switch {
	case hr.Spec.ReleaseName != "":
		return hr.Spec.ReleaseName
	case hr.Spec.TargetNamespace != "":
		return hr.Spec.TargetNamespace + "-" + hr.Name
	default:
		return hr.Name
	}
}

// GetReleaseNamespace returns the namespace of the Helm release.
func (hr *HelmRelease) GetReleaseNamespace() string {
	return or(hr.Spec.TargetNamespace, hr.Namespace)
}

// GetStorageNamespace returns the namespace that the spec wants Helm's revisions in; status.storageNamespace tells
// where they are.
func (hr *HelmRelease) GetStorageNamespace() string {
	return or(hr.Spec.StorageNamespace, hr.Namespace)
}

// GetInterval returns how long after a success to look again, before jitter.
func (hr *HelmRelease) GetInterval() time.Duration {
	return hr.Spec.Interval.Duration
}

// GetTimeout returns the bound for a Kubernetes operation of an action that has none of its own.
func (hr *HelmRelease) GetTimeout() time.Duration {
	return durationOr(hr.Spec.Timeout, DefaultTimeout)
}

// GetMaxHistory returns how many revisions Helm keeps; 0 means all of them.
func (hr *HelmRelease) GetMaxHistory() int {
	return pointerOr(hr.Spec.MaxHistory, DefaultMaxHistory)
}

// UsePersistentClient tells whether one client serves a whole reconciliation.
func (hr *HelmRelease) UsePersistentClient() bool {
	return pointerOr(hr.Spec.PersistentClient, true)
}

// GetInstall returns the settings of installs, zero if there are none. It must not be written to.
func (hr *HelmRelease) GetInstall() *Install { return pointer(hr.Spec.Install) }

// GetUpgrade returns the settings of upgrades, zero if there are none. It must not be written to.
func (hr *HelmRelease) GetUpgrade() *Upgrade { return pointer(hr.Spec.Upgrade) }

// GetTest returns the settings of tests, zero if there are none. It must not be written to.
func (hr *HelmRelease) GetTest() *Test { return pointer(hr.Spec.Test) }

// GetRollback returns the settings of rollbacks, zero if there are none. It must not be written to.
func (hr *HelmRelease) GetRollback() *Rollback { return pointer(hr.Spec.Rollback) }

// GetUninstall returns the settings of uninstalls, zero if there are none. It must not be written to.
func (hr *HelmRelease) GetUninstall() *Uninstall { return pointer(hr.Spec.Uninstall) }

// GetDriftMode returns what to do about live objects that differ from the release.
func (hr *HelmRelease) GetDriftMode() DriftDetectionMode {
	return or(pointer(hr.Spec.DriftDetection).Mode, DriftDetectionDisabled)
}

// GetWaitStrategy returns how readiness is found out.
func (hr *HelmRelease) GetWaitStrategy(defaults Defaults) WaitStrategyName {
	fallback := WaitPoller
	if defaults.Helm3 {
		fallback = WaitLegacy
	}
	return or(pointer(hr.Spec.WaitStrategy).Name, fallback)
}

// GetPostRenderStrategy returns what becomes of hooks when manifests are post-rendered.
func (hr *HelmRelease) GetPostRenderStrategy(defaults Defaults) PostRenderStrategy {
	fallback := PostRenderCombined
	if defaults.Helm3 {
		fallback = PostRenderNoHooks
	}
	return or(hr.Spec.PostRenderStrategy, fallback)
}

// GetInterval returns how often the source is asked for a newer chart, which is as often as the release is looked at
// unless the template says otherwise.
func (in *HelmChartTemplate) GetInterval(specInterval time.Duration) time.Duration {
	return durationOr(pointer(in).Spec.Interval, specInterval)
}

// GetNamespace returns the namespace of the source and of the HelmChart.
func (in *HelmChartTemplate) GetNamespace(releaseNamespace string) string {
	return or(pointer(in).Spec.SourceRef.Namespace, releaseNamespace)
}

// GetNamespace returns the namespace of the source.
func (in *CrossNamespaceSourceReference) GetNamespace(releaseNamespace string) string {
	return or(pointer(in).Namespace, releaseNamespace)
}

// GetNamespace returns the namespace of the dependency.
func (in DependencyReference) GetNamespace(dependentNamespace string) string {
	return or(in.Namespace, dependentNamespace)
}

// GetValuesKey returns the key to take values from.
func (in ValuesReference) GetValuesKey() string {
	return or(in.ValuesKey, DefaultValuesKey)
}

// or returns the first of two values that is not zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// pointer returns what in points to, or else a new zero value, so that its fields can be read.
func pointer[T any](in *T) *T {
	if in == nil {
		return new(T)
	}
	return in
}

func pointerOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

// durationOr tells absent from zero: a duration of 0s is what the user wrote.
func durationOr(value *metav1.Duration, fallback time.Duration) time.Duration {
	if value == nil {
		return fallback
	}
	return value.Duration
}
