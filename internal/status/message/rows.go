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
	ClaimsKept        Kind = "ClaimsKept"
	RolledBack        Kind = "RolledBack"
	Uninstalled       Kind = "Uninstalled"
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
	NoTargetStalled   Kind = "NoTargetStalled"
	TooLarge          Kind = "TooLarge"
	Contested         Kind = "Contested"
	PolicyRefused     Kind = "PolicyRefused"
	PolicyUnavailable Kind = "PolicyUnavailable"
	Frozen            Kind = "Frozen"
	AwaitingWindow    Kind = "AwaitingWindow"
	AwaitingRollout   Kind = "AwaitingRollout"
	Baking            Kind = "Baking"
	AwaitingApproval  Kind = "AwaitingApproval"
	ChangeRefused     Kind = "ChangeRefused"
	ChangeRejected    Kind = "ChangeRejected"
	RollbackRefused   Kind = "RollbackRefused"
	HoldFailed        Kind = "HoldFailed"
	HoldFailedLast    Kind = "HoldFailedLast"
	HoldRetried       Kind = "HoldRetried"
	HeldBack          Kind = "HeldBack"
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
	failedStays = "The {outcome} revision stays"
	uninstalled = "The failed release was uninstalled"
	failed      = "{subject} failed: {cause}"
	backoff     = "Retrying with back-off"
	noRetries   = "No retries left: use --reset"
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
		row(Rejected, failed, nothing, "{remedy}{again}", install, upgrade),
		row(RetriedRegularly, failed, failedStays, "{remedy}{again}", install, upgrade, test),
		row(RolledBackNext, failed, "The {outcome} revision stays until the rollback to revision {revision}", "{remedy}{again}", install, upgrade, test),
		row(UninstalledNext, failed, "The {outcome} revision stays until the uninstall", "{remedy}{again}", install, upgrade, test),
		row(NoTarget, failed, failedStays, "There is no revision to roll back to. {remedy}{again}", upgrade, test),
		row(NoRetries, failed, failedStays, "{remedy}{again}", install, upgrade, test),
		row(ClaimsKept, failed, "The {outcome} revision stays, because it holds PersistentVolumeClaims", "{remedy}{again}", install, upgrade, test),
		row(RolledBack, failed, "{runs}", "{remedy}{again}", helmv2.ReasonRollbackSucceeded),
		row(Uninstalled, failed, uninstalled, "{remedy}{again}", install, upgrade, test, helmv2.ReasonUninstallSucceeded),
		row(Remediated, failed, "The {outcome} revision stays until its remediation", "{remedy}{again}", install, upgrade, test),
		row(TestOnly, failed, "The tested revision stays", "{remedy}The tests run again after the next install or upgrade, or on request", test),
		row(TestAgain, failed, "The tested revision stays", "{remedy}The tests run again with back-off", test),
		row(RollbackFailed, failed, failedStays, "{remedy}Retrying with back-off while retries are left", rollbackFails),
		row(UninstallFailed, failed, "Objects that are not deleted yet stay",
			"Retrying with back-off. With annotation "+helmv2.AnnotationOrphan+", only the HelmRelease is deleted", uninstFails),
		row(UnlockFailed, "Unlock of Helm release {release} in {cause} state failed", nothing, "Retrying with back-off", helmv2.ReasonPendingRelease),
		row(Unlocked, "Unlocked Helm release {release} with chart {chart} in {cause} state", "The objects of the revision stay",
			"The next action starts now", helmv2.ReasonPendingRelease),
		row(Interrupted, "{cause}", "The '{action}' action will be resumed",
			"{remedy}Retrying every {interval}", helmv2.ReasonInterrupted),
		row(ObjectsOwned, "{subject} waits: {cause}", nothing,
			"Retrying with back-off, and at once when the other release changes", helmv2.ReasonObjectsOwned),
		row(DryRunDenied, "{subject} did not start: {cause}", nothing,
			"{remedy}The next attempt, in {interval}, has no dry run", helmv2.ReasonDryRunDenied),
		row(TooLarge, "{subject} is refused: {cause}", nothing, "Change the spec, the chart or the values", helmv2.ReasonReleaseTooLarge),
		row(HoldFailed, failed, "Earlier revisions stay", "{remedy}Retrying with back-off while retries are left", rollbackFails),
		row(HoldRetried, failed, "Earlier revisions stay", "{remedy}{again}", rollbackFails),
		row(HoldFailedLast, failed, "Earlier revisions stay",
			"No retries are left: set annotation "+helmv2.AnnotationRollbackTo+" to another revision, or remove it", rollbackFails),
		row(DriftUnknown, "Drift cannot be determined: {cause}", nothing, "The objects are compared again after spec.interval", helmv2.ReasonStateError),
	}
}

