// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizer delays the deletion of an Operation while it has a running Job or holds the lock. It is
// removed as soon as neither is the case, not only when the Operation is deleted. For Jobs in
// another namespace or cluster it stays until they are deleted.
const Finalizer string = "ops.vworkspace.io/operation"

// Labels and annotations that the controller writes.
const (
	// AnnotationHolder, on a HelmRelease, is the UID of the Operation that holds the lock of the
	// release. The lock excludes Helm actions while an Operation runs. It is written only while no
	// action is announced, with a precondition on the resourceVersion. It has no effect if the
	// Operation no longer exists, or is in a final phase.
	AnnotationHolder string = Group + "/holder"

	// LabelOperation, on all objects of an Operation and on its Pods, is the Operation's UID.
	LabelOperation string = Group + "/operation"

	// AnnotationOperation, on objects in another namespace or cluster than the Operation, is its
	// namespace and name.
	AnnotationOperation string = Group + "/operation"

	// LabelSourceHook is the name of the hook that a Job is created from, if it is a valid label
	// value.
	LabelSourceHook string = Group + "/source-hook"

	// AnnotationSourceHook is the name of the hook, without restrictions on its length.
	AnnotationSourceHook string = Group + "/source-hook"

	// AnnotationHookDigest, on a Job, is the SHA-256 of the stored manifest that it is created
	// from, as sha256:<hex>.
	AnnotationHookDigest string = Group + "/hook-digest"

	// AnnotationRevision is the number of the revision that an object is created from.
	AnnotationRevision string = Group + "/revision"

	// LabelManagedBy is set to ManagedBy on all objects of an Operation.
	LabelManagedBy string = "app.vworkspace.io/managed-by"

	// LabelClusterID is the name of the cluster, if the controller is configured with one.
	LabelClusterID string = "app.vworkspace.io/cluster-id"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy string = "pintle"
)

// Types of conditions. Each is present only when it applies.
const (
	// ConditionAccepted is True if the Operation is valid. It is Unknown until its target and its
	// hook have been read.
	ConditionAccepted string = "Accepted"

	// ConditionRunning is True while a Job runs.
	ConditionRunning string = "Running"

	// ConditionBlocked is True while the Operation waits. The message has the reason.
	ConditionBlocked string = "Blocked"

	// ConditionSucceeded is True in phase Succeeded.
	ConditionSucceeded string = "Succeeded"

	// ConditionFailed is True in phase Failed.
	ConditionFailed string = "Failed"

	// ConditionCancelled is True in phase Cancelled, and False while the Job is being stopped.
	ConditionCancelled string = "Cancelled"
)

// Reasons why an Operation is rejected. Of conditions Accepted, which is False, and Failed.
const (
	// ReasonEngineNotSupported means that the engine is not implemented.
	ReasonEngineNotSupported string = "EngineNotSupported"

	// ReasonHookNotFound means that the release has no such hook. Also of Blocked.
	ReasonHookNotFound string = "HookNotFound"

	// ReasonHookRequiresRelease means that there is no released revision to take a hook from.
	ReasonHookRequiresRelease string = "HookRequiresRelease"

	// ReasonRevisionNotFound means that the requested revision is not stored.
	ReasonRevisionNotFound string = "RevisionNotFound"

	// ReasonEventMismatch means that the hook is not for existing releases.
	ReasonEventMismatch string = "EventMismatch"

	// ReasonHookNotSupported means that no Job can be created from the hook. The message has the
	// cause.
	ReasonHookNotSupported string = "HookNotSupported"

	// ReasonHookAmbiguous means that several hooks have the name.
	ReasonHookAmbiguous string = "HookAmbiguous"

	// ReasonNamespaceMismatch means that the hook has another namespace than its release.
	ReasonNamespaceMismatch string = "NamespaceMismatch"

	// ReasonReleaseChanged means that the revision was changed between two Jobs of one Operation,
	// or the namespace, cluster or identity of the release after the Operation had started.
	ReasonReleaseChanged string = "ReleaseChanged"

	// ReasonRecordNotVerified means that the record of the revision does not match status.history
	// of the HelmRelease, or cannot be compared with it. Also of Blocked, as long as the revision
	// may still be added there.
	ReasonRecordNotVerified string = "RecordNotVerified"

	// ReasonPolicyRefused means that a policy does not allow the hook.
	ReasonPolicyRefused string = "PolicyRefused"

	// ReasonPlanFailed means that there is no plan of an upgrade that the hook of the next version could
	// be taken from. The message has the cause.
	ReasonPlanFailed string = "PlanFailed"

	// ReasonPlanChanged means that the plan was replaced, applied or deleted before the Job was created.
	ReasonPlanChanged string = "PlanChanged"

	// ReasonSkipNotGuarded means that skipInUpgrade was set without the admission policy that checks who
	// may do that.
	ReasonSkipNotGuarded string = "SkipNotGuarded"

	// ReasonTargetDeleted means that the target is being deleted.
	ReasonTargetDeleted string = "TargetDeleted"
)

