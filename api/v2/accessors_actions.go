// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"time"
)

// GetTimeout returns the bound for each Kubernetes operation of an install.
func (in *Install) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetStrategy returns how to go on after a failed install. The feature gate counts only if no strategy is given at all.
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

// GetRemediation returns how to clean up after a failed install, zero if nothing is said. It must not be written to.
func (in *Install) GetRemediation() *InstallRemediation {
	return pointer(pointer(in).Remediation)
}

// GetCRDs returns what to do with the chart's crds directory.
func (in *Install) GetCRDs() CRDsPolicy {
	return or(pointer(in).CRDs, CRDsCreate)
}

// UseServerSideApply tells whether the API server merges the objects of an install.
func (in *Install) UseServerSideApply(defaults Defaults) bool {
	return pointerOr(pointer(in).ServerSideApply, !defaults.Helm3)
}

// GetRetries returns how many more installs to try after the first one failed; a negative number sets no limit.
func (in *InstallRemediation) GetRetries() int {
	return pointer(in).Retries
}

// MustIgnoreTestFailures tells whether an install with a failed test needs no cleaning up.
func (in *InstallRemediation) MustIgnoreTestFailures(testIgnoresFailures bool) bool {
	return pointerOr(pointer(in).IgnoreTestFailures, testIgnoresFailures)
}

// MustRemediateLastFailure tells whether to clean up after the last permitted install too.
func (in *InstallRemediation) MustRemediateLastFailure() bool {
	return pointerOr(pointer(in).RemediateLastFailure, false)
}

// GetStrategy returns how to clean up, for which there is but one way: with nothing before it, a failed install can
// only be uninstalled.
func (in *InstallRemediation) GetStrategy() RemediationStrategy {
	return RemediationUninstall
}

// GetTimeout returns the bound for each Kubernetes operation of an upgrade.
func (in *Upgrade) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetStrategy returns how to go on after a failed upgrade. The feature gate counts only if no strategy is given at all.
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

// GetRemediation returns how to clean up after a failed upgrade, zero if nothing is said. It must not be written to.
func (in *Upgrade) GetRemediation() *UpgradeRemediation {
	return pointer(pointer(in).Remediation)
}

// GetCRDs returns what to do with the chart's crds directory.
func (in *Upgrade) GetCRDs() CRDsPolicy {
	return or(pointer(in).CRDs, CRDsCreate)
}

// GetServerSideApply returns who merges the objects of an upgrade.
func (in *Upgrade) GetServerSideApply() ServerSideApplyMode {
	return or(pointer(in).ServerSideApply, ServerSideApplyAuto)
}

// GetChartNameChangeStrategy returns what to do when the chart has another name than the one installed.
func (in *Upgrade) GetChartNameChangeStrategy() ChartNameChangeStrategy {
	return or(pointer(in).ChartNameChangeStrategy, ChartNameChangeReinstall)
}

// GetRetries returns how many more upgrades to try after the first one failed; a negative number sets no limit.
func (in *UpgradeRemediation) GetRetries() int {
	return pointer(in).Retries
}

// MustIgnoreTestFailures tells whether an upgrade with a failed test needs no cleaning up.
func (in *UpgradeRemediation) MustIgnoreTestFailures(testIgnoresFailures bool) bool {
	return pointerOr(pointer(in).IgnoreTestFailures, testIgnoresFailures)
}

// MustRemediateLastFailure tells whether to clean up after the last permitted upgrade too. Without a limit there is no
// last one, and the default is false.
func (in *UpgradeRemediation) MustRemediateLastFailure() bool {
	return pointerOr(pointer(in).RemediateLastFailure, in.GetRetries() > 0)
}

// GetStrategy returns how to clean up after a failed upgrade.
func (in *UpgradeRemediation) GetStrategy() RemediationStrategy {
	return or(pointer(in).Strategy, RemediationRollback)
}

// GetTimeout returns the bound for each test.
func (in *Test) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// IsEnabled tells whether to run the chart's tests.
func (in *Test) IsEnabled() bool {
	return pointer(in).Enable
}

// MustIgnoreFailures tells whether a failed test leaves the release ready.
func (in *Test) MustIgnoreFailures() bool {
	return pointer(in).IgnoreFailures
}

// GetTimeout returns the bound for each Kubernetes operation of a rollback.
func (in *Rollback) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetServerSideApply returns who merges the objects of a rollback.
func (in *Rollback) GetServerSideApply() ServerSideApplyMode {
	return or(pointer(in).ServerSideApply, ServerSideApplyAuto)
}

// GetTimeout returns the bound for each Kubernetes operation of an uninstall.
func (in *Uninstall) GetTimeout(specTimeout time.Duration) time.Duration {
	return durationOr(pointer(in).Timeout, specTimeout)
}

// GetDeletionPropagation returns what becomes of objects owned by the deleted ones.
func (in *Uninstall) GetDeletionPropagation() DeletionPropagation {
	return or(pointer(in).DeletionPropagation, DeletionBackground)
}

func (in Defaults) strategy() ActionStrategyName {
	if in.RetryOnFailure {
		return ActionStrategyRetryOnFailure
	}
	return ActionStrategyRemediateOnFailure
}
