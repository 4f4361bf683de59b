// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// The names that other programs know us by. They are those of Flux's helm-controller, so that its users, its command
// line and its dashboards need not tell the two apart.
const (
	// Finalizer keeps a HelmRelease until its release has been uninstalled.
	Finalizer string = "finalizers.fluxcd.io"

	// FieldManager owns the fields we write: status, HelmCharts, corrections of drift, and all that Helm applies.
	FieldManager string = "helm-controller"

	// ControllerName signs our Events.
	ControllerName string = "helm-controller"
)

// Types of conditions. Reconciling and Stalled are only present while True, and never together.
const (
	// ConditionReady tells whether the release is as asked for; of all conditions, the one to look at.
	ConditionReady string = "Ready"

	// ConditionReconciling is True while work is going on or will be tried again.
	ConditionReconciling string = "Reconciling"

	// ConditionStalled is True when only a change to the spec, to its inputs, or a request can get things moving.
	ConditionStalled string = "Stalled"

	// ConditionReleased tells how the last install, upgrade, uninstall or unlock went.
	ConditionReleased string = "Released"

	// ConditionTestSuccess tells how the chart's tests went. Absent when the newest revision is not to be tested.
	ConditionTestSuccess string = "TestSuccess"

	// ConditionRemediated tells how cleaning up after a failure went. Absent when there was nothing to clean up.
	ConditionRemediated string = "Remediated"

	// ConditionDrifted tells whether live objects differ from the release. Absent until they were compared.
	ConditionDrifted string = "Drifted"
)

// Reasons of progress, of conditions Ready and Reconciling.
const (
	// ReasonProgressing says that work is going on.
	ReasonProgressing string = "Progressing"

	// ReasonProgressingWithRetry says that the last attempt failed and another one will follow.
	ReasonProgressingWithRetry string = "ProgressingWithRetry"
)

// Reasons why it cannot be known, or not be done, what the spec asks for. Of condition Ready; those that no retry can
// overcome are also of Stalled, and most are of events.
const (
	// ReasonDependencyNotReady says that a HelmRelease in dependsOn is missing or not ready.
	ReasonDependencyNotReady string = "DependencyNotReady"

	// ReasonInvalidCELExpression says that an expression of healthCheckExprs or readyExpr does not compile.
	ReasonInvalidCELExpression string = "InvalidCELExpression"

	// ReasonAccessDenied says that the controller is set up not to follow this reference.
	ReasonAccessDenied string = "AccessDenied"

	// ReasonArtifactFailed says that the source object, or the chart it offers, could not be read.
	ReasonArtifactFailed string = "ArtifactFailed"

	// ReasonSourceNotReady says that the source object has nothing to offer yet.
	ReasonSourceNotReady string = "SourceNotReady"

	// ReasonValuesError says that the values could not be composed.
	ReasonValuesError string = "ValuesError"

	// ReasonChartMutateError says that the version of the chart and the revision of its artifact contradict each
	// other.
	ReasonChartMutateError string = "ChartMutateError"

	// ReasonRESTClientError says that no client for the target cluster could be made.
	ReasonRESTClientError string = "RESTClientError"

	// ReasonResourceManagerError says that no way of waiting for objects of the target cluster could be set up.
	ReasonResourceManagerError string = "ResourceManagerError"

	// ReasonFactoryError says that Helm could not be set up.
	ReasonFactoryError string = "FactoryError"

	// ReasonConfigFactoryError says that Helm could not be set up for this release. The value is spelt Err.
	ReasonConfigFactoryError string = "ConfigFactoryErr"

	// ReasonStateError says that the state of the release could not be determined.
	ReasonStateError string = "StateError"

	// ReasonHealthCheckCanceled says that waiting was given up in favour of something newer.
	ReasonHealthCheckCanceled string = "HealthCheckCanceled"
)

// Reasons why nothing more will be tried, of condition Stalled.
const (
	// ReasonRetriesExceeded says that the budget of retries is spent.
	ReasonRetriesExceeded string = "RetriesExceeded"

	// ReasonMissingRollbackTarget says that there is no revision to roll back to.
	ReasonMissingRollbackTarget string = "MissingRollbackTarget"
)

