// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// FailurePolicy returns the policy that is in effect for a HelmChart: the policy of a HelmChartConfig overrides
// the HelmChart's.
func FailurePolicy(in Input) cattlev1.FailurePolicy {
	if in.Config != nil && in.Config.Spec.FailurePolicy != "" {
		return in.Config.Spec.FailurePolicy
	}
	if in.Chart.Spec.FailurePolicy != "" {
		return in.Chart.Spec.FailurePolicy
	}
	return cattlev1.FailurePolicyReinstall
}

// remediate sets what follows a failed install or upgrade. As in k3s, an uninstall precedes a retry, so
// that the last failed revision stays. Without AsK3s, the annotation excludes a release that holds claims.
func remediate(in Input, hr *helmv2.HelmRelease) {
	if FailurePolicy(in) != cattlev1.FailurePolicyReinstall {
		return
	}
	retries, last := defaultBackOffLimit, false
	if limit := in.Chart.Spec.BackOffLimit; limit != nil {
		retries = int(*limit)
	}
	hr.Spec.Install.Remediation = &helmv2.InstallRemediation{Retries: retries}
	hr.Spec.Upgrade.Remediation = &helmv2.UpgradeRemediation{Retries: retries, Strategy: helmv2.RemediationUninstall, RemediateLastFailure: &last}
	if !in.AsK3s {
		hr.Annotations[helmv2.AnnotationKeepClaims] = "true"
	}
}
