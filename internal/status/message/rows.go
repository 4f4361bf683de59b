// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Kinds of messages about HelmReleases.
const (
	Rejected          Kind = "Rejected"
	RetriedRegularly  Kind = "RetriedRegularly"
	RolledBackNext    Kind = "RolledBackNext"
	UninstalledNext   Kind = "UninstalledNext"
	NoTarget          Kind = "NoTarget"
	NoRetries         Kind = "NoRetries"
	RolledBack        Kind = "RolledBack"
	RolledBackLast    Kind = "RolledBackLast"
	Uninstalled       Kind = "Uninstalled"
	UninstalledLast   Kind = "UninstalledLast"
	Remediated        Kind = "Remediated"
	TestOnly          Kind = "TestOnly"
	TestAgain         Kind = "TestAgain"
	RollbackFailed    Kind = "RollbackFailed"
	UninstallFailed   Kind = "UninstallFailed"
	UnlockFailed      Kind = "UnlockFailed"
	Unlocked          Kind = "Unlocked"
	Interrupted       Kind = "Interrupted"
	ObjectsOwned      Kind = "ObjectsOwned"
	DryRunDenied      Kind = "DryRunDenied"
	RetriesExceeded   Kind = "RetriesExceeded"
	RejectedStalled   Kind = "RejectedStalled"
	RemediatedStalled Kind = "RemediatedStalled"
	NoTargetStalled   Kind = "NoTargetStalled"
	TooLarge          Kind = "TooLarge"
	TooLargeStalled   Kind = "TooLargeStalled"
	Contested         Kind = "Contested"
	PolicyRefused     Kind = "PolicyRefused"
	PolicyUnavailable Kind = "PolicyUnavailable"
	Frozen            Kind = "Frozen"
	AwaitingApproval  Kind = "AwaitingApproval"
	ChangeRefused     Kind = "ChangeRefused"
	ChangeRejected    Kind = "ChangeRejected"
	RollbackRefused   Kind = "RollbackRefused"
	HoldFailed        Kind = "HoldFailed"
	HoldFailedLast    Kind = "HoldFailedLast"
	HoldExceeded      Kind = "HoldExceeded"
	HoldRetried       Kind = "HoldRetried"
	RunningAgain      Kind = "RunningAgain"
	OtherClient       Kind = "OtherClient"
	OtherUninstall    Kind = "OtherUninstall"
	AwaitDependents   Kind = "AwaitDependents"
	OperationRunning  Kind = "OperationRunning"
	OperationWaiting  Kind = "OperationWaiting"
	DriftUnknown      Kind = "DriftUnknown"
	SuspendedBySpec   Kind = "SuspendedBySpec"
	Suspended         Kind = "Suspended"
	SuspendedUntil    Kind = "SuspendedUntil"
	SuspensionExpired Kind = "SuspensionExpired"
)

// Texts of several rows.
const (
	nothing     = "Nothing was changed"
	failedStays = "The failed revision stays"
	rolledBack  = "The release is as before the {action}"
	uninstalled = "The failed release was uninstalled"
	remediated  = "The remediation has ended, as in condition Remediated"
	failed      = "Helm {action} failed for release {release} with chart {chart}: {cause}"
	noRetries   = "No retries are left: change the spec, the chart or the values, or set annotation " + helmv2.AnnotationResetRequest
	atOnce      = ", and at once after a change of the spec, the chart or the values"
)

// Rows returns all messages, in the order of the documentation.
func Rows() []Row {
	return slices.Concat(failures(), stalls(), waits(), suspensions(), obstacles(), operations(), plans())
}

// row returns a row about a HelmRelease.
func row(kind Kind, what, left, next string, reasons ...string) Row {
	return Row{Kind: kind, About: HelmRelease, Reasons: reasons, Parts: Parts{What: what, Left: left, Next: next}}
}

