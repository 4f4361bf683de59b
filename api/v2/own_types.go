// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// Names that helm-controller does not have.

const (
	// ReasonUnsupportedField means that the spec uses a field that this version does not implement.
	// Only a change of the spec helps, so the release is stalled.
	ReasonUnsupportedField string = "UnsupportedField"

	// ReasonTargetUnavailable means that the spec sets another release name, namespace or chart,
	// and the release cannot be installed there. The existing release stays. Of Ready.
	ReasonTargetUnavailable string = "TargetUnavailable"

	// LabelRevision is set on the Helm storage record of every revision that this controller
	// creates, to "<UID of the HelmRelease>.<revision>". Helm copies labels from one revision to
	// the next, so the label counts only if it has the number of its own revision.
	LabelRevision string = "pintle.dev/revision"

	// LabelInterrupted marks the storage record of a failed revision whose action was interrupted:
	// the controller cancelled it, or died and later unlocked the revision. Such a failure is not
	// counted. The value is "true".
	LabelInterrupted string = "pintle.dev/interrupted"

	// LabelOutdated marks the storage record of a failed revision whose wait ended because its
	// inputs had changed in the meantime. Such a failure is not counted either. The value is
	// "true".
	LabelOutdated string = "pintle.dev/outdated"

	// LabelApplied marks the storage record of a revision whose objects had all been applied when
	// its wait started. It counts only together with a valid LabelRevision. The value is the number
	// of the revision.
	LabelApplied string = "pintle.dev/applied"

	// LabelRollback marks the storage record of a revision that a rollback created. The value is
	// the number of the revision, as for LabelApplied.
	LabelRollback string = "pintle.dev/rollback"

	// LabelUndeployed marks the storage record of a revision that has failed, when Helm replaces its
	// status by uninstalling or superseded. The value is "<revision>.<oldest stored revision>".
	LabelUndeployed string = "pintle.dev/undeployed"

	// LabelRolledBackTo marks the storage record of a revision that a rollback by
	// AnnotationRollbackTo created. The value is the number of the revision that was rolled back
	// to. It counts only together with a valid LabelRollback.
	LabelRolledBackTo string = "pintle.dev/rolled-back-to"

	// ActionRecheck checks the objects of a revision that failed only by waiting. Never in history.
	ActionRecheck ReleaseAction = "health check"

	// ActionBake is the watch over a revision after it was made, as a policy demands. Never in history.
	ActionBake ReleaseAction = "bake"

	// AnnotationSuspend on a HelmRelease suspends it like spec.suspend. The value is the reason.
	AnnotationSuspend string = "pintle.dev/suspend"

	// AnnotationSuspendUntil is the time in RFC 3339 at which the suspension by AnnotationSuspend
	// ends.
	AnnotationSuspendUntil string = "pintle.dev/suspend-until"

	// AnnotationRollbackTo on a HelmRelease rolls the release back to the stored revision with this
	// number, and holds it there: changes of the spec have no effect until the annotation is
	// removed.
	AnnotationRollbackTo string = "pintle.dev/rollback-to"

	// AnnotationRollbackUntil is the time in RFC 3339 at which the hold by AnnotationRollbackTo
	// ends.
	AnnotationRollbackUntil string = "pintle.dev/rollback-until"

	// AnnotationRollbackReason says why the release is held by AnnotationRollbackTo, for other users.
	AnnotationRollbackReason string = "pintle.dev/rollback-reason"

	// AnnotationTestAt on a HelmRelease requests one run of the chart's tests on the newest
	// revision; every new value is a new request.
	AnnotationTestAt string = "pintle.dev/test-at"

	// AnnotationHandled on a HelmRelease has the requests by annotation that were accepted, as a
	// JSON object of annotations and their values. The controller writes it before it acts, so that
	// a request is never carried out twice.
	AnnotationHandled string = "pintle.dev/handled"

	// AnnotationFailEarly on a HelmRelease, with the value "false", disables the early end of
	// waits. They then last until their timeout, even if an object certainly cannot become ready.
	AnnotationFailEarly string = "pintle.dev/fail-early"

	// AnnotationKeepClaims on a HelmRelease, with the value "true", excludes a release that holds
	// PersistentVolumeClaims from remediation by uninstall. A failed upgrade is rolled back instead, a
	// failed install stays, and no retry follows.
	AnnotationKeepClaims string = "pintle.dev/keep-claims"

	// EventMetadataFailure is the key of the failure code of an event.
	EventMetadataFailure string = "pintle.dev/failure"

	// EventMetadataObject is the key of the object that the failure code is about, as
	// "<kind>/<namespace>/<name>".
	EventMetadataObject string = "pintle.dev/object"

	// AnnotationAttempt on the objects of hooks is the ID of the attempt that created them. It is not
	// part of the stored manifest. On the record of a revision, it is the attempt itself as JSON.
	AnnotationAttempt string = "pintle.dev/attempt"

	// AnnotationSeal on the record of a revision is a message authentication code over the rest of the
	// record, with a key that only the controller has. A record without a valid one may be written by
	// anyone who may write Secrets.
	AnnotationSeal string = "pintle.dev/seal"

	// AnnotationSourceRevision on the record of a revision is the revision of the source that the
	// chart came from, such as "main@sha1:0123abcd".
	AnnotationSourceRevision string = "pintle.dev/source-revision"

	// AnnotationEnded on the record of a revision is the time in RFC 3339 at which the action that made it
	// ended. Later writes of the record keep it.
	AnnotationEnded string = "pintle.dev/ended"

	// EventMetadataCause is the key of the failure code in posted events, and the next one of its object.
	// notification-controller drops keys whose prefix is neither its own nor the
	// group of the object.
	EventMetadataCause string = Group + "/cause"
	// EventMetadataCauseObject is the object of that cause.
	EventMetadataCauseObject string = Group + "/object"

	// EventMetadataDetails is the key of the diagnosis of that object and its Pods: status,
	// conditions, containers, warnings. Each is one line.
	EventMetadataDetails string = "pintle.dev/details"

	// EventMetadataLogs is the key of the last log lines of an action: the lines of containers and
	// of Helm.
	EventMetadataLogs string = "pintle.dev/logs"

	// AnnotationOrphan on a HelmRelease keeps the Helm release when the HelmRelease is deleted. It
	// can also be set during the deletion. The value "false" has no effect.
	AnnotationOrphan string = "pintle.dev/orphan"

	// AnnotationUninstallDisableHooks on a HelmRelease disables the hooks of the uninstall when the
	// HelmRelease is deleted. It can also be set during the deletion. The value "false" has no
	// effect.
	AnnotationUninstallDisableHooks string = "pintle.dev/uninstall-disable-hooks"

	// EventReasonDependentsLeft means that a release is uninstalled before others that depend on
	// it.
	EventReasonDependentsLeft string = "DependentsLeft"

	// ConditionFailing is True while Ready is False because of a failure. The reason is the failure
	// code, and the message is the cause, which the failed action has recorded. Absent otherwise.
	ConditionFailing string = "Failing"

	// ConditionLocked is True while Helm's actions wait for an Operation. The message has the name of
	// the Operation. Absent otherwise.
	ConditionLocked string = "Locked"

	// ConditionBaking is True while a release is watched after an install or upgrade, as a policy
	// demands. Absent otherwise.
	ConditionBaking string = "Baking"

	// ReasonPolicyUnavailable means that an action waits, because policies cannot be read. Of Ready.
	ReasonPolicyUnavailable string = "PolicyUnavailable"

	// ReasonPolicyRefused means that a policy refuses the chart or a change. Of Ready and Stalled.
	ReasonPolicyRefused string = "PolicyRefused"

	// ReasonFrozen means that a policy freezes the release, and an action waits. Of Ready.
	ReasonFrozen string = "Frozen"

	// ReasonAwaitingWindow means that an action waits until the windows of a policy open. Of Ready.
	ReasonAwaitingWindow string = "AwaitingWindow"

	// ReasonAwaitingRollout means that an action waits until the rollout of a policy lets it start. Of
	// Ready.
	ReasonAwaitingRollout string = "AwaitingRollout"

	// EventReasonBakeSucceeded means that a release was watched after an install or upgrade, without
	// trouble.
	EventReasonBakeSucceeded string = "BakeSucceeded"

	// ReasonBaking means that a release is watched after an install or upgrade, as a policy demands. Of
	// Ready, Baking and Reconciling.
	ReasonBaking string = "Baking"

	// ReasonAwaitingApproval means that an action waits until its plan is approved. Of Ready.
	ReasonAwaitingApproval string = "AwaitingApproval"

	// ReasonRejected means that a user has rejected the plan of an action. Of Ready, Stalled and Failing.
	ReasonRejected string = "Rejected"

	// ReasonPlanFailed means that an action waits, because its plan cannot be computed. Of Ready.
	ReasonPlanFailed string = "PlanFailed"

	// EventReasonPolicyOverridden means that an action starts that a policy holds, since a user has
	// overridden the policy for its plan.
	EventReasonPolicyOverridden string = "PolicyOverridden"

	// EventReasonApprovalVoid means that the cluster has changed since the plan was computed, so
	// that its approval is void.
	EventReasonApprovalVoid string = "ApprovalVoid"

	// ReasonOperationRunning means that the Operation holds the lock of the release. Of Locked.
	ReasonOperationRunning string = "OperationRunning"

	// ReasonOperationWaiting means that the Operation waits for the lock of the release, and will
	// get it next. Of Locked.
	ReasonOperationWaiting string = "OperationWaiting"

	// ConditionRolledBack is True while the release is held at the revision in
	// AnnotationRollbackTo. It is False if the release cannot be rolled back, or if the time of the
	// hold is over. Absent without the annotation.
	ConditionRolledBack string = "RolledBack"

	// ReasonRolledBack means that the release is held at a revision. Of RolledBack; of Ready too,
	// which is Unknown while the spec requests something else. Of an event when the hold starts.
	ReasonRolledBack string = "RolledBack"

	// ReasonRollbackRefused means that the release cannot be rolled back to the revision in
	// AnnotationRollbackTo: the revision is missing, has failed or was changed. Nothing is changed.
	// Of RolledBack, Ready, Stalled and an event.
	ReasonRollbackRefused string = "RollbackRefused"

	// ReasonRollbackExpired means that the time in AnnotationRollbackUntil is over, so that the
	// release follows its spec. Of RolledBack and an event.
	ReasonRollbackExpired string = "RollbackExpired"

	// EventReasonTestInterrupted means that a requested run of the tests was interrupted, and is
	// not repeated.
	EventReasonTestInterrupted string = "TestInterrupted"

	// ConditionSuspended is True while an annotation suspends the release, and False if the time in
	// AnnotationSuspendUntil is over. Absent without the annotation, and while spec.suspend is set:
	// helm-controller would keep the condition after a resumption.
	ConditionSuspended string = "Suspended"

	// ReasonSuspended means that the release is suspended. Of an event too, when the suspension
	// starts.
	ReasonSuspended string = "Suspended"

	// ReasonSuspensionExpired means that the time in AnnotationSuspendUntil is over, so that the
	// release is reconciled. Of Suspended and an event.
	ReasonSuspensionExpired string = "SuspensionExpired"

	// EventReasonResumed means that the release is no longer suspended.
	EventReasonResumed string = "Resumed"

	// EventReasonOrphaned means that a HelmRelease was deleted and its Helm release was kept.
	EventReasonOrphaned string = "ReleaseOrphaned"

	// EventReasonLeftBehind means that a HelmRelease leads to another cluster, and that its release
	// stays in the former one.
	EventReasonLeftBehind string = "ReleaseLeftBehind"

	// ReasonReleaseTooLarge means that the action was not started because the revision exceeds the
	// size limit of Helm's storage. Only a change of spec, chart or values helps, so the release is
	// stalled.
	ReasonReleaseTooLarge string = "ReleaseTooLarge"

	// EventReasonReleaseNearlyTooLarge means that a new revision takes 80 % or more of the size
	// limit of Helm's storage.
	EventReasonReleaseNearlyTooLarge string = "ReleaseNearlyTooLarge"

	// ReasonContested means that another HelmRelease owns the same Helm release.
	ReasonContested string = "Contested"

	// ReasonObjectsOwned means that other existing Helm releases own objects that an install or
	// upgrade would create, so that nothing was changed.
	ReasonObjectsOwned string = "ObjectsOwned"

	// ReasonDryRunDenied means that dry runs have denied objects of an install or upgrade for reasons
	// that may depend on other objects of it, so that nothing was changed. The next attempt goes ahead.
	// Of conditions Released and Ready, and of an event.
	ReasonDryRunDenied string = "DryRunDenied"

	// ReasonInterrupted means that an action was interrupted because a server has not answered
	// since the time in the message. The action is retried. Of condition Ready, and of an event at
	// the first interruption.
	ReasonInterrupted string = "Interrupted"

	// EventReasonObjectsAdopted means that a release has taken over existing objects without owner.
	EventReasonObjectsAdopted string = "ObjectsAdopted"

	// EventReasonObjectsKept means that an action has not deleted objects of the release: other
	// releases own them by now, a policy protects them, or they are Namespaces.
	EventReasonObjectsKept string = "ObjectsKept"

	// EventReasonObjectsSkipped means that an action has left out objects of a stored revision,
	// because the API server no longer serves their kinds.
	EventReasonObjectsSkipped string = "ObjectsSkipped"
)

