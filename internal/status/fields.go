// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// withRequestsHandled returns a copy of the status for a reconciliation that has decided. It
// handles all requests by annotation, also those that are rejected. A force that an earlier
// process has begun stays open until its end is recorded.
func withRequestsHandled(hr *helmv2.HelmRelease) helmv2.HelmReleaseStatus {
	status, requests := *hr.Status.DeepCopy(), release.RequestsOf(hr.Annotations)
	begun := requests.ForceBegun(&status)
	if requests.ResetRequested(&status) {
		release.ResetFailures(&status)
	}
	if requests.Force != "" {
		status.LastHandledForceAt = requests.Force
	}
	if requests.Reset != "" {
		status.LastHandledResetAt = requests.Reset
	}
	if !begun {
		acknowledgeReconcile(hr, &status)
	}
	return status
}

// withReconcileHandled returns a copy of the status for a reconciliation that ended before a
// decision. It handles only the reconcile request. The force and reset requests that came with
// it expire, since they need the same token, and are not recorded as handled.
func withReconcileHandled(hr *helmv2.HelmRelease) helmv2.HelmReleaseStatus {
	status := *hr.Status.DeepCopy()
	if !release.RequestsOf(hr.Annotations).ForceBegun(&status) {
		acknowledgeReconcile(hr, &status)
	}
	return status
}

// acknowledge handles a reconcile request in a reconciliation that does other work. If a force or
// reset request is open, a later reconciliation handles all of them.
func acknowledge(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus) {
	if !release.RequestsOf(hr.Annotations).Open(status) {
		acknowledgeReconcile(hr, status)
	}
}

func acknowledgeReconcile(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus) {
	if token, ok := hr.Annotations[helmv2.AnnotationReconcileRequest]; ok {
		status.LastHandledReconcileAt = token
	}
}

// clearRelease removes all fields about a release: history, inventory, storage namespace and
// failure counters.
func clearRelease(status *helmv2.HelmReleaseStatus) {
	status.History, status.Inventory, status.StorageNamespace = nil, nil, ""
	release.ResetFailures(status)
}

// countFailure adds a failure of an action to the counters.
func countFailure(status *helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) {
	status.Failures++
	if action == helmv2.ActionInstall {
		status.InstallFailures++
	}
	if action == helmv2.ActionUpgrade {
		status.UpgradeFailures++
	}
}

// recordAttempt records the inputs of a decision. Failures are counted for these inputs.
func recordAttempt(status *helmv2.HelmReleaseStatus, want release.Desired) {
	*status = release.ResetCounters(*status, want)
	if want.Requests.Reset != "" {
		status.LastHandledResetAt = want.Requests.Reset
	}
	status.LastAttemptedGeneration = want.Generation
	status.LastAttemptedRevision = want.Chart.Version
	status.LastAttemptedRevisionDigest = want.Chart.OCIDigest
	status.LastAttemptedConfigDigest = want.ConfigDigest
	// Both fields are deprecated, and only cleared.
	status.LastAttemptedValuesChecksum, status.LastReleaseRevision = "", 0 //nolint:staticcheck // clears deprecated fields
}

// recordRendering records the post-renderers and the common metadata of a deployed revision.
// They stay until another revision is deployed, or until a rollback.
func recordRendering(status *helmv2.HelmReleaseStatus, want release.Desired) {
	status.ObservedPostRenderersDigest = want.Rendering.PostRenderers
	status.ObservedCommonMetadataDigest = want.Rendering.CommonMetadata
}

// setRenderingUnknown records that post-renderers and common metadata of the newest revision are
// not known. Any desired ones then differ, and lead to an upgrade.
func setRenderingUnknown(status *helmv2.HelmReleaseStatus) {
	const unknown = "unknown"
	status.ObservedPostRenderersDigest, status.ObservedCommonMetadataDigest = unknown, unknown
}
