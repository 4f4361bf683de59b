// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"time"
)

// GetTimeout returns the timeout of each Kubernetes operation of an install.
func (in *Install) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetStrategy returns the strategy after a failed install. The feature gate applies only if no
// strategy is set.
func (in *Install) GetStrategy(defaults Defaults) ActionStrategyName {
	if in == nil || in.Strategy == nil {
		return defaults.strategy()
	}
	return or(in.Strategy.Name, ActionStrategyRemediateOnFailure)
}

// GetRetryInterval returns the pause between attempts of RetryOnFailure.
func (in *Install) GetRetryInterval() time.Duration {
	return durationOr(pointer(pointer(in).Strategy).RetryInterval, DefaultRetryInterval)
}

// GetRemediation returns the remediation of a failed install, zero if none is set. The caller must
// not change it.
func (in *Install) GetRemediation() *InstallRemediation {
	return pointer(pointer(in).Remediation)
}

// GetCRDs returns the policy for the chart's crds directory.
func (in *Install) GetCRDs() CRDsPolicy {
	return or(pointer(in).CRDs, CRDsCreate)
}

// UseServerSideApply reports whether an install uses server-side apply.
func (in *Install) UseServerSideApply(defaults Defaults) bool {
	return pointerOr(pointer(in).ServerSideApply, !defaults.Helm3)
}

// GetRetries returns the number of retries after a failed install; a negative number sets no limit.
func (in *InstallRemediation) GetRetries() int {
	return pointer(in).Retries
}

// MustIgnoreTestFailures reports whether an install with a failed test counts as a success.
func (in *InstallRemediation) MustIgnoreTestFailures(testIgnoresFailures bool) bool {
	return pointerOr(pointer(in).IgnoreTestFailures, testIgnoresFailures)
}

// MustRemediateLastFailure reports whether the last permitted install is remediated too.
func (in *InstallRemediation) MustRemediateLastFailure() bool {
	return pointerOr(pointer(in).RemediateLastFailure, false)
}

// GetStrategy returns the remediation strategy. A failed install has no earlier revision, so it can
// only be uninstalled.
func (in *InstallRemediation) GetStrategy() RemediationStrategy {
	return RemediationUninstall
}

// GetTimeout returns the timeout of each Kubernetes operation of an upgrade.
func (in *Upgrade) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetStrategy returns the strategy after a failed upgrade. The feature gate applies only if no
// strategy is set.
func (in *Upgrade) GetStrategy(defaults Defaults) ActionStrategyName {
	if in == nil || in.Strategy == nil {
		return defaults.strategy()
	}
	return or(in.Strategy.Name, ActionStrategyRemediateOnFailure)
}

// GetRetryInterval returns the pause between attempts of RetryOnFailure.
func (in *Upgrade) GetRetryInterval() time.Duration {
	return durationOr(pointer(pointer(in).Strategy).RetryInterval, DefaultRetryInterval)
}

// GetRemediation returns the remediation of a failed upgrade, zero if none is set. The caller must
// not change it.
func (in *Upgrade) GetRemediation() *UpgradeRemediation {
	return pointer(pointer(in).Remediation)
}

// GetCRDs returns the policy for the chart's crds directory.
func (in *Upgrade) GetCRDs() CRDsPolicy {
	return or(pointer(in).CRDs, CRDsCreate)
}

// GetServerSideApply returns where the objects of an upgrade are merged.
func (in *Upgrade) GetServerSideApply() ServerSideApplyMode {
	return or(pointer(in).ServerSideApply, ServerSideApplyAuto)
}

// GetChartNameChangeStrategy returns the treatment of a chart with another name than the installed
// one.
func (in *Upgrade) GetChartNameChangeStrategy() ChartNameChangeStrategy {
	return or(pointer(in).ChartNameChangeStrategy, ChartNameChangeReinstall)
}

// GetRetries returns the number of retries after a failed upgrade; a negative number sets no limit.
func (in *UpgradeRemediation) GetRetries() int {
	return pointer(in).Retries
}

// MustIgnoreTestFailures reports whether an upgrade with a failed test counts as a success.
func (in *UpgradeRemediation) MustIgnoreTestFailures(testIgnoresFailures bool) bool {
	return pointerOr(pointer(in).IgnoreTestFailures, testIgnoresFailures)
}

// MustRemediateLastFailure reports whether the last permitted upgrade is remediated too. Without a
// limit of retries there is no last one, and the default is false.
func (in *UpgradeRemediation) MustRemediateLastFailure() bool {
	return pointerOr(pointer(in).RemediateLastFailure, in.GetRetries() > 0)
}

// GetStrategy returns the remediation strategy of a failed upgrade.
func (in *UpgradeRemediation) GetStrategy() RemediationStrategy {
	return or(pointer(in).Strategy, RemediationRollback)
}

// GetTimeout returns the timeout of each test.
func (in *Test) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// IsEnabled reports whether the chart's tests are run.
func (in *Test) IsEnabled() bool {
	return pointer(in).Enable
}

// MustIgnoreFailures reports whether the release is ready even if a test failed.
func (in *Test) MustIgnoreFailures() bool {
	return pointer(in).IgnoreFailures
}

// GetTimeout returns the timeout of each Kubernetes operation of a rollback.
func (in *Rollback) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetServerSideApply returns where the objects of a rollback are merged.
func (in *Rollback) GetServerSideApply() ServerSideApplyMode {
	return or(pointer(in).ServerSideApply, ServerSideApplyAuto)
}

// GetTimeout returns the timeout of each Kubernetes operation of an uninstall.
func (in *Uninstall) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetDeletionPropagation returns the treatment of objects that the deleted objects own.
func (in *Uninstall) GetDeletionPropagation() DeletionPropagation {
	return or(pointer(in).DeletionPropagation, DeletionBackground)
}

func (in Defaults) strategy() ActionStrategyName {
	if in.RetryOnFailure {
		return ActionStrategyRetryOnFailure
	}
	return ActionStrategyRemediateOnFailure
}
