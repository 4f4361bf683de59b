// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Claims states whether a release holds PersistentVolumeClaims.
type Claims int

// The values of Claims.
const (
	ClaimsUnknown Claims = iota
	ClaimsNone
	ClaimsHeld
)

// ClaimsOf returns whether a release may hold claims: the claims of its manifest, and those of its
// StatefulSets. A StatefulSet counts even without a claim.
func ClaimsOf(hr *helmv2.HelmRelease) Claims {
	if hr == nil || hr.Status.Inventory == nil {
		return ClaimsUnknown
	}
	for _, e := range hr.Status.Inventory.Entries {
		if strings.HasSuffix(e.ID, "__PersistentVolumeClaim") || strings.HasSuffix(e.ID, "_apps_StatefulSet") {
			return ClaimsHeld
		}
	}
	return ClaimsNone
}

// failurePolicy returns the policy in effect: that of a HelmChartConfig overrides the HelmChart's.
func failurePolicy(in Input) cattlev1.FailurePolicy {
	if in.Config != nil && in.Config.Spec.FailurePolicy != "" {
		return in.Config.Spec.FailurePolicy
	}
	if in.Chart.Spec.FailurePolicy != "" {
		return in.Chart.Spec.FailurePolicy
	}
	return cattlev1.FailurePolicyReinstall
}

// FailurePolicy returns the policy that is in effect for a HelmChart.
func FailurePolicy(in Input) cattlev1.FailurePolicy { return failurePolicy(in) }

// remediate sets what follows a failed install or upgrade.
//
// Without AsK3s, a release is uninstalled only after it has failed and its objects are known to hold no
// claim. Before, an upgrade is rolled back if claims are held or not known. The change of the remediation
// itself leads to one more attempt.
func remediate(in Input, spec *helmv2.HelmReleaseSpec, inputs string) {
	if failurePolicy(in) != cattlev1.FailurePolicyReinstall {
		return
	}
	claims := ClaimsOf(in.Before)
	switch {
	case in.AsK3s || claims == ClaimsNone && in.Before.Annotations[cattlev1.AnnotationInputs] == inputs && (HasFailed(in.Before) || reinstalls(in.Before)):
		retries, last := defaultBackOffLimit, true
		if limit := in.Chart.Spec.BackOffLimit; limit != nil {
			retries = int(*limit)
		}
		spec.Install.Remediation = &helmv2.InstallRemediation{Retries: retries}
		spec.Upgrade.Remediation = &helmv2.UpgradeRemediation{Retries: retries, Strategy: helmv2.RemediationUninstall, RemediateLastFailure: &last}
	case claims != ClaimsNone:
		last := true
		spec.Upgrade.Remediation = &helmv2.UpgradeRemediation{Strategy: helmv2.RemediationRollback, RemediateLastFailure: &last}
	}
}

// reinstalls reports whether a HelmRelease is reinstalled after failures, and has not become ready.
func reinstalls(hr *helmv2.HelmRelease) bool {
	return hr.Spec.Install != nil && hr.Spec.Install.Remediation != nil && !isTrue(hr, helmv2.ConditionReady)
}

// HasFailed reports whether the last attempt of the present spec failed.
func HasFailed(hr *helmv2.HelmRelease) bool {
	return hr != nil && hr.Status.ObservedGeneration == hr.Generation && isTrue(hr, helmv2.ConditionStalled)
}

func isTrue(hr *helmv2.HelmRelease, kind string) bool {
	for _, c := range hr.Status.Conditions {
		if c.Type == kind {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