// Reasons that tell how an action ended, of conditions Released, TestSuccess, Remediated and, as a summary, Ready. All
// but ReasonAwaitingTests are of events too.
const (
	// ReasonInstallSucceeded says that an install succeeded.
	ReasonInstallSucceeded string = "InstallSucceeded"

	// ReasonInstallFailed says that an install failed.
	ReasonInstallFailed string = "InstallFailed"

	// ReasonUpgradeSucceeded says that an upgrade succeeded.
	ReasonUpgradeSucceeded string = "UpgradeSucceeded"

	// ReasonUpgradeFailed says that an upgrade failed.
	ReasonUpgradeFailed string = "UpgradeFailed"

	// ReasonAwaitingTests says that the tests of a new revision are still to be run.
	ReasonAwaitingTests string = "AwaitingTests"

	// ReasonTestSucceeded says that all tests passed, or that there were none.
	ReasonTestSucceeded string = "TestSucceeded"

	// ReasonTestFailed says that a test failed.
	ReasonTestFailed string = "TestFailed"

	// ReasonRollbackSucceeded says that a rollback succeeded.
	ReasonRollbackSucceeded string = "RollbackSucceeded"

	// ReasonRollbackFailed says that a rollback failed.
	ReasonRollbackFailed string = "RollbackFailed"

	// ReasonUninstallSucceeded says that an uninstall succeeded, or was not needed.
	ReasonUninstallSucceeded string = "UninstallSucceeded"

	// ReasonUninstallFailed says that an uninstall failed, or could not be begun.
	ReasonUninstallFailed string = "UninstallFailed"

	// ReasonPendingRelease says that a revision was left pending, and that it was unlocked or could not be.
	ReasonPendingRelease string = "PendingRelease"
)

// Reasons about live objects. The first two are of condition Drifted, all but ReasonNoDriftDetected of events.
const (
	// ReasonDriftDetected says that live objects differ from the release.
	ReasonDriftDetected string = "DriftDetected"

	// ReasonNoDriftDetected says that they do not.
	ReasonNoDriftDetected string = "NoDriftDetected"

	// ReasonDriftCorrected says that all differences were corrected.
	ReasonDriftCorrected string = "DriftCorrected"

	// ReasonDriftCorrectionFailed says that some could not be.
	ReasonDriftCorrectionFailed string = "DriftCorrectionFailed"
)

// Reasons of events only.
const (
	// EventReasonInventoryBuildFailed says that the objects of a revision could not be listed.
	EventReasonInventoryBuildFailed string = "InventoryBuildFailed"

	// EventReasonNamespaceCheckSkipped says that it could not be learned which objects of an inventory have a
	// namespace.
	EventReasonNamespaceCheckSkipped string = "NamespaceCheckSkipped"

	// EventReasonHelmChartCreated says that the HelmChart was created.
	EventReasonHelmChartCreated string = "HelmChartCreated"

	// EventReasonHelmChartConfigured says that the HelmChart was changed.
	EventReasonHelmChartConfigured string = "HelmChartConfigured"

	// EventReasonHelmChartDeleted says that the HelmChart was deleted.
	EventReasonHelmChartDeleted string = "HelmChartDeleted"

	// EventReasonHelmChartSyncError says that the HelmChart could not be written. The value is spelt Err.
	EventReasonHelmChartSyncError string = "HelmChartSyncErr"
)

