// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// What this controller writes beyond what its users' other tools know.

const (
	// ReasonUnsupportedField says that the spec uses a field this version does
	// not implement. Terminal: only a change of the spec helps.
	ReasonUnsupportedField string = "UnsupportedField"

	// ReasonTargetUnavailable says that the release is to be moved, by another name,
	// namespace or chart, and cannot be installed there. It stays where it is. Of Ready.
	ReasonTargetUnavailable string = "TargetUnavailable"

	// LabelRevision stamps the Helm storage record of every revision this
	// controller creates with "<UID of the HelmRelease>.<revision>". Helm copies
	// labels from one revision to the next, so the stamp counts only if it names
	// the number of the revision that carries it.
	LabelRevision string = "pintle.dev/revision"

	// LabelInterrupted marks the storage record of a failed revision whose action
	// was cut off: the controller ended it on purpose, or died and later unlocked
	// what it left. Such a failure is not counted. Its value is "true".
	LabelInterrupted string = "pintle.dev/interrupted"

	// LabelSuperseded marks the storage record of a failed revision whose wait was
	// given up because its inputs had changed in the meantime. Such a failure is
	// not counted either. Its value is "true".
	LabelOutdated string = "pintle.dev/outdated"

	// LabelApplied marks the storage record of a revision whose objects had all
	// been applied when its wait began. It counts only beside a LabelRevision that
	// counts, and its value is the number of the revision.
	LabelApplied string = "pintle.dev/applied"

	// LabelRollback marks the storage record of a revision that a rollback made, as
	// LabelApplied does, with the number of the revision.
	LabelRollback string = "pintle.dev/rollback"

	// ActionHeal looks again at a revision that failed only by waiting. Never in
	// history.
	ActionRecheck ReleaseAction = "health check"

	// AnnotationSuspend on a HelmRelease suspends it as spec.suspend does, for the
	// reason it gives.
	AnnotationSuspend string = "pintle.dev/suspend"

	// AnnotationSuspendUntil ends what AnnotationSuspend began at a time given in
	// RFC 3339.
	AnnotationSuspendUntil string = "pintle.dev/suspend-until"

	// AnnotationFailEarly on a HelmRelease, with the value "false", lets its waits last
	// as long as they may, even if what they wait for will certainly not come about.
	AnnotationFailEarly string = "pintle.dev/fail-early"

	// EventMetadataFailure is the key of the failure code of an event.
	EventMetadataFailure string = "pintle.dev/failure"

	// EventMetadataObject is the key of "<kind>/<namespace>/<name>" of the object that
	// the failure code is about.
	EventMetadataObject string = "pintle.dev/object"

	// AnnotationAttempt on the objects of hooks names the attempt that created them,
	// "<UID of the HelmRelease>.<revision>". It is not part of the stored manifest.
	AnnotationAttempt string = "pintle.dev/attempt"

	// EventMetadataDetails is the key of what was found out about that object and its
	// Pods: status, conditions, containers, warnings. One line each.
	EventMetadataDetails string = "pintle.dev/details"

	// EventMetadataLogs is the key of the last log lines of an action: those of
	// containers, and Helm's own.
	EventMetadataLogs string = "pintle.dev/logs"

	// AnnotationOrphan on a HelmRelease makes its deletion leave the release behind. It
	// can be set when the deletion is under way; the value false is none.
	AnnotationOrphan string = "pintle.dev/orphan"

	// AnnotationUninstallDisableHooks on a HelmRelease makes its deletion run no hooks. It
	// can be set when the deletion is under way; the value false is none.
	AnnotationUninstallDisableHooks string = "pintle.dev/uninstall-disable-hooks"

	// EventReasonDependentsLeft says that a release is uninstalled before others that
	// depend on it.
	EventReasonDependentsLeft string = "DependentsLeft"

	// ConditionHeld is True while Helm's actions wait for an Operation, which it names.
	// Absent otherwise.
	ConditionHeld string = "Held"

	// ReasonOperationRunning says that the Operation has the release to itself. Of Held.
	ReasonOperationRunning string = "OperationRunning"

	// ReasonOperationWaiting says that the Operation waits for the release to be free, and is about to get it. Of Held.
	ReasonOperationWaiting string = "OperationWaiting"

	// ConditionSuspended is True while the release is suspended. Absent otherwise.
	ConditionSuspended string = "Suspended"

	// ReasonSuspended says that the release is suspended.
	ReasonSuspended string = "Suspended"

	// EventReasonOrphaned says that a HelmRelease is gone and its release is not.
	EventReasonOrphaned string = "ReleaseOrphaned"

	// ReasonReleaseTooLarge says that nothing was begun because Helm's storage could not
	// hold the revision. Terminal: only a change of spec, chart or values helps.
	ReasonReleaseTooLarge string = "ReleaseTooLarge"

	// EventReasonReleaseNearlyTooLarge says that a revision was made that takes 80 % or
	// more of what Helm's storage can hold.
	EventReasonReleaseNearlyTooLarge string = "ReleaseNearlyTooLarge"

	// ReasonContested says that another HelmRelease owns the same Helm release.
	ReasonContested string = "Contested"

	// ReasonObjectsOwned says that other living Helm releases have objects that an
	// install or upgrade would make, and that nothing was changed for that.
	ReasonObjectsOwned string = "ObjectsOwned"

	// ReasonInterrupted says that an action ended because a server has not answered since
	// the time that the message names. The action is tried again. Of condition Ready and
	// of an event when the interruptions begin.
	ReasonInterrupted string = "Interrupted"

	// EventReasonObjectsAdopted says that a release has objects now that were there
	// before, and that nobody owned.
	EventReasonObjectsAdopted string = "ObjectsAdopted"
)

// Failure codes say why something that was waited for did not come about. They are
// in events and metrics, and do not change.
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
)
