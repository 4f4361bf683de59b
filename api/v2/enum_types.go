// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// Enumerations of fields.

// ActionStrategyName is the strategy after a failed install or upgrade.
//
// +kubebuilder:validation:Enum=RemediateOnFailure;RetryOnFailure
type ActionStrategyName string

const (
	// ActionStrategyRemediateOnFailure remediates and retries, within the limits of remediation.
	// The default.
	ActionStrategyRemediateOnFailure ActionStrategyName = "RemediateOnFailure"

	// ActionStrategyRetryOnFailure keeps the failed revision and upgrades it, without a limit of
	// retries.
	ActionStrategyRetryOnFailure ActionStrategyName = "RetryOnFailure"
)

// RemediationStrategy is the action that remediates a failed upgrade.
//
// +kubebuilder:validation:Enum=rollback;uninstall
type RemediationStrategy string

const (
	// RemediationRollback rolls back to the last successful revision. The default.
	RemediationRollback RemediationStrategy = "rollback"

	// RemediationUninstall uninstalls the release, so that the next attempt is an install.
	RemediationUninstall RemediationStrategy = "uninstall"
)

// CRDsPolicy is the treatment of a chart's crds directory.
//
// +kubebuilder:validation:Enum=Skip;Create;CreateReplace
type CRDsPolicy string

const (
	// CRDsSkip ignores the directory.
	CRDsSkip CRDsPolicy = "Skip"

	// CRDsCreate creates missing CRDs and keeps existing ones unchanged. The default.
	CRDsCreate CRDsPolicy = "Create"

	// CRDsCreateReplace creates missing CRDs and updates existing ones. It never deletes.
	CRDsCreateReplace CRDsPolicy = "CreateReplace"
)

// ServerSideApplyMode selects where objects are merged on upgrade and rollback.
//
// +kubebuilder:validation:Enum=enabled;disabled;auto
type ServerSideApplyMode string

const (
	// ServerSideApplyEnabled uses server-side apply.
	ServerSideApplyEnabled ServerSideApplyMode = "enabled"

	// ServerSideApplyDisabled uses a three-way merge in the client.
	ServerSideApplyDisabled ServerSideApplyMode = "disabled"

	// ServerSideApplyAuto uses the method of the revision that is upgraded, or rolled back to. The
	// default.
	ServerSideApplyAuto ServerSideApplyMode = "auto"
)

// ChartNameChangeStrategy is the treatment of a chart whose name differs from the name of the
// installed chart.
//
// +kubebuilder:validation:Enum=InPlaceUpdate;Reinstall
type ChartNameChangeStrategy string

const (
	// ChartNameChangeInPlaceUpdate upgrades the release with the other chart.
	ChartNameChangeInPlaceUpdate ChartNameChangeStrategy = "InPlaceUpdate"

	// ChartNameChangeReinstall uninstalls the release, then installs the other chart. The default.
	ChartNameChangeReinstall ChartNameChangeStrategy = "Reinstall"
)

// DeletionPropagation is the treatment of objects whose owner is deleted.
//
// +kubebuilder:validation:Enum=background;foreground;orphan
type DeletionPropagation string

const (
	// DeletionBackground deletes them after their owner. The default.
	DeletionBackground DeletionPropagation = "background"

	// DeletionForeground deletes them before their owner.
	DeletionForeground DeletionPropagation = "foreground"

	// DeletionOrphan keeps them.
	DeletionOrphan DeletionPropagation = "orphan"
)

// PostRenderStrategy is the treatment of hooks by post-renderers.
//
// +kubebuilder:validation:Enum=nohooks;combined;separate
type PostRenderStrategy string

const (
	// PostRenderNoHooks leaves hooks unchanged.
	PostRenderNoHooks PostRenderStrategy = "nohooks"

	// PostRenderCombined post-renders hooks and other objects in one pass. The default.
	PostRenderCombined PostRenderStrategy = "combined"

	// PostRenderSeparate post-renders hooks and other objects in separate passes.
	PostRenderSeparate PostRenderStrategy = "separate"
)

// WaitStrategyName selects the readiness checks.
//
// +kubebuilder:validation:Enum=poller;legacy
type WaitStrategyName string

const (
	// WaitPoller checks every object by the general rules of kstatus. The default.
	WaitPoller WaitStrategyName = "poller"

	// WaitLegacy checks objects as Helm 3 does, by rules for a fixed list of kinds.
	WaitLegacy WaitStrategyName = "legacy"
)

// DriftDetectionMode is the treatment of live objects that differ from the release.
//
// +kubebuilder:validation:Enum=enabled;warn;disabled
type DriftDetectionMode string

const (
	// DriftDetectionEnabled reports differences and corrects them.
	DriftDetectionEnabled DriftDetectionMode = "enabled"

	// DriftDetectionWarn reports differences.
	DriftDetectionWarn DriftDetectionMode = "warn"

	// DriftDetectionDisabled does not compare objects. The default.
	DriftDetectionDisabled DriftDetectionMode = "disabled"
)
