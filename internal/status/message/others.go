// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Kinds of messages about Operations and plans.
const (
	OperationRejected   Kind = "OperationRejected"
	OperationBlocked    Kind = "OperationBlocked"
	OperationUnreached  Kind = "OperationUnreached"
	OperationAwaits     Kind = "OperationAwaits"
	OperationUnapproved Kind = "OperationUnapproved"
	OperationTimedOut   Kind = "OperationTimedOut"
	OperationFailed     Kind = "OperationFailed"
	OperationLost       Kind = "OperationLost"
	OperationEnding     Kind = "OperationEnding"
	PlanFailed          Kind = "PlanFailed"
	PlanRefused         Kind = "PlanRefused"
	PlanRejected        Kind = "PlanRejected"
	PlanAwaitsApproval  Kind = "PlanAwaitsApproval"
	PlanNotApplied      Kind = "PlanNotApplied"
	PlanActionFailed    Kind = "PlanActionFailed"
)

// rejections are the reasons of Operations that cannot be carried out.
func rejections() []string {
	return []string{
		opsv1alpha1.ReasonEngineNotSupported, opsv1alpha1.ReasonHookNotFound, opsv1alpha1.ReasonHookRequiresRelease,
		opsv1alpha1.ReasonRevisionNotFound, opsv1alpha1.ReasonEventMismatch, opsv1alpha1.ReasonHookNotSupported,
		opsv1alpha1.ReasonHookAmbiguous, opsv1alpha1.ReasonNamespaceMismatch,
		opsv1alpha1.ReasonReleaseChanged, opsv1alpha1.ReasonRecordNotVerified, opsv1alpha1.ReasonTargetDeleted,
		opsv1alpha1.ReasonJobNameTaken, opsv1alpha1.ReasonPolicyRefused,
	}
}

// faults are the reasons of Operations that wait because something is missing or rejected.
func faults() []string {
	return []string{
		opsv1alpha1.ReasonTargetNotFound, opsv1alpha1.ReasonTargetAmbiguous, opsv1alpha1.ReasonMissingDependencies,
		opsv1alpha1.ReasonJobRefused, opsv1alpha1.ReasonAccessDenied, opsv1alpha1.ReasonClusterUnreachable, opsv1alpha1.ReasonStorageError,
		opsv1alpha1.ReasonRecordNotVerified, opsv1alpha1.ReasonPolicyUnavailable,
	}
}

// busy are the reasons of Operations that wait for another user of the release.
func busy() []string {
	return []string{opsv1alpha1.ReasonReleaseBusy, opsv1alpha1.ReasonReleaseHeld}
}

// operations are the messages about Operations.
func operations() []Row {
	about := func(kind Kind, waits bool, left, next string, reasons ...string) Row {
		return Row{Kind: kind, About: Operation, Reasons: reasons, Waits: waits, Parts: Parts{What: "{cause}", Left: left, Next: next}}
	}
	const another = "An Operation runs once: create another one"
	return []Row{
		about(OperationRejected, false, "No further Job was created, and the release was not changed", another, rejections()...),
		about(OperationBlocked, false, "No further Job was created, and Helm may act on the release",
			"The Operation goes on when the obstacle is gone, or fails at its deadline", faults()...),
		about(OperationUnreached, false, "Jobs that exist may run",
			"The Operation goes on when its Jobs can be read; a deleted one ends after --operation-cleanup-timeout",
			opsv1alpha1.ReasonClusterUnreachable, opsv1alpha1.ReasonAccessDenied),
		about(OperationAwaits, true, "No further Job was created", "The Operation goes on when the release is free, or fails at its deadline", busy()...),
		about(OperationUnapproved, true, "No further Job was created", "The Operation goes on when it is approved, or fails at its deadline",
			opsv1alpha1.ReasonAwaitingApproval),
		about(OperationTimedOut, false, "No further Job was created", another, slices.Concat(faults(), busy(), []string{opsv1alpha1.ReasonAwaitingApproval})...),
		about(OperationFailed, false, "The release was not changed", "The logs are in status.outputs. "+another, opsv1alpha1.ReasonHelmHookJobFailed),
		about(OperationLost, false, "No further Job was created", another, opsv1alpha1.ReasonJobLost),
		about(OperationEnding, true, "Jobs that have ended stay", "The Operation ends when the Pods have ended", opsv1alpha1.ReasonCancelling),
	}
}

// plans are the messages about ReleasePlans.
func plans() []Row {
	about := func(kind Kind, waits bool, what, left, next string, reasons ...string) Row {
		return Row{Kind: kind, About: ReleasePlan, Reasons: reasons, Waits: waits, Parts: Parts{What: what, Left: left, Next: next}}
	}
	return []Row{
		about(PlanFailed, false, "{cause}", nothing, "The plan is computed again with back-off", v1alpha1.ReasonFailed),
		about(PlanRefused, false, "{cause}", nothing, "Change the spec, the chart, the values or what refuses the change: the plan is then computed again", v1alpha1.ReasonRefused),
		about(PlanRejected, true, "{cause}", nothing, "Change the spec, or remove spec.rejected", v1alpha1.ReasonRejected),
		about(PlanAwaitsApproval, true, "Waiting for approval ({cause})", nothing, "Set spec.approved to status.digest to apply the plan, or spec.rejected", v1alpha1.ReasonAwaitingApproval),
		about(PlanNotApplied, true, "the plan was not applied", nothing, "The plan is applied when no policy holds it", v1alpha1.ReasonPending),
		about(PlanActionFailed, false, "revision {revision}, which was made of this plan, failed", "The failed revision stays",
			"The HelmRelease has the cause, and its retries may carry the plan out again", v1alpha1.ReasonFailed),
	}
}
