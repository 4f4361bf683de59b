// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// Names in the API of Flux's helm-controller. They are equal there, so that the flux CLI and
// dashboards work with both controllers.
const (
	// Finalizer delays the deletion of a HelmRelease until its release has been uninstalled.
	Finalizer string = "finalizers.fluxcd.io"

	// FieldManager owns the fields that this controller writes: status, HelmCharts, drift
	// corrections, and all objects that Helm applies.
	FieldManager string = "helm-controller"

	// ControllerName is the reporting controller of Events.
	ControllerName string = "helm-controller"
)

// Types of conditions. Reconciling and Stalled are present only while True, and never together.
const (
	// ConditionReady is True if the release matches the spec. It summarizes the other conditions.
	ConditionReady string = "Ready"

	// ConditionReconciling is True during a reconciliation, and until a failed one is retried.
	ConditionReconciling string = "Reconciling"

	// ConditionStalled is True if only a change of the spec or its inputs, or a request, can help.
	ConditionStalled string = "Stalled"

	// ConditionReleased is the result of the last install, upgrade, uninstall or unlock.
	ConditionReleased string = "Released"

	// ConditionTestSuccess is the result of the chart's tests. Absent if the newest revision is not
	// tested.
	ConditionTestSuccess string = "TestSuccess"

	// ConditionRemediated is the result of the remediation of a failure. Absent if there was none.
	ConditionRemediated string = "Remediated"

	// ConditionDrifted is True if live objects differ from the release. Absent until they were
	// compared.
	ConditionDrifted string = "Drifted"
)

// Reasons of a reconciliation in progress, of conditions Ready and Reconciling.
const (
	// ReasonProgressing means that a reconciliation is in progress.
	ReasonProgressing string = "Progressing"

	// ReasonProgressingWithRetry means that the last attempt failed and is retried.
	ReasonProgressingWithRetry string = "ProgressingWithRetry"
)

// Reasons why the spec cannot be evaluated or applied. Of condition Ready. Those that no retry can
// resolve are also of Stalled, and most are of events.
const (
	// ReasonDependencyNotReady means that a HelmRelease in dependsOn is missing or not ready.
	ReasonDependencyNotReady string = "DependencyNotReady"

	// ReasonInvalidCELExpression means that an expression of healthCheckExprs or readyExpr does not
	// compile.
	ReasonInvalidCELExpression string = "InvalidCELExpression"

	// ReasonAccessDenied means that the controller's configuration forbids this reference.
	ReasonAccessDenied string = "AccessDenied"

	// ReasonArtifactFailed means that the source object, or its chart artifact, could not be read.
	ReasonArtifactFailed string = "ArtifactFailed"

	// ReasonSourceNotReady means that the source object has no artifact yet.
	ReasonSourceNotReady string = "SourceNotReady"

	// ReasonValuesError means that the values could not be composed.
	ReasonValuesError string = "ValuesError"

	// ReasonChartMutateError means that the version of the chart and the revision of its artifact
	// contradict each other.
	ReasonChartMutateError string = "ChartMutateError"

	// ReasonRESTClientError means that no client for the target cluster could be created.
	ReasonRESTClientError string = "RESTClientError"

	// ReasonResourceManagerError means that the readiness checks for the target cluster could not
	// be set up.
	ReasonResourceManagerError string = "ResourceManagerError"

	// ReasonFactoryError means that Helm could not be set up.
	ReasonFactoryError string = "FactoryError"

	// ReasonConfigFactoryError means that Helm could not be set up for this release. The value is
	// spelt Err.
	ReasonConfigFactoryError string = "ConfigFactoryErr"

	// ReasonStateError means that the state of the release could not be determined.
	ReasonStateError string = "StateError"

	// ReasonHealthCheckCanceled means that waiting was cancelled in favour of a newer spec or
	// chart.
	ReasonHealthCheckCanceled string = "HealthCheckCanceled"
)

// Reasons why no retry follows, of condition Stalled.
const (
	// ReasonRetriesExceeded means that all retries have failed.
	ReasonRetriesExceeded string = "RetriesExceeded"

	// ReasonMissingRollbackTarget means that there is no revision to roll back to.
	ReasonMissingRollbackTarget string = "MissingRollbackTarget"

	// ReasonClaimsKept means that the failed release is not uninstalled, because it holds
	// PersistentVolumeClaims.
	ReasonClaimsKept string = "ClaimsKept"
)

