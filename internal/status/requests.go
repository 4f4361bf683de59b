// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// answered returns a copy of the status for a visit that decided: requests are
// answered, be it with a no. A force that an earlier process began stays open
// until its end is recorded.
func answered(hr *helmv2.HelmRelease) helmv2.HelmReleaseStatus {
	status, requests := *hr.Status.DeepCopy(), release.RequestsOf(hr.Annotations)
	begun := requests.ForceBegun(&status)
	if requests.ResetRequested(&status) {
		status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
	}
	if requests.Force != "" {
		status.LastHandledForceAt = requests.Force
	}
	if requests.Reset != "" {
		status.LastHandledResetAt = requests.Reset
	}
	if !begun {
		acknowledgeVisit(hr, &status)
	}
	return status
}

// visited returns a copy of the status for a visit that something kept from
// deciding: the visit that was asked for took place, and no more. That uses up
// what came with the request, so that nothing is forced long after somebody
// asked, but does not record it as dealt with.
func visited(hr *helmv2.HelmRelease) helmv2.HelmReleaseStatus {
	status := *hr.Status.DeepCopy()
	if !release.RequestsOf(hr.Annotations).ForceBegun(&status) {
		acknowledgeVisit(hr, &status)
	}
	return status
}

// acknowledge notes a request in the midst of other work. If more than a visit
// is asked for, the visit that can answer is still to come.
func acknowledge(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus) {
	if !release.RequestsOf(hr.Annotations).Open(status) {
		acknowledgeVisit(hr, status)
	}
}

func acknowledgeVisit(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus) {
	if token, ok := hr.Annotations[helmv2.AnnotationReconcileRequest]; ok {
		status.LastHandledReconcileAt = token
	}
}
