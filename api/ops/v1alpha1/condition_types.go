// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizer keeps an Operation until nothing of it runs and it holds no lock. It is taken away as soon as that is so, not
// only when the Operation is deleted.
const Finalizer string = "ops.vworkspace.io/operation"

// Labels and annotations that we write.
const (
	// AnnotationHolder, on a HelmRelease, holds the UID of the Operation that has the release to itself. It is the lock
	// between Operations and Helm actions: written by compare-and-swap on the resourceVersion, and only while no action is
	// announced. It means nothing if there is no such Operation any more, or that Operation is in a final phase.
	AnnotationHolder string = Group + "/holder"

	// LabelOperation, on all that is made for an Operation and on its pods, holds the Operation's UID.
	LabelOperation string = Group + "/operation"

	// LabelSourceHook holds the name of the hook that a Job is made from, if it fits into a label.
	LabelSourceHook string = Group + "/source-hook"

	// AnnotationSourceHook holds the name of the hook always.
	AnnotationSourceHook string = Group + "/source-hook"

	// AnnotationHookDigest, on a Job, holds the SHA-256 of the stored manifest that it is made from, as sha256:<hex>.
	AnnotationHookDigest string = Group + "/hook-digest"

	// AnnotationRevision holds the number of the revision that an object is made from.
	AnnotationRevision string = Group + "/revision"

	// LabelManagedBy is set to ManagedBy on all that is made for an Operation.
	LabelManagedBy string = "app.vworkspace.io/managed-by"

	// LabelClusterID holds the name of the cluster, if the controller was told one.
	LabelClusterID string = "app.vworkspace.io/cluster-id"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy string = "pintle"
)

// Types of conditions. Each is only present if there is something to say.
const (
	// ConditionAccepted tells whether the Operation can be carried out as it is written. Unknown while its target or its
	// hook cannot be looked at yet.
	ConditionAccepted string = "Accepted"

	// ConditionRunning tells whether a Job runs.
	ConditionRunning string = "Running"

	// ConditionBlocked is True while the Operation waits for somebody or something, and says for what.
	ConditionBlocked string = "Blocked"

	// ConditionSucceeded is True in phase Succeeded.
	ConditionSucceeded string = "Succeeded"

	// ConditionFailed is True in phase Failed.
	ConditionFailed string = "Failed"

	// ConditionCancelled is True in phase Cancelled, and False while the work is being stopped.
	ConditionCancelled string = "Cancelled"
)

// Reasons why an Operation cannot be carried out. Of conditions Accepted, which is False, and Failed.
const (
	// ReasonEngineNotSupported says that the engine is not implemented.
	ReasonEngineNotSupported string = "EngineNotSupported"

	// ReasonHookNotFound says that the release has no such hook. Also of Blocked.
	ReasonHookNotFound string = "HookNotFound"

	// ReasonHookRequiresRelease says that there is no released revision to take a hook from.
	ReasonHookRequiresRelease string = "HookRequiresRelease"

	// ReasonRevisionNotFound says that the revision asked for is not stored.
	ReasonRevisionNotFound string = "RevisionNotFound"

	// ReasonEventMismatch says that the hook is not for a release that is there.
	ReasonEventMismatch string = "EventMismatch"

	// ReasonHookNotSupported says that the hook cannot be made into a Job, and why.
	ReasonHookNotSupported string = "HookNotSupported"

	// ReasonHookAmbiguous says that several hooks have the name.
	ReasonHookAmbiguous string = "HookAmbiguous"

	// ReasonNamespaceMismatch says that the hook, or its release, lives in another namespace.
	ReasonNamespaceMismatch string = "NamespaceMismatch"

	// ReasonTargetNotSupported says that the release is not one that hooks can be run for, such as one in another cluster.
	ReasonTargetNotSupported string = "TargetNotSupported"

	// ReasonReleaseChanged says that the revision was changed between two Jobs of one Operation.
	ReasonReleaseChanged string = "ReleaseChanged"

	// ReasonRecordNotVerified says that the record of the revision does not agree with status.history of the HelmRelease,
	// or cannot be compared with it. Also of Blocked, as long as the revision may still be recorded there.
	ReasonRecordNotVerified string = "RecordNotVerified"

	// ReasonTargetDeleted says that the target is being deleted.
	ReasonTargetDeleted string = "TargetDeleted"
)

