// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// The closed sets of words that fields of actions and of rendering accept.

// ActionStrategyName says how to go on after a failed install or upgrade.
//
// +kubebuilder:validation:Enum=RemediateOnFailure;RetryOnFailure
type ActionStrategyName string

const (
	// ActionStrategyRemediateOnFailure cleans up and tries again, as far as remediation allows. The default.
	ActionStrategyRemediateOnFailure ActionStrategyName = "RemediateOnFailure"

	// ActionStrategyRetryOnFailure leaves what failed and upgrades over it, without a budget.
	ActionStrategyRetryOnFailure ActionStrategyName = "RetryOnFailure"
)

// RemediationStrategy says how to clean up after a failed upgrade.
//
// +kubebuilder:validation:Enum=rollback;uninstall
type RemediationStrategy string

const (
	// RemediationRollback goes back to the last revision that worked. The default.
	RemediationRollback RemediationStrategy = "rollback"

	// RemediationUninstall removes the release, so that the next attempt is an install.
	RemediationUninstall RemediationStrategy = "uninstall"
)

// CRDsPolicy says what to do with a chart's crds directory.
//
// +kubebuilder:validation:Enum=Skip;Create;CreateReplace
type CRDsPolicy string

const (
	// CRDsSkip leaves the directory alone.
	CRDsSkip CRDsPolicy = "Skip"

	// CRDsCreate creates what does not exist and leaves what does. The default.
	CRDsCreate CRDsPolicy = "Create"

	// CRDsCreateReplace creates what does not exist and updates what does. It never deletes.
	CRDsCreateReplace CRDsPolicy = "CreateReplace"
)

// ServerSideApplyMode says who merges objects on upgrade and rollback.
//
// +kubebuilder:validation:Enum=enabled;disabled;auto
type ServerSideApplyMode string

const (
	// ServerSideApplyEnabled lets the API server merge.
	ServerSideApplyEnabled ServerSideApplyMode = "enabled"

	// ServerSideApplyDisabled merges in the client, with the previous manifest as the third side.
	ServerSideApplyDisabled ServerSideApplyMode = "disabled"

	// ServerSideApplyAuto goes on as the revision one starts from (for a rollback, goes back to) was applied. The
	// default.
	ServerSideApplyAuto ServerSideApplyMode = "auto"
)

// ChartNameChangeStrategy says what to do when the chart's name differs from that of the installed one.
//
// +kubebuilder:validation:Enum=InPlaceUpdate;Reinstall
type ChartNameChangeStrategy string

const (
	// ChartNameChangeInPlaceUpdate upgrades the release with the other chart.
	ChartNameChangeInPlaceUpdate ChartNameChangeStrategy = "InPlaceUpdate"

	// ChartNameChangeReinstall uninstalls the release, then installs the other chart. The default.
	ChartNameChangeReinstall ChartNameChangeStrategy = "Reinstall"
)

// DeletionPropagation says what becomes of objects whose owner is deleted.
//
// +kubebuilder:validation:Enum=background;foreground;orphan
type DeletionPropagation string

const (
	// DeletionBackground deletes them after their owner. The default.
	DeletionBackground DeletionPropagation = "background"

	// DeletionForeground deletes them before their owner.
	DeletionForeground DeletionPropagation = "foreground"

	// DeletionOrphan leaves them.
	DeletionOrphan DeletionPropagation = "orphan"
)

// PostRenderStrategy says what becomes of hooks when manifests are post-rendered.
//
// +kubebuilder:validation:Enum=nohooks;combined;separate
type PostRenderStrategy string

const (
	// PostRenderNoHooks leaves hooks as the chart rendered them.
	PostRenderNoHooks PostRenderStrategy = "nohooks"

	// PostRenderCombined treats hooks and other objects in one pass. The default.
	PostRenderCombined PostRenderStrategy = "combined"

	// PostRenderSeparate treats hooks and other objects each in a pass of their own.
	PostRenderSeparate PostRenderStrategy = "separate"
)

// WaitStrategyName says how readiness is found out.
//
// +kubebuilder:validation:Enum=poller;legacy
type WaitStrategyName string

const (
	// WaitPoller judges every object by the general rules of kstatus. The default.
	WaitPoller WaitStrategyName = "poller"

	// WaitLegacy judges as Helm 3 does, which knows a fixed list of kinds.
	WaitLegacy WaitStrategyName = "legacy"
)

// DriftDetectionMode says what to do about live objects that differ from the release.
//
// +kubebuilder:validation:Enum=enabled;warn;disabled
type DriftDetectionMode string

const (
	// DriftDetectionEnabled reports differences and corrects them.
	DriftDetectionEnabled DriftDetectionMode = "enabled"

	// DriftDetectionWarn reports differences.
	DriftDetectionWarn DriftDetectionMode = "warn"

	// DriftDetectionDisabled does not look. The default.
	DriftDetectionDisabled DriftDetectionMode = "disabled"
)