// Results of actions, of conditions Released, TestSuccess, Remediated and, as a summary, Ready. All
// but ReasonAwaitingTests are also reasons of events.
const (
	// ReasonInstallSucceeded means that an install succeeded.
	ReasonInstallSucceeded string = "InstallSucceeded"

	// ReasonInstallFailed means that an install failed.
	ReasonInstallFailed string = "InstallFailed"

	// ReasonUpgradeSucceeded means that an upgrade succeeded.
	ReasonUpgradeSucceeded string = "UpgradeSucceeded"

	// ReasonUpgradeFailed means that an upgrade failed.
	ReasonUpgradeFailed string = "UpgradeFailed"

	// ReasonAwaitingTests means that the tests of a new revision have not run yet.
	ReasonAwaitingTests string = "AwaitingTests"

	// ReasonTestSucceeded means that all tests passed, or that there were none.
	ReasonTestSucceeded string = "TestSucceeded"

	// ReasonTestFailed means that a test failed.
	ReasonTestFailed string = "TestFailed"

	// ReasonRollbackSucceeded means that a rollback succeeded.
	ReasonRollbackSucceeded string = "RollbackSucceeded"

	// ReasonRollbackFailed means that a rollback failed.
	ReasonRollbackFailed string = "RollbackFailed"

	// ReasonUninstallSucceeded means that an uninstall succeeded, or was not necessary.
	ReasonUninstallSucceeded string = "UninstallSucceeded"

	// ReasonUninstallFailed means that an uninstall failed, or could not be started.
	ReasonUninstallFailed string = "UninstallFailed"

	// ReasonPendingRelease means that a pending revision of an interrupted action was unlocked, or
	// could not be unlocked.
	ReasonPendingRelease string = "PendingRelease"
)

// Reasons about drift. The first two are of condition Drifted, all but ReasonNoDriftDetected of
// events.
const (
	// ReasonDriftDetected means that live objects differ from the release.
	ReasonDriftDetected string = "DriftDetected"

	// ReasonNoDriftDetected means that live objects equal the release.
	ReasonNoDriftDetected string = "NoDriftDetected"

	// ReasonDriftCeded is the reason of an event only. It means that fields that differ are left to
	// the autoscaler of their object.
	ReasonDriftCeded string = "DriftCeded"

	// ReasonDriftCorrected means that all differences were corrected.
	ReasonDriftCorrected string = "DriftCorrected"

	// ReasonDriftCorrectionFailed means that some differences could not be corrected.
	ReasonDriftCorrectionFailed string = "DriftCorrectionFailed"
)

// Reasons of events only.
const (
	// EventReasonInventoryBuildFailed means that the objects of a revision could not be listed.
	EventReasonInventoryBuildFailed string = "InventoryBuildFailed"

	// EventReasonNamespaceCheckSkipped means that the scope of some objects of an inventory,
	// cluster or namespace, could not be determined.
	EventReasonNamespaceCheckSkipped string = "NamespaceCheckSkipped"

	// EventReasonHelmChartCreated means that the source object of spec.chart was created.
	EventReasonHelmChartCreated string = "HelmChartCreated"

	// EventReasonHelmChartConfigured means that the source object of spec.chart was changed.
	EventReasonHelmChartConfigured string = "HelmChartConfigured"

	// EventReasonHelmChartDeleted means that the source object of spec.chart was deleted.
	EventReasonHelmChartDeleted string = "HelmChartDeleted"

	// EventReasonHelmChartSyncError means that the source object of spec.chart could not be
	// written. The value is spelt Err.
	EventReasonHelmChartSyncError string = "HelmChartSyncErr"
)