// Annotations and labels that we read.
const (
	// AnnotationReconcileRequest asks for a visit; every new value is a new request.
	AnnotationReconcileRequest string = "reconcile.fluxcd.io/requestedAt"

	// AnnotationForceRequest asks, with the same value as AnnotationReconcileRequest, for one install or upgrade
	// whatever the state.
	AnnotationForceRequest string = "reconcile.fluxcd.io/forceAt"

	// AnnotationResetRequest asks, with the same value as AnnotationReconcileRequest, to forget earlier failures.
	AnnotationResetRequest string = "reconcile.fluxcd.io/resetAt"

	// MetadataDriftDetection, a label or an annotation of an object, rendered or live, exempts it from drift detection
	// if its value is MetadataDriftDetectionDisabled.
	MetadataDriftDetection string = Group + "/driftDetection"

	// MetadataDriftDetectionDisabled is the one value of MetadataDriftDetection; the case of letters is ignored.
	MetadataDriftDetectionDisabled string = "disabled"

	// LabelWatch, on a ConfigMap or Secret, asks to react to its changes if its value is LabelWatchEnabled.
	LabelWatch string = "reconcile.fluxcd.io/watch"

	// LabelWatchEnabled is the value of LabelWatch that counts.
	LabelWatchEnabled string = "Enabled"

	// LabelShard is the label by which HelmReleases are customarily divided among controllers.
	LabelShard string = "sharding.fluxcd.io/key"

	// EventAnnotationPrefix begins the annotations of a HelmRelease that are copied into its events.
	EventAnnotationPrefix string = "event.toolkit.fluxcd.io/"

	// AnnotationHelmHook marks rendered objects that are hooks.
	AnnotationHelmHook string = "helm.sh/hook"

	// AnnotationHelmResourcePolicy tells Helm what to spare; see HelmResourcePolicyKeep.
	AnnotationHelmResourcePolicy string = "helm.sh/resource-policy"

	// HelmResourcePolicyKeep is the value of AnnotationHelmResourcePolicy that survives an uninstall.
	HelmResourcePolicyKeep string = "keep"
)

// Annotations and labels that are written, by us or by Helm.
const (
	// LabelName, on rendered objects and on the HelmChart, holds the name of the HelmRelease.
	LabelName string = Group + "/name"

	// LabelNamespace, on rendered objects and on the HelmChart, holds the namespace of the HelmRelease.
	LabelNamespace string = Group + "/namespace"

	// LabelManagedBy is set to ManagedByHelm on every object that belongs to a Helm release.
	LabelManagedBy string = "app.kubernetes.io/managed-by"

	// ManagedByHelm is Helm's value of LabelManagedBy.
	ManagedByHelm string = "Helm"

	// AnnotationHelmReleaseName holds the name of the Helm release that an object belongs to.
	AnnotationHelmReleaseName string = "meta.helm.sh/release-name"

	// AnnotationHelmReleaseNamespace holds the namespace of the Helm release that an object belongs to.
	AnnotationHelmReleaseNamespace string = "meta.helm.sh/release-namespace"

	// EventMetadataRevision is the key of an event's chart version.
	EventMetadataRevision string = Group + "/revision"

	// EventMetadataToken is the key of the digest of an event's values.
	EventMetadataToken string = Group + "/token"

	// EventMetadataAppVersion is the key of an event's application version.
	EventMetadataAppVersion string = Group + "/app-version"

	// EventMetadataOCIDigest is the key of the OCI digest of an event's chart.
	EventMetadataOCIDigest string = Group + "/oci-digest"
)

// Kinds that references name.
const (
	// KindConfigMap may hold values.
	KindConfigMap string = "ConfigMap"

	// KindSecret may hold values.
	KindSecret string = "Secret"

	// KindOCIRepository may be the chart.
	KindOCIRepository string = "OCIRepository"

	// KindHelmChart may be the chart.
	KindHelmChart string = "HelmChart"

	// KindExternalArtifact may be the chart.
	KindExternalArtifact string = "ExternalArtifact"
)

// ReleaseAction names something that can be done to a Helm release, as messages and history spell it.
type ReleaseAction string

const (
	// ActionInstall makes the first revision.
	ActionInstall ReleaseAction = "install"

	// ActionUpgrade makes the next revision.
	ActionUpgrade ReleaseAction = "upgrade"

	// ActionTest runs the tests of the newest revision. Never in history.
	ActionTest ReleaseAction = "test"

	// ActionRollback makes a revision equal to an earlier one.
	ActionRollback ReleaseAction = "rollback"

	// ActionUninstall removes the release.
	ActionUninstall ReleaseAction = "uninstall"

	// ActionUninstallRemediation removes the release because its install or upgrade failed. Only in history; messages
	// say ActionUninstall.
	ActionUninstallRemediation ReleaseAction = "uninstall-remediation"

	// ActionUnlock marks a pending revision as failed. Never in history.
	ActionUnlock ReleaseAction = "unlock"

	// ActionCorrectDrift makes live objects equal to the release again. Never in history.
	ActionCorrectDrift ReleaseAction = "correct cluster drift"
)
