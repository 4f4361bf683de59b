// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultTimeout is the timeout of a Kubernetes operation if the spec sets none.
	DefaultTimeout = 5 * time.Minute

	// DefaultRetryInterval is the pause between attempts of RetryOnFailure if the spec sets none.
	DefaultRetryInterval = 5 * time.Minute

	// DefaultMaxHistory is the number of revisions that Helm keeps if the spec sets none.
	DefaultMaxHistory = 5

	// DefaultValuesKey is the key of a ValuesReference that sets none.
	DefaultValuesKey = "values.yaml"
)

// Defaults are feature gates that change the defaults of a spec. All are off in the zero value.
type Defaults struct {
	// RetryOnFailure makes RetryOnFailure the default strategy of installs and upgrades (feature
	// gate DefaultToRetryOnFailure).
	RetryOnFailure bool

	// Helm3 selects the defaults of Helm 3: client-side apply on install, legacy readiness checks,
	// and hooks without post-rendering (feature gate UseHelm3Defaults).
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

// HasChartTemplate reports whether the controller creates a source object for the release. It is
// false if chartRef is set as well, which the API server rejects.
func (hr *HelmRelease) HasChartTemplate() bool {
	return hr.Spec.Chart != nil && hr.Spec.ChartRef == nil
}

// HasChartRef reports whether the chart comes from an existing source. It is false if chart is set
// as well, which the API server rejects.
func (hr *HelmRelease) HasChartRef() bool {
	return hr.Spec.ChartRef != nil && hr.Spec.Chart == nil
}

// GetHelmChartName returns the name of the source object for spec.chart. It may be longer than
// Kubernetes permits.
func (hr *HelmRelease) GetHelmChartName() string {
	return hr.Namespace + "-" + hr.Name
}

// GetReleaseName returns the name of the Helm release before it is shortened to Helm's limit.
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

// GetStorageNamespace returns the namespace for new Helm storage. status.storageNamespace is the
// namespace of existing storage.
func (hr *HelmRelease) GetStorageNamespace() string {
	return or(hr.Spec.StorageNamespace, hr.Namespace)
}

// GetInterval returns the time from a success to the next reconciliation, without jitter.
func (hr *HelmRelease) GetInterval() time.Duration {
	return hr.Spec.Interval.Duration
}

// GetTimeout returns the default timeout of an action's Kubernetes operations.
func (hr *HelmRelease) GetTimeout() time.Duration {
	return durationOr(hr.Spec.Timeout, DefaultTimeout)
}

// GetMaxHistory returns the number of revisions that Helm keeps; 0 means all of them.
func (spec *HelmReleaseSpec) GetMaxHistory() int {
	return pointerOr(spec.MaxHistory, DefaultMaxHistory)
}

// UsePersistentClient reports whether one client is used for a whole reconciliation.
func (hr *HelmRelease) UsePersistentClient() bool {
	return pointerOr(hr.Spec.PersistentClient, true)
}

// GetInstall returns the settings of installs, zero if there are none. The caller must not change
// it.
func (spec *HelmReleaseSpec) GetInstall() *Install { return pointer(spec.Install) }

// GetUpgrade returns the settings of upgrades, zero if there are none. The caller must not change
// it.
func (spec *HelmReleaseSpec) GetUpgrade() *Upgrade { return pointer(spec.Upgrade) }

// GetTest returns the settings of tests, zero if there are none. The caller must not change it.
func (spec *HelmReleaseSpec) GetTest() *Test { return pointer(spec.Test) }

// GetRollback returns the settings of rollbacks, zero if there are none. The caller must not change
// it.
func (spec *HelmReleaseSpec) GetRollback() *Rollback { return pointer(spec.Rollback) }

// GetUninstall returns the settings of uninstalls, zero if there are none. The caller must not
// change it.
func (spec *HelmReleaseSpec) GetUninstall() *Uninstall { return pointer(spec.Uninstall) }

// GetDriftMode returns the drift detection mode.
func (hr *HelmRelease) GetDriftMode() DriftDetectionMode {
	return or(pointer(hr.Spec.DriftDetection).Mode, DriftDetectionDisabled)
}

// GetWaitStrategy returns the readiness checks to use.
func (spec *HelmReleaseSpec) GetWaitStrategy(defaults Defaults) WaitStrategyName {
	fallback := WaitPoller
	if defaults.Helm3 {
		fallback = WaitLegacy
	}
	return or(pointer(spec.WaitStrategy).Name, fallback)
}

// GetPostRenderStrategy returns the treatment of hooks by post-renderers.
func (spec *HelmReleaseSpec) GetPostRenderStrategy(defaults Defaults) PostRenderStrategy {
	fallback := PostRenderCombined
	if defaults.Helm3 {
		fallback = PostRenderNoHooks
	}
	return or(spec.PostRenderStrategy, fallback)
}

// GetInterval returns the interval at which the source is checked for a newer chart. The default is
// the interval of the HelmRelease.
func (in *HelmChartTemplate) GetInterval(specInterval time.Duration) time.Duration {
	return durationOr(pointer(in).Spec.Interval, specInterval)
}

// GetKind returns the kind of the source object.
func (in *HelmChartTemplate) GetKind() string {
	return or(pointer(in).Kind, KindHelmChart)
}

// GetNamespace returns the namespace of the source object: with kind HelmChart the namespace of its
// source.
func (in *HelmChartTemplate) GetNamespace(releaseNamespace string) string {
	if in.GetKind() != KindHelmChart {
		return releaseNamespace
	}
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

// GetValuesKey returns the key of the values.
func (in ValuesReference) GetValuesKey() string {
	return or(in.ValuesKey, DefaultValuesKey)
}

// IsFile reports whether the values are in the artifact of a source, not in a ConfigMap or Secret.
func (in ValuesReference) IsFile() bool {
	return in.Kind != KindSecret && in.Kind != KindConfigMap
}

// GetNamespace returns the namespace of the object. ConfigMaps and Secrets are in the namespace of
// the HelmRelease.
func (in ValuesReference) GetNamespace(releaseNamespace string) string {
	if !in.IsFile() {
		return releaseNamespace
	}
	return or(in.Namespace, releaseNamespace)
}

// or returns the first of two values that is not zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// pointer returns in, or a new zero value if it is nil, so that the caller can read its fields.
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

// durationOr returns the fallback for an absent duration, but not for zero.
func durationOr(value *metav1.Duration, fallback time.Duration) time.Duration {
	if value == nil {
		return fallback
	}
	return value.Duration
}