// Annotations and labels that the controller reads.
const (
	// AnnotationReconcileRequest requests a reconciliation; every new value is a new request.
	AnnotationReconcileRequest string = "reconcile.fluxcd.io/requestedAt"

	// AnnotationForceRequest requests one install or upgrade in any state. It must have the same
	// value as AnnotationReconcileRequest.
	AnnotationForceRequest string = "reconcile.fluxcd.io/forceAt"

	// AnnotationResetRequest requests a reset of the failure counters. It must have the same value
	// as AnnotationReconcileRequest.
	AnnotationResetRequest string = "reconcile.fluxcd.io/resetAt"

	// MetadataDriftDetection, a label or an annotation of a rendered or live object, excludes it
	// from drift detection if the value is MetadataDriftDetectionDisabled.
	MetadataDriftDetection string = Group + "/driftDetection"

	// MetadataDriftDetectionDisabled is the only value of MetadataDriftDetection with an effect. It
	// is case-insensitive.
	MetadataDriftDetectionDisabled string = "disabled"

	// LabelWatch on a ConfigMap or Secret triggers reconciliations on its changes if the value is
	// LabelWatchEnabled.
	LabelWatch string = "reconcile.fluxcd.io/watch"

	// LabelWatchEnabled is the value of LabelWatch that has an effect.
	LabelWatchEnabled string = "Enabled"

	// LabelShard is the conventional label to distribute HelmReleases among controllers.
	LabelShard string = "sharding.fluxcd.io/key"

	// EventAnnotationPrefix is the prefix of the HelmRelease's annotations that are copied into its
	// events.
	EventAnnotationPrefix string = "event.toolkit.fluxcd.io/"

	// AnnotationHelmHook marks rendered objects that are hooks.
	AnnotationHelmHook string = "helm.sh/hook"

	// AnnotationHelmResourcePolicy excludes an object from deletion by Helm; see
	// HelmResourcePolicyKeep.
	AnnotationHelmResourcePolicy string = "helm.sh/resource-policy"

	// HelmResourcePolicyKeep is the value of AnnotationHelmResourcePolicy for objects that an
	// uninstall keeps.
	HelmResourcePolicyKeep string = "keep"
)

// Annotations and labels that the controller or Helm writes.
const (
	// LabelName, on rendered objects and on the HelmChart, is the name of the HelmRelease.
	LabelName string = Group + "/name"

	// LabelNamespace, on rendered objects and on the HelmChart, is the namespace of the
	// HelmRelease.
	LabelNamespace string = Group + "/namespace"

	// LabelManagedBy is set to ManagedByHelm on every object of a Helm release.
	LabelManagedBy string = "app.kubernetes.io/managed-by"

	// ManagedByHelm is Helm's value of LabelManagedBy.
	ManagedByHelm string = "Helm"

	// AnnotationHelmReleaseName is the name of the Helm release that owns an object.
	AnnotationHelmReleaseName string = "meta.helm.sh/release-name"

	// AnnotationHelmReleaseNamespace is the namespace of the Helm release that owns an object.
	AnnotationHelmReleaseNamespace string = "meta.helm.sh/release-namespace"

	// EventMetadataRevision is the key of the chart version in an event's metadata.
	EventMetadataRevision string = Group + "/revision"

	// EventMetadataToken is the key of the digest of the values in an event's metadata.
	EventMetadataToken string = Group + "/token"

	// EventMetadataAppVersion is the key of the application version in an event's metadata.
	EventMetadataAppVersion string = Group + "/app-version"

	// EventMetadataOCIDigest is the key of the chart's OCI digest in an event's metadata.
	EventMetadataOCIDigest string = Group + "/oci-digest"
)

// Kinds that references may have.
const (
	// KindConfigMap is a source of values.
	KindConfigMap string = "ConfigMap"

	// KindSecret is a source of values.
	KindSecret string = "Secret"

	// KindOCIRepository is a source of charts and values.
	KindOCIRepository string = "OCIRepository"

	// KindGitRepository is a source of values.
	KindGitRepository string = "GitRepository"

	// KindBucket is a source of values.
	KindBucket string = "Bucket"

	// KindHelmChart is a source of charts.
	KindHelmChart string = "HelmChart"

	// KindExternalArtifact is a source of charts and values.
	KindExternalArtifact string = "ExternalArtifact"
)

// ReleaseAction is the name of an action on a Helm release in messages and in status.history.
type ReleaseAction string

const (
	// ActionInstall creates the first revision.
	ActionInstall ReleaseAction = "install"

	// ActionUpgrade creates the next revision.
	ActionUpgrade ReleaseAction = "upgrade"

	// ActionTest runs the tests of the newest revision. Never in history.
	ActionTest ReleaseAction = "test"

	// ActionRollback creates a revision equal to an earlier one.
	ActionRollback ReleaseAction = "rollback"

	// ActionUninstall removes the release.
	ActionUninstall ReleaseAction = "uninstall"

	// ActionUninstallRemediation uninstalls the release because its install or upgrade failed. Only
	// in history; messages use ActionUninstall.
	ActionUninstallRemediation ReleaseAction = "uninstall-remediation"

	// ActionUnlock marks a pending revision as failed. Never in history.
	ActionUnlock ReleaseAction = "unlock"

	// ActionCorrectDrift restores live objects that differ from the release. Never in history.
	ActionCorrectDrift ReleaseAction = "correct cluster drift"
)