// Reasons of condition Blocked. After the time limit they are of Failed.
const (
	// ReasonTargetNotFound means that there is no target, or no HelmRelease that belongs to it.
	ReasonTargetNotFound string = "TargetNotFound"

	// ReasonTargetAmbiguous means that several HelmReleases belong to the target.
	ReasonTargetAmbiguous string = "TargetAmbiguous"

	// ReasonMissingDependencies means that objects that the hook refers to are missing. The message
	// has their names.
	ReasonMissingDependencies string = "MissingDependencies"

	// ReasonJobRefused means that the API server rejected the Job or an object for it. The message
	// has the error.
	ReasonJobRefused string = "JobRefused"

	// ReasonAccessDenied means that the identity of the release lacks a right.
	ReasonAccessDenied string = "AccessDenied"

	// ReasonStorageError means that the release's storage could not be read.
	ReasonStorageError string = "StorageError"

	// ReasonClusterUnreachable means that the cluster of the release cannot be reached.
	ReasonClusterUnreachable string = "ClusterUnreachable"

	// ReasonReleaseBusy means that a Helm action runs on the release.
	ReasonReleaseBusy string = "ReleaseBusy"

	// ReasonReleaseHeld means that another Operation holds the lock of the release.
	ReasonReleaseHeld string = "ReleaseHeld"

	// ReasonPolicyUnavailable means that the policies of the release cannot be read.
	ReasonPolicyUnavailable string = "PolicyUnavailable"

	// ReasonAwaitingPlan means that the plan with the hook of the next version is not computed yet, or
	// that its Secret does not have its text.
	ReasonAwaitingPlan string = "AwaitingPlan"

	// ReasonAwaitingApproval means that a policy demands approval, and that spec.approved is not the
	// digest in status.awaitingApproval.
	ReasonAwaitingApproval string = "AwaitingApproval"
)

// Reasons of progress and results.
const (
	// ReasonAccepted means that the Operation is valid. Of Accepted.
	ReasonAccepted string = "Accepted"

	// ReasonPending means that the Operation was not validated yet. Of Accepted, which is Unknown.
	ReasonPending string = "Pending"

	// ReasonHelmHookJobActive means that the Job runs. Of Running.
	ReasonHelmHookJobActive string = "HelmHookJobActive"

	// ReasonHelmHookJobSucceeded means that the Job, or all of them, succeeded. Of Succeeded and
	// Running.
	ReasonHelmHookJobSucceeded string = "HelmHookJobSucceeded"

	// ReasonHelmHookJobFailed means that the Job failed for good. Of Failed and Running.
	ReasonHelmHookJobFailed string = "HelmHookJobFailed"

	// ReasonJobLost means that another client deleted or replaced the Job before its result was
	// known. Of Failed and Running.
	ReasonJobLost string = "JobLost"

	// ReasonJobNameTaken means that another object has the Job's name. Of Failed.
	ReasonJobNameTaken string = "JobNameTaken"

	// ReasonCancelled means that the Operation was cancelled on request. Of Cancelled and Running.
	ReasonCancelled string = "Cancelled"

	// ReasonObjectsLeft means that the finalizer was removed, and objects of the Operation may still
	// exist. Of an event only.
	ReasonObjectsLeft string = "ObjectsLeft"

	// ReasonCancelling means that the Job is being stopped. Of Cancelled and Running.
	ReasonCancelling string = "Cancelling"
)

// Reasons of a Job's failure: values of outputs.reason. Other values come from Kubernetes, such as
// Evicted.
const (
	// ResultOOMKilled means that a container exceeded its memory limit.
	ResultOOMKilled string = "OOMKilled"

	// ResultKilled means that a container was killed for an unknown reason. Often it exceeded its
	// memory limit.
	ResultKilled string = "Killed"

	// ResultDeadlineExceeded means that the Job exceeded its deadline.
	ResultDeadlineExceeded string = "DeadlineExceeded"

	// ResultBackoffLimitExceeded means that the Job failed after all retries. The exit code has
	// more information.
	ResultBackoffLimitExceeded string = "BackoffLimitExceeded"

	// ResultImagePull means that an image could not be pulled.
	ResultImagePull string = "ImagePull"

	// ResultUnschedulable means that the Pod could not be scheduled.
	ResultUnschedulable string = "Unschedulable"

	// ResultError means that the Job failed for an unknown reason.
	ResultError string = "Error"
)
