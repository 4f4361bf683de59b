// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations of a HelmRelease.
const (
	// AnnotationPlan requests a plan. Every new value is a new request. It has an effect on
	// suspended HelmReleases too.
	AnnotationPlan string = Group + "/plan"

	// AnnotationApprove approves a plan while the HelmRelease is being deleted. The value is the
	// digest of the plan.
	AnnotationApprove string = Group + "/approve"
)

// Names on other objects.
const (
	// AnnotationResumeRollout, on a ReleasePolicy or ClusterReleasePolicy, resumes its rollouts: failures
	// until then no longer count. The value is the time, as RFC 3339.
	AnnotationResumeRollout string = Group + "/resume-rollout"

	// AnnotationApprovedBy, on the record of a revision, is spec.approvedBy of the plan that the
	// revision was made of.
	AnnotationApprovedBy string = Group + "/approved-by"

	// AnnotationOverriddenBy and AnnotationOverrideReason, on the record of a revision, are the user
	// and the reason of the override under which the revision was made.
	AnnotationOverriddenBy   string = Group + "/overridden-by"
	AnnotationOverrideReason string = Group + "/override-reason"

	// LabelPlan, on the Secret with the rendered text of a plan, is the UID of the HelmRelease.
	LabelPlan string = Group + "/plan"

	// SecretTypePlan is the type of the Secret with the rendered text of a plan.
	SecretTypePlan string = Group + "/plan.v1"

	// VerbApprove is the verb on releaseplans that the admission policy requires of users who
	// approve.
	VerbApprove string = "approve"

	// VerbOverride is the verb on releaseplans that the admission policy OverridePolicy requires of
	// users who override.
	VerbOverride string = "override"

	// OverridePolicy is the name of the ValidatingAdmissionPolicy for overrides, and of its binding.
	OverridePolicy string = "release-override." + Group

	// ReplacePolicy is the name of the ValidatingAdmissionPolicy for the objects that approvals name to be
	// replaced, and of its binding. It requires the verb VerbApprove.
	ReplacePolicy string = "release-replace." + Group
)

// Conditions of a ReleasePlan.
const (
	// ConditionReady is True if the plan is computed and no change is refused.
	ConditionReady string = "Ready"

	// ConditionApproved is True if the plan may be applied.
	ConditionApproved string = "Approved"

	// ConditionApplied is True after the plan was applied.
	ConditionApplied string = "Applied"
)

// Reasons of the conditions of a ReleasePlan.
const (
	// ReasonComputed is the reason of Ready=True.
	ReasonComputed string = "Computed"

	// ReasonRefused means that the API server or a policy refuses a change. Of Ready=False.
	ReasonRefused string = "Refused"

	// ReasonFailed means that the plan could not be computed, or that the action failed. Of Ready
	// and Applied.
	ReasonFailed string = "Failed"

	// ReasonApproved is the reason of Approved=True if spec.approved is the digest of the plan.
	ReasonApproved string = "Approved"

	// ReasonNotRequired means that no policy requires approval. Of Approved=True.
	ReasonNotRequired string = "NotRequired"

	// ReasonAwaitingApproval means that spec.approved is not the digest of the plan. Of
	// Approved=False.
	ReasonAwaitingApproval string = "AwaitingApproval"

	// ReasonRejected means that spec.rejected is the digest of the plan. Of Approved=False.
	ReasonRejected string = "Rejected"

	// ReasonPending means that the plan was not applied yet. Of Applied=False.
	ReasonPending string = "Pending"

	// ReasonApplied is the reason of Applied=True.
	ReasonApplied string = "Applied"
)