// failures are the messages about actions that have failed.
func failures() []Row {
	var (
		install, upgrade, test     = helmv2.ReasonInstallFailed, helmv2.ReasonUpgradeFailed, helmv2.ReasonTestFailed
		rollbackFails, uninstFails = helmv2.ReasonRollbackFailed, helmv2.ReasonUninstallFailed
	)
	return []Row{
		row(Rejected, failed, nothing, "{again}", install, upgrade),
		row(RetriedRegularly, failed, failedStays, "{again}", install, upgrade, test),
		row(RolledBackNext, failed, "The failed revision stays until the rollback",
			"The release is rolled back to revision {revision} now, {again}", install, upgrade, test),
		row(UninstalledNext, failed, "The failed revision stays until the uninstall", "The release is uninstalled now, {again}", install, upgrade, test),
		row(NoTarget, failed, failedStays, "There is no revision to roll back to: change the spec, the chart or the values", upgrade, test),
		row(NoRetries, failed, failedStays, noRetries, install, upgrade, test),
		row(RolledBack, failed, rolledBack, "A retry of the {action} follows now", helmv2.ReasonRollbackSucceeded),
		row(RolledBackLast, failed, rolledBack, noRetries, helmv2.ReasonRollbackSucceeded),
		row(Uninstalled, failed, uninstalled, "A retry of the {action} follows now", install, upgrade, test, helmv2.ReasonUninstallSucceeded),
		row(UninstalledLast, failed, uninstalled, noRetries, install, upgrade, test, helmv2.ReasonUninstallSucceeded),
		row(Remediated, failed, "The failed revision stays until its remediation", "A retry follows each remediation, {again}", install, upgrade, test),
		row(TestOnly, "Helm test failed for release {release} with chart {chart}: {cause}", "The tested revision stays",
			"The tests run again after the next install or upgrade, or at annotation "+helmv2.AnnotationTestAt, test),
		row(TestAgain, "Helm test failed for release {release} with chart {chart}: {cause}", "The tested revision stays",
			"The tests run again with back-off", test),
		row(RollbackFailed, "Helm rollback to previous release {release} with chart {chart} failed: {cause}",
			failedStays, "Retries follow with back-off while retries are left"+atOnce, rollbackFails),
		row(UninstallFailed, "Helm uninstall failed for release {release} with chart {chart}: {cause}",
			"Objects that are not deleted yet stay", "Retries follow with back-off. To delete the HelmRelease without its release, set annotation "+helmv2.AnnotationOrphan, uninstFails),
		row(UnlockFailed, "Unlock of Helm release {release} in {cause} state failed", nothing, "Retries follow with back-off", helmv2.ReasonPendingRelease),
		row(Unlocked, "Unlocked Helm release {release} with chart {chart} in {cause} state", "The objects of the revision stay",
			"The next action starts now", helmv2.ReasonPendingRelease),
		row(Interrupted, "{cause}", "The revision stays as it was at the interruption, and no failure is counted",
			"The action continues when the server answers, and is tried every {interval} at the latest", helmv2.ReasonInterrupted),
		row(ObjectsOwned, "Helm {action} of release {release} with chart {chart} waits: {cause}", nothing,
			"Retries follow with back-off, and at once when the other release changes", helmv2.ReasonObjectsOwned),
		row(DryRunDenied, "Helm {action} of release {release} with chart {chart} did not begin: {cause}", nothing,
			"The {action} is tried all the same in {interval}: the API server then decides about each object", helmv2.ReasonDryRunDenied),
		row(TooLarge, "Helm {action} refused for release {release} with chart {chart}: {cause}", nothing,
			"Change the spec, the chart or the values", helmv2.ReasonReleaseTooLarge),
		row(HoldFailed, "Helm rollback of release {release} to revision {revision} failed: {cause}", "Earlier revisions stay",
			"Retries follow with back-off, while retries are left (spec.upgrade)", rollbackFails),
		row(HoldFailedLast, "Helm rollback of release {release} to revision {revision} failed: {cause}", "Earlier revisions stay",
			"No retries are left: set annotation "+helmv2.AnnotationRollbackTo+" to another revision, or remove it", rollbackFails),
		row(DriftUnknown, "Drift cannot be determined: {cause}", nothing, "The objects are compared again after spec.interval", helmv2.ReasonStateError),
	}
}

