// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation runs one task for an application. It runs at most once, and its result is kept.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=op
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description=""
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description=""
// +kubebuilder:printcolumn:name="Engine",type="string",JSONPath=".spec.engine",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.conditions) || !oldSelf.status.conditions.exists(c, c.type == 'Accepted' && c.status != 'Unknown') || (has(self.spec.parameters) == has(oldSelf.spec.parameters) && (!has(self.spec.parameters) || self.spec.parameters == oldSelf.spec.parameters))",message="parameters cannot be changed once the Operation is accepted or refused",fieldPath=".spec.parameters"
type Operation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The task and its target.
	// +required
	Spec OperationSpec `json:"spec"`

	// The observed state of the Operation.
	// +optional
	Status OperationStatus `json:"status,omitempty"`
}

// OperationList is a list of Operations.
//
// +kubebuilder:object:root=true
type OperationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Operations.
	Items []Operation `json:"items"`
}

// OperationSpec is the task, its target and its engine.
//
// +kubebuilder:validation:XValidation:rule="self.engine != 'helmHookJob' || (has(self.parameters) && has(self.parameters.hookName) != has(self.parameters.event))",message="engine helmHookJob needs exactly one of parameters.hookName and parameters.event"
// +kubebuilder:validation:XValidation:rule="has(self.type) == has(oldSelf.type)",message="type cannot be changed"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)",message="cancel cannot be taken back"
// +kubebuilder:validation:XValidation:rule="!has(self.parameters) || !has(self.parameters.from) || self.parameters.from != 'Next' || (has(self.parameters.hookName) && !has(self.parameters.revision))",message="from: Next needs parameters.hookName, and has no revision"
// +kubebuilder:validation:XValidation:rule="!has(self.parameters) || !has(self.parameters.skipInUpgrade) || !self.parameters.skipInUpgrade || (has(self.parameters.from) && self.parameters.from == 'Next' && has(self.parameters.skipApprovedBy) && self.targetRef.kind == 'HelmRelease' && self.targetRef.apiVersion.startsWith('helm.toolkit.fluxcd.io/'))",message="skipInUpgrade needs from: Next, skipApprovedBy, and a HelmRelease as the target"
type OperationSpec struct {
	// The target, in the namespace of this object: a HelmRelease, or an object that a HelmRelease
	// belongs to. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetRef cannot be changed"
	// +required
	TargetRef TargetReference `json:"targetRef"`

	// The type of the task, for users and dashboards. It has no effect on the execution. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type cannot be changed"
	// +optional
	Type OperationType `json:"type,omitempty"`

	// The engine that runs the task: helmHookJob. Operations with other engines, which are stored
	// since an earlier version of the CRD, fail. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="engine cannot be changed"
	// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self == 'helmHookJob'",message="there is no such engine: the only one is helmHookJob",optionalOldSelf=true
	// +required
	Engine OperationEngine `json:"engine"`

	// The parameters of the engine. Immutable once the Operation is accepted.
	// +optional
	Parameters *Parameters `json:"parameters,omitempty"`

	// Cancels the task. It cannot be set back to false. Default false.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// The status.awaitingApproval that is approved, if a policy demands approval. It does not count
	// for other hooks.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Approved string `json:"approved,omitempty"`

	// The user who approved.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`

	// How long this object is kept after its final phase, in seconds. It is then deleted, with its
	// Jobs and their Pods. Default: it is not deleted. It can be changed at any time.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TargetReference references an object in the namespace of the Operation.
type TargetReference struct {
	// API version of the object, for example helm.toolkit.fluxcd.io/v2.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the object, for example HelmRelease.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"
	// +required
	Kind string `json:"kind"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
	// +required
	Name string `json:"name"`
}

// OperationType is the type of an Operation's task. It has no effect on the execution.
//
// +kubebuilder:validation:Enum=Backup;Restore;Upgrade;Migration;RunCommand;Runbook
type OperationType string

const (
	// TypeBackup saves data.
	TypeBackup OperationType = "Backup"
	// TypeRestore restores saved data.
	TypeRestore OperationType = "Restore"
	// TypeUpgrade changes the version of the application.
	TypeUpgrade OperationType = "Upgrade"
	// TypeMigration converts data for another version.
	TypeMigration OperationType = "Migration"
	// TypeRunCommand runs a command.
	TypeRunCommand OperationType = "RunCommand"
	// TypeRunbook runs several steps.
	TypeRunbook OperationType = "Runbook"
)

// OperationEngine runs the task of an Operation.
//
// +kubebuilder:validation:MaxLength=63
type OperationEngine string

// EngineHelmHookJob runs hooks of the chart of a Helm release. It is the only engine.
const EngineHelmHookJob OperationEngine = "helmHookJob"

// Parameters are the parameters of the engine helmHookJob.
type Parameters struct {
	// Name of the hook to run: the metadata.name of a Job or Pod with a helm.sh/hook annotation, as
	// rendered in the release. Set either this or event.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	HookName string `json:"hookName,omitempty"`

	// Event whose hooks are run, one after the other, by weight and then by name. Set either this
	// or hookName.
	// +optional
	Event HookEvent `json:"event,omitempty"`

	// Revision of the release with the hooks. Default: the revision that is deployed when the
	// Operation starts.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Revision int `json:"revision,omitempty"`

	// The version of the hook: Installed, the default, is a stored revision, and Next is what the next
	// upgrade of the release runs according to its ReleasePlan. Next needs hookName, the name of a
	// pre-upgrade hook.
	// +optional
	From HookVersion `json:"from,omitempty"`

	// Leaves the hook out of the upgrade if the Operation succeeds, until one upgrade with the same
	// inputs has succeeded. Needs from: Next, a HelmRelease as the target, and the verb approve on its
	// ReleasePlan. Default false.
	// +optional
	SkipInUpgrade bool `json:"skipInUpgrade,omitempty"`

	// The user who lets the upgrade leave out the hook: the user of the request that sets
	// skipInUpgrade.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	SkipApprovedBy string `json:"skipApprovedBy,omitempty"`

	// Allows hooks that are not for existing releases: hooks of pre-install, pre-delete and
	// post-delete and of no other event. Default false.
	// +optional
	AllowEventMismatch bool `json:"allowEventMismatch,omitempty"`

	// Time limit, in seconds, of each Job and of the wait for the lock. The controller's
	// --operation-timeout applies too, and to Jobs also the limit of the chart: the shortest counts.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// Number of retries of a Job. Default: the chart's value, or else 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// How long a finished Job is kept after its result was stored, in seconds. Default 86400, a
	// day.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +kubebuilder:default=86400
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// HookVersion is the version of a release that a hook is taken from.
//
// +kubebuilder:validation:Enum=Installed;Next
type HookVersion string

const (
	// FromInstalled takes the hook from a stored revision.
	FromInstalled HookVersion = "Installed"
	// FromNext takes the hook from the plan of the next upgrade.
	FromNext HookVersion = "Next"
)

// IsNext reports whether the hook is taken from the plan of the next upgrade.
func (p *Parameters) IsNext() bool { return p != nil && p.From == FromNext }

// Skips reports whether the next upgrade is to leave out the hook.
func (p *Parameters) Skips() bool { return p.IsNext() && p.SkipInUpgrade }

// DefaultTTLSeconds is the default of ttlSecondsAfterFinished.
const DefaultTTLSeconds int32 = 86400

// TTL returns how many seconds a finished Job is kept; nil parameters mean the default.
func (p *Parameters) TTL() int32 {
	if p == nil || p.TTLSecondsAfterFinished == nil {
		return DefaultTTLSeconds
	}
	return *p.TTLSecondsAfterFinished
}

// HookEvent is an event of a Helm release, as in a helm.sh/hook annotation.
//
// +kubebuilder:validation:Enum=pre-install;post-install;pre-upgrade;post-upgrade;pre-rollback;post-rollback;pre-delete;post-delete;test
type HookEvent string

const (
	// EventPreInstall occurs before the objects of the first revision are created.
	EventPreInstall HookEvent = "pre-install"
	// EventPreDelete occurs before the objects of a release are deleted.
	EventPreDelete HookEvent = "pre-delete"
	// EventPostDelete occurs after the objects of a release were deleted.
	EventPostDelete HookEvent = "post-delete"
)