// Failure codes are the causes of failed actions. They occur in events and metrics, and are stable.
const (
	FailureImageNotFound      string = "ImageNotFound"
	FailureImageNameInvalid   string = "ImageNameInvalid"
	FailureImagePull          string = "ImagePullFailed"
	FailureOOMKilled          string = "OOMKilled"
	FailureCrashLoop          string = "CrashLoop"
	FailureContainer          string = "ContainerFailed"
	FailureConfigMissing      string = "ConfigMissing"
	FailureNotStarted         string = "ContainerNotStarted"
	FailureProbe              string = "ProbeFailed"
	FailureUnschedulable      string = "Unschedulable"
	FailureVolumeNotBound     string = "VolumeNotBound"
	FailureMount              string = "MountFailed"
	FailureSandbox            string = "SandboxFailed"
	FailureEvicted            string = "Evicted"
	FailurePod                string = "PodFailed"
	FailureQuotaExceeded      string = "QuotaExceeded"
	FailureAdmissionDenied    string = "AdmissionDenied"
	FailureWebhookUnavailable string = "WebhookUnavailable"
	FailureForbidden          string = "Forbidden"
	FailureCreate             string = "CreateFailed"
	FailureBackoffLimit       string = "BackoffLimitExceeded"
	FailureDeadline           string = "DeadlineExceeded"
	FailureNotReady           string = "NotReady"
	FailureFailed             string = "Failed"
	FailureKindNotServed      string = "KindNotServed"
	FailureNamespaceNotFound  string = "NamespaceNotFound"
	FailureObjectInvalid      string = "ObjectInvalid"
	FailureChartInvalid       string = "ChartInvalid"
	FailureSource             string = "SourceFailed"
	FailureSchemaInvalid      string = "SchemaInvalid"
	FailureTemplate           string = "TemplateFailed"
)

// FailureCodes returns all failure codes.
func FailureCodes() []string {
	return []string{
		FailureImageNotFound, FailureImageNameInvalid, FailureImagePull, FailureOOMKilled,
		FailureCrashLoop, FailureContainer, FailureConfigMissing, FailureNotStarted, FailureProbe,
		FailureUnschedulable, FailureVolumeNotBound, FailureMount, FailureSandbox, FailureEvicted,
		FailurePod, FailureQuotaExceeded, FailureAdmissionDenied, FailureWebhookUnavailable,
		FailureForbidden, FailureCreate, FailureBackoffLimit, FailureDeadline, FailureNotReady,
		FailureFailed, FailureKindNotServed, FailureNamespaceNotFound, FailureObjectInvalid, FailureChartInvalid, FailureSource, FailureSchemaInvalid, FailureTemplate,
	}
}