// Reasons of waiting, of condition Blocked. If the time is up, they are of Failed.
const (
	// ReasonTargetNotFound says that there is no target, or no HelmRelease that belongs to it.
	ReasonTargetNotFound string = "TargetNotFound"

	// ReasonTargetAmbiguous says that several HelmReleases belong to the target.
	ReasonTargetAmbiguous string = "TargetAmbiguous"

	// ReasonMissingDependencies says that something the hook refers to is not there, and names it.
	ReasonMissingDependencies string = "MissingDependencies"

	// ReasonJobRefused says that the API server would not take the Job, or what comes with it, and why.
	ReasonJobRefused string = "JobRefused"

	// ReasonAccessDenied says that the identity of the release lacks a right.
	ReasonAccessDenied string = "AccessDenied"

	// ReasonStorageError says that the release's storage could not be read.
	ReasonStorageError string = "StorageError"

	// ReasonReleaseBusy says that a Helm action runs on the release.
	ReasonReleaseBusy string = "ReleaseBusy"

	// ReasonReleaseHeld says that another Operation has the release.
	ReasonReleaseHeld string = "ReleaseHeld"
)

// Reasons that tell how the work goes.
const (
	// ReasonAccepted says that nothing is wrong with the Operation. Of Accepted.
	ReasonAccepted string = "Accepted"

	// ReasonPending says that the Operation was not judged yet. Of Accepted, which is Unknown.
	ReasonPending string = "Pending"

	// ReasonHelmHookJobActive says that the Job runs. Of Running.
	ReasonHelmHookJobActive string = "HelmHookJobActive"

	// ReasonHelmHookJobSucceeded says that the Job, or all of them, succeeded. Of Succeeded and Running.
	ReasonHelmHookJobSucceeded string = "HelmHookJobSucceeded"

	// ReasonHelmHookJobFailed says that the Job failed for good. Of Failed and Running.
	ReasonHelmHookJobFailed string = "HelmHookJobFailed"

	// ReasonJobLost says that somebody else deleted or replaced the Job before its result was known. Of Failed and
	// Running.
	ReasonJobLost string = "JobLost"

	// ReasonJobNameTaken says that an object that is not ours has the Job's name. Of Failed.
	ReasonJobNameTaken string = "JobNameTaken"

	// ReasonCancelled says that the work was stopped on request. Of Cancelled and Running.
	ReasonCancelled string = "Cancelled"

	// ReasonCancelling says that the work is being stopped. Of Cancelled and Running.
	ReasonCancelling string = "Cancelling"
)

// Reasons of a Job's failure: values of outputs.reason. Others are Kubernetes' own words, such as Evicted.
const (
	// ResultOOMKilled says that a container used too much memory.
	ResultOOMKilled string = "OOMKilled"

	// ResultKilled says that a container was killed, and that the node does not say why. Often it used too much memory.
	ResultKilled string = "Killed"

	// ResultDeadlineExceeded says that the Job took too long.
	ResultDeadlineExceeded string = "DeadlineExceeded"

	// ResultBackoffLimitExceeded says that the Job failed as often as it may. The exit code tells more.
	ResultBackoffLimitExceeded string = "BackoffLimitExceeded"

	// ResultImagePull says that an image could not be had.
	ResultImagePull string = "ImagePull"

	// ResultUnschedulable says that there was no node for the pod.
	ResultUnschedulable string = "Unschedulable"

	// ResultError says that the Job failed, and Kubernetes does not say why.
	ResultError string = "Error"
)