// stalls are the messages of condition Stalled that no failed action has.
func stalls() []Row {
	return []Row{
		row(NoTargetStalled, "{cause}", failedStays, "Change the spec, the chart or the values: the next upgrade then replaces the failed revision",
			helmv2.ReasonMissingRollbackTarget),
		row(RetriesExceeded, "{cause}", failedStays, noRetries, helmv2.ReasonRetriesExceeded, helmv2.ReasonClaimsKept),
		row(Contested, "{cause}", nothing, "Delete or rename one of the two HelmReleases: the release is taken over when its owner is gone", helmv2.ReasonContested),
		row(PolicyRefused, "{cause}", "The installed release stays",
			"Change the spec or the policy", helmv2.ReasonPolicyRefused),
		row(RollbackRefused, "Not rolled back: {cause}", nothing,
			"Set annotation "+helmv2.AnnotationRollbackTo+" to another revision, or remove it", helmv2.ReasonRollbackRefused),
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
		wait(Frozen, "{cause}", "The installed release stays", "The action runs when the policy allows it", helmv2.ReasonFrozen),
		wait(AwaitingWindow, "{cause}", "The installed release stays", "The action runs when the window opens, or after 'kubectl pintle override'", helmv2.ReasonAwaitingWindow),
		wait(AwaitingRollout, "{cause}", "The installed release stays", "The action runs when its turn comes", helmv2.ReasonAwaitingRollout),
		wait(Baking, "{cause}", "The new revision is installed", "Trouble until {until} is a failure of the install or upgrade", helmv2.ReasonBaking),
		wait(AwaitingApproval, "{cause}", "The installed release stays",
			"Approve or reject the plan", helmv2.ReasonAwaitingApproval),
		wait(ChangeRefused, "{cause}", "The installed release stays",
			"Change the spec, the chart, the values or what refuses the change", helmv2.ReasonAwaitingApproval),
		row(ChangeRejected, "{cause}", "The installed release stays",
			"Change the spec, the chart or the values, or withdraw the rejection", helmv2.ReasonRejected),
		row(PolicyUnavailable, "{cause}", "The installed release stays", "The policies are read again every {interval}", helmv2.ReasonPolicyUnavailable),
		wait(RunningAgain, "Running '{action}' action with timeout of {interval}", "The last attempt failed: {cause}",
			"The result follows when the action has ended", progressing),
		wait(OtherClient, "Helm release {release} has a revision that is not finished: {cause}", nothing,
			"The revision is awaited for {interval} after its last update, and then unlocked", progressing),
		wait(OtherUninstall, "Helm release {release} has a revision that is not finished: {cause}", nothing,
			"The uninstall is awaited for {interval} after its last update, and the release is then upgraded", progressing),
		wait(AwaitDependents, "{cause}", nothing, "The uninstall begins when they are gone, after {interval} at the latest", progressing),
		wait(HeldBack, "{cause}", "The spec wants {cause}", "Remove annotation "+helmv2.AnnotationRollbackTo+" to follow the spec", helmv2.ReasonRolledBack),
		wait(OperationRunning, "{cause}", nothing, "Helm's actions go on when the Operation has ended", helmv2.ReasonOperationRunning),
		wait(OperationWaiting, "{cause}", nothing, "Helm's actions go on when the Operation has ended", helmv2.ReasonOperationWaiting),
	}
}

// suspensions are the messages about suspended HelmReleases.
func suspensions() []Row {
	const untouched = "The installed release is left alone"
	return []Row{
		wait(SuspendedBySpec, "{cause}", untouched, "Reconciliation goes on when spec.suspend is false", helmv2.ReasonSuspended),
		wait(Suspended, "{cause}", untouched, "Run 'kubectl pintle resume {object}'", helmv2.ReasonSuspended),
		wait(SuspendedUntil, "{cause}", untouched, "Reconciliation goes on at {until}, or after 'kubectl pintle resume {object}'", helmv2.ReasonSuspended),
		row(SuspensionExpired, "{cause} has expired at {until}", "The release is reconciled",
			"Run 'kubectl pintle resume {object}' to remove the annotations", helmv2.ReasonSuspensionExpired),
	}
}
