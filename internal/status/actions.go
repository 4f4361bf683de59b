// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// eventAction returns the stage that an event with a reason is about. The last row has reasons without
// a stage of their own: in the events of an action that has ended, they are about that action.
func eventAction(reason string) string {
	switch reason {
	case helmv2.ReasonDependencyNotReady:
		return helmv2.EventActionCheckDependencies
	case helmv2.ReasonAccessDenied, helmv2.ReasonArtifactFailed, helmv2.ReasonSourceNotReady, helmv2.ReasonChartMutateError,
		helmv2.EventReasonHelmChartCreated, helmv2.EventReasonHelmChartConfigured, helmv2.EventReasonHelmChartDeleted,
		helmv2.EventReasonHelmChartSyncError:
		return helmv2.EventActionResolveSource
	case helmv2.ReasonValuesError:
		return helmv2.EventActionResolveValues
	case helmv2.ReasonHealthCheckCanceled:
		return helmv2.EventActionHealthCheck
	case helmv2.ReasonDriftDetected, helmv2.ReasonNoDriftDetected, helmv2.ReasonDriftCeded, helmv2.ReasonDriftCorrected,
		helmv2.ReasonDriftCorrectionFailed:
		return helmv2.EventActionDriftDetection
	case helmv2.ReasonInstallSucceeded, helmv2.ReasonInstallFailed:
		return helmv2.EventActionHelmInstall
	case helmv2.ReasonUpgradeSucceeded, helmv2.ReasonUpgradeFailed:
		return helmv2.EventActionHelmUpgrade
	case helmv2.ReasonRollbackSucceeded, helmv2.ReasonRollbackFailed, helmv2.ReasonMissingRollbackTarget,
		helmv2.ReasonRolledBack, helmv2.ReasonRollbackRefused, helmv2.ReasonRollbackExpired:
		return helmv2.EventActionHelmRollback
	case helmv2.ReasonTestSucceeded, helmv2.ReasonTestFailed, helmv2.ReasonAwaitingTests, helmv2.EventReasonTestInterrupted:
		return helmv2.EventActionHelmTest
	case helmv2.ReasonUninstallSucceeded, helmv2.ReasonUninstallFailed, helmv2.EventReasonDependentsLeft,
		helmv2.EventReasonOrphaned, helmv2.EventReasonLeftBehind:
		return helmv2.EventActionHelmUninstall
	case helmv2.ReasonPendingRelease:
		return helmv2.EventActionUnlock
	case helmv2.ReasonInterrupted, helmv2.EventReasonApprovalVoid, helmv2.EventReasonPolicyOverridden, helmv2.ReasonDryRunDenied, helmv2.ReasonReleaseTooLarge,
		helmv2.EventReasonReleaseNearlyTooLarge, helmv2.EventReasonInventoryBuildFailed,
		helmv2.ReasonObjectsOwned, helmv2.EventReasonObjectsAdopted, helmv2.EventReasonObjectsKept, helmv2.EventReasonObjectsSkipped,
		helmv2.ReasonProgressing, helmv2.ReasonProgressingWithRetry, helmv2.ReasonRetriesExceeded, helmv2.ReasonClaimsKept,
		helmv2.ReasonInvalidCELExpression, helmv2.ReasonUnsupportedField, helmv2.ReasonContested, helmv2.ReasonTargetUnavailable,
		helmv2.ReasonRESTClientError, helmv2.ReasonStateError, helmv2.ReasonPolicyUnavailable, helmv2.ReasonPolicyRefused, helmv2.ReasonFrozen, helmv2.ReasonAwaitingWindow, helmv2.ReasonAwaitingRollout, helmv2.ReasonBaking, helmv2.EventReasonBakeSucceeded,
		helmv2.ReasonAwaitingApproval, helmv2.ReasonRejected, helmv2.ReasonPlanFailed,
		helmv2.ReasonOperationRunning, helmv2.ReasonOperationWaiting,
		helmv2.ReasonSuspended, helmv2.ReasonSuspensionExpired, helmv2.EventReasonResumed:
		return helmv2.EventActionReconcile
	}
	return ""
}

// about returns e as an event about a stage.
func (e Event) about(action string) Event {
	e.Action = action
	return e
}

// aboutEnded makes the events of an action that has ended about that action, unless their reason has
// another stage. A recheck reports the install or upgrade whose objects have become ready, and runs
// neither.
func aboutEnded(a release.HelmAction, all []Event) {
	action := eventActionOf(a)
	for i, e := range all {
		if e.Action == helmv2.EventActionReconcile || action == helmv2.EventActionHealthCheck {
			all[i] = e.about(action)
		}
	}
}

// eventActionOf returns the stage in which an action runs.
func eventActionOf(a release.HelmAction) string {
	switch a.(type) {
	case release.Install:
		return helmv2.EventActionHelmInstall
	case release.Upgrade:
		return helmv2.EventActionHelmUpgrade
	case release.Rollback:
		return helmv2.EventActionHelmRollback
	case release.Test:
		return helmv2.EventActionHelmTest
	case release.Uninstall:
		return helmv2.EventActionHelmUninstall
	case release.Unlock:
		return helmv2.EventActionUnlock
	case release.Recheck, release.FailBake:
		return helmv2.EventActionHealthCheck
	case release.CorrectDrift:
		return helmv2.EventActionDriftDetection
	}
	return helmv2.EventActionReconcile
}