// stalls are the messages of condition Stalled.
func stalls() []Row {
	return []Row{
		row(RetriesExceeded, "Failed to {action} after {attempts} attempt(s): {cause}", failedStays, noRetries, helmv2.ReasonRetriesExceeded),
		row(RemediatedStalled, "Failed to {action} after {attempts} attempt(s): {cause}", remediated, noRetries, helmv2.ReasonRetriesExceeded),
		row(RejectedStalled, "Failed to {action} after {attempts} attempt(s): {cause}", nothing,
			"Retries still follow with back-off"+atOnce, helmv2.ReasonRetriesExceeded),
		row(NoTargetStalled, "{cause}", failedStays, "Change the spec, the chart or the values: the next upgrade then replaces the failed revision",
			helmv2.ReasonMissingRollbackTarget),
		row(TooLargeStalled, "{cause}", nothing, "Retries follow after a change of the spec, the chart or the values", helmv2.ReasonReleaseTooLarge),
		row(Contested, "{cause}", nothing, "Delete or rename one of the two HelmReleases: the release is taken over when its owner is gone", helmv2.ReasonContested),
		row(PolicyRefused, "{cause}", "The installed release stays",
			"Change the spec or the policy: both trigger the next attempt", helmv2.ReasonPolicyRefused),
		row(RollbackRefused, "Helm release {release} is not rolled back: {cause}", nothing,
			"Set annotation "+helmv2.AnnotationRollbackTo+" to another revision, or remove it", helmv2.ReasonRollbackRefused),
		row(HoldExceeded, "Failed to {action} after {attempts} attempt(s): {cause}", "Earlier revisions stay",
			"Set annotation "+helmv2.AnnotationRollbackTo+" to another revision, or remove it", helmv2.ReasonRetriesExceeded),
	}
}

// wait returns a row about a regular wait.
func wait(kind Kind, what, left, next string, reasons ...string) Row {
	r := row(kind, what, left, next, reasons...)
	r.Waits = true
	return r
}

// waits are the messages about actions that wait.
func waits() []Row {
	const progressing = helmv2.ReasonProgressing
	return []Row{
		wait(Frozen, "{cause}", "The installed release stays", "The action runs when the policy or the spec changes", helmv2.ReasonFrozen),
		wait(AwaitingApproval, "{cause}", "The installed release stays",
			"Approve or reject the ReleasePlan: its change triggers the next attempt", helmv2.ReasonAwaitingApproval),
		wait(ChangeRefused, "{cause}", "The installed release stays",
			"Change the spec, the chart, the values or what refuses the change: the plan is then computed again", helmv2.ReasonAwaitingApproval),
		row(ChangeRejected, "{cause}", "The installed release stays",
			"Change the spec, the chart or the values, or remove spec.rejected of the ReleasePlan", helmv2.ReasonRejected),
		row(PolicyUnavailable, "{cause}", "The installed release stays", "The policies are read again every {interval}", helmv2.ReasonPolicyUnavailable),
		row(HoldRetried, "Helm rollback of release {release} to revision {revision} failed: {cause}", "Earlier revisions stay",
			"Retries follow every {interval} (spec.upgrade.strategy.retryInterval)", helmv2.ReasonRollbackFailed),
		wait(RunningAgain, "Running '{action}' action with timeout of {interval}", "The last attempt failed: {cause}",
			"The result follows when the action has ended", progressing),
		wait(OtherClient, "Helm release {release} has a revision that is not finished: {cause}", nothing,
			"The revision is awaited for {interval} after its last update, and then unlocked", progressing),
		wait(OtherUninstall, "Helm release {release} has a revision that is not finished: {cause}", nothing,
			"The uninstall is awaited for {interval} after its last update, and the release is then upgraded", progressing),
		wait(AwaitDependents, "{cause}", nothing, "The uninstall begins when they are gone, after {interval} at the latest", progressing),
		wait(OperationRunning, "{cause}", nothing, "Helm's actions go on when the Operation has ended", helmv2.ReasonOperationRunning),
		wait(OperationWaiting, "{cause}", nothing, "Helm's actions go on when the Operation has ended", helmv2.ReasonOperationWaiting),
	}
}

// suspensions are the messages about suspended HelmReleases.
func suspensions() []Row {
	const (
		untouched = "The installed release is left alone"
		remove    = "'{command} " + helmv2.AnnotationSuspend + "-'"
		removeAll = "'{command} " + helmv2.AnnotationSuspend + "- " + helmv2.AnnotationSuspendUntil + "-'"
		renew     = "'{command} --overwrite " + helmv2.AnnotationSuspendUntil + "=TIME'"
	)
	return []Row{
		wait(SuspendedBySpec, "{cause}", untouched, "Reconciliation goes on when spec.suspend is false", helmv2.ReasonSuspended),
		wait(Suspended, "{cause}", untouched, "Run "+remove+" to resume", helmv2.ReasonSuspended),
		wait(SuspendedUntil, "{cause}", untouched, "Reconciliation goes on at {until}. Run "+remove+" to resume earlier", helmv2.ReasonSuspended),
		row(SuspensionExpired, "{cause} has expired at {until}", "Nothing is left alone: the release is reconciled",
			"Run "+renew+" to renew the suspension, or "+removeAll+" to remove it", helmv2.ReasonSuspensionExpired),
	}
}
