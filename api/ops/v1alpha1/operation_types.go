// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation asks for something to be done once to an application. It runs at most once, and what came of it stays.
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

	// What should be done, and to what.
	// +required
	Spec OperationSpec `json:"spec"`

	// What the controller last saw and did.
	// +optional
	Status OperationStatus `json:"status,omitempty"`
}

// OperationList is a page of Operations.
//
// +kubebuilder:object:root=true
type OperationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Operations of this page.
	Items []Operation `json:"items"`
}

// OperationSpec says what to do, to what, and by which means.
//
// +kubebuilder:validation:XValidation:rule="self.engine != 'helmHookJob' || (has(self.parameters) && has(self.parameters.hookName) != has(self.parameters.event))",message="engine helmHookJob needs exactly one of parameters.hookName and parameters.event"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)",message="cancel cannot be taken back"
type OperationSpec struct {
	// The object to work on, in the namespace of this one: a HelmRelease, or an object that a HelmRelease belongs to.
	// Cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetRef cannot be changed"
	// +required
	TargetRef TargetReference `json:"targetRef"`

	// What kind of thing is done, for people and dashboards. Cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type cannot be changed"
	// +required
	Type OperationType `json:"type"`

	// By which means it is done. helmHookJob is implemented; Operations with another one fail. Cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="engine cannot be changed"
	// +required
	Engine OperationEngine `json:"engine"`

	// What the engine has to know. Cannot be changed once the Operation is accepted.
	// +optional
	Parameters *Parameters `json:"parameters,omitempty"`

	// Stops the work while true. Cannot be taken back. Default false.
	// +optional
	Cancel bool `json:"cancel,omitempty"`
}

// TargetReference names an object in the namespace of the Operation.
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

// OperationType says what kind of thing an Operation does. It changes nothing about how it is done.
//
// +kubebuilder:validation:Enum=Backup;Restore;Upgrade;Migration;RunCommand;Runbook
type OperationType string

const (
	// TypeBackup saves data.
	TypeBackup OperationType = "Backup"
	// TypeRestore brings saved data back.
	TypeRestore OperationType = "Restore"
	// TypeUpgrade goes to another version.
	TypeUpgrade OperationType = "Upgrade"
	// TypeMigration changes data for another version.
	TypeMigration OperationType = "Migration"
	// TypeRunCommand runs a command.
	TypeRunCommand OperationType = "RunCommand"
	// TypeRunbook runs several steps.
	TypeRunbook OperationType = "Runbook"
)

// OperationEngine says by which means an Operation is done.
//
// +kubebuilder:validation:Enum=velero;workflow;job;helm;volsync;helmHookJob;snapshot
type OperationEngine string

// EngineHelmHookJob runs hooks of the chart of a Helm release. It is the only engine that is implemented.
const EngineHelmHookJob OperationEngine = "helmHookJob"

// Parameters are what the engine helmHookJob has to know.
type Parameters struct {
	// Name of the hook to run: the metadata.name of a Job or Pod with a helm.sh/hook annotation, as rendered in the
	// release. Set either this or event.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	HookName string `json:"hookName,omitempty"`

	// Event of which all hooks are run, one after the other, by weight and then by name. Set either this or hookName.
	// +optional
	Event HookEvent `json:"event,omitempty"`

	// Revision of the release to take hooks from. Default: the one that is deployed when the work begins.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Revision int `json:"revision,omitempty"`

	// Also run a hook that is only for releases that are not there yet, or are about to go: one of pre-install,
	// pre-delete and post-delete and of no other event. Default false.
	// +optional
	AllowEventMismatch bool `json:"allowEventMismatch,omitempty"`

	// How long a Job may take, in seconds. The chart's own limit and the controller's --operation-timeout hold too: the
	// shortest counts. It bounds the time spent waiting for a turn as well.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// How often a Job is tried again after a failure. Default: what the chart says, or else 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// How long the Job is kept after its result was written down, in seconds. Default 86400, a day.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=86400
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// DefaultTTLSeconds is how long, in seconds, a Job is kept if an Operation does not say.
const DefaultTTLSeconds int32 = 86400

// TTL returns how many seconds a finished Job is kept; nil parameters mean the default.
func (p *Parameters) TTL() int32 {
	if p == nil || p.TTLSecondsAfterFinished == nil {
		return DefaultTTLSeconds
	}
	return *p.TTLSecondsAfterFinished
}

// HookEvent is an event in the life of a Helm release, as a helm.sh/hook annotation spells it.
//
// +kubebuilder:validation:Enum=pre-install;post-install;pre-upgrade;post-upgrade;pre-rollback;post-rollback;pre-delete;post-delete;test
type HookEvent string

const (
	// EventPreInstall comes before the objects of the first revision.
	EventPreInstall HookEvent = "pre-install"
	// EventPreDelete comes before objects are deleted for good.
	EventPreDelete HookEvent = "pre-delete"
	// EventPostDelete comes after that.
	EventPostDelete HookEvent = "post-delete"
)
