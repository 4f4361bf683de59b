// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleasePlan states what the next action would change in the cluster. It has the name and
// namespace of its HelmRelease, which owns it. The controller creates it while a change waits for
// approval, and when a plan is requested. It deletes the plan one hour after the change was
// applied.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=plan
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Action",type="string",JSONPath=".status.action",description=""
// +kubebuilder:printcolumn:name="Chart",type="string",JSONPath=".status.to.chart",description=""
// +kubebuilder:printcolumn:name="Approved",type="string",JSONPath=".status.conditions[?(@.type==\"Approved\")].status",description=""
// +kubebuilder:printcolumn:name="Applied",type="string",JSONPath=".status.conditions[?(@.type==\"Applied\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type ReleasePlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The approval.
	// +optional
	Spec ReleasePlanSpec `json:"spec,omitempty"`

	// The changes. The controller writes it.
	// +optional
	Status ReleasePlanStatus `json:"status,omitempty"`
}

// ReleasePlanList is a list of ReleasePlans.
//
// +kubebuilder:object:root=true
type ReleasePlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The ReleasePlans.
	Items []ReleasePlan `json:"items"`
}

// ReleasePlanSpec is the decision of a person or a pipeline about a plan.
type ReleasePlanSpec struct {
	// The digest of the plan that may be applied: status.digest.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Approved string `json:"approved,omitempty"`

	// The user who approves. Where the admission policy is installed, it must be the user of the
	// request that sets approved.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`

	// Objects of the plan that are deleted and created anew, since the API server refuses to change
	// them. They count together with the approval of the same plan, for one action, and only where the
	// admission policy for replacements is installed.
	// +optional
	Replace *PlanReplace `json:"replace,omitempty"`

	// The digest of a plan that is not applied. It takes precedence over approved.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Rejected string `json:"rejected,omitempty"`

	// The user who rejects. Where the admission policy is installed, it must be the user of the
	// request that sets it.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RejectedBy string `json:"rejectedBy,omitempty"`

	// Why the plan is rejected, for other users.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	RejectionReason string `json:"rejectionReason,omitempty"`

	// Lets the action of the plan pass the freezes and windows of policies, once. It has an effect
	// only where the admission policy for overrides is installed. It replaces no approval.
	// +optional
	Override *PlanOverride `json:"override,omitempty"`
}

// PlanReplace names objects of one plan that are deleted and created anew.
type PlanReplace struct {
	// The digest of the plan: status.digest. The names do not count for another plan.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Digest string `json:"digest"`

	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +required
	Objects []PlanObject `json:"objects"`
}

// PlanObject names an object of a plan.
type PlanObject struct {
	// Any version of any group, if it is empty.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Empty for cluster-scoped objects, and for objects in the namespace of the release.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// PlanOverride is an override of the freezes and windows that hold the action of a plan.
type PlanOverride struct {
	// The digest of the plan: status.digest.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest"`

	// The user who overrides. It must be the user of the request that sets it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by"`

	// Why, for other users.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`

	// The time of the override, as the user states it. It distinguishes an override from an equal
	// one that was used.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// PlanAction is the action that a plan is about.
//
// +kubebuilder:validation:Enum=Install;Upgrade;Rollback;Uninstall;Reinstall
type PlanAction string

// The actions of plans.
const (
	PlanInstall   PlanAction = "Install"
	PlanUpgrade   PlanAction = "Upgrade"
	PlanRollback  PlanAction = "Rollback"
	PlanUninstall PlanAction = "Uninstall"
	// PlanReinstall uninstalls the release and installs it anew.
	PlanReinstall PlanAction = "Reinstall"
)

// ReleasePlanStatus is the content of a plan. It contains no values of Secrets.
type ReleasePlanStatus struct {
	// The last value of annotation pintle.dev/plan on the HelmRelease for which the plan was
	// computed.
	// +optional
	LastHandledPlanAt string `json:"lastHandledPlanAt,omitempty"`

	// The digest of the plan: sha256:<hex> of its inputs, the base revision, the rendered text and
	// the changes.
	// +optional
	Digest string `json:"digest,omitempty"`

	// The version of what plans state. The controller computes a plan of another version anew.
	// +optional
	Version int64 `json:"version,omitempty"`

	// The digest of the inputs of the plan, and the newest revision at that time. The controller
	// computes the plan anew if they change.
	// +optional
	Inputs string `json:"inputs,omitempty"`

	// +optional
	Base string `json:"base,omitempty"`

	// The action.
	// +optional
	Action PlanAction `json:"action,omitempty"`

	// The present revision; absent if there is none.
	// +optional
	From *PlanRevision `json:"from,omitempty"`

	// The new revision; absent for an uninstall.
	// +optional
	To *PlanRevision `json:"to,omitempty"`

	// What the action may harm, the most severe class first. At most 8 of each class. It is empty, and
	// not absent, if nothing was found.
	// +optional
	Dangers []PlanDanger `json:"dangers,omitzero"`

	// The numbers of changes.
	// +optional
	Summary PlanSummary `json:"summary,omitempty"`

	// The keys of values that change, without the values themselves.
	// +optional
	Values []PlanValue `json:"values,omitempty"`

	// The images of containers that change.
	// +optional
	Images []PlanImage `json:"images,omitempty"`

	// The kinds of the objects that are deleted or replaced. Unlike changes, the list is complete.
	// Policies are compared with it.
	// +optional
	Removals []PlanRemoval `json:"removals,omitempty"`

	// The objects that change: at most 200. Destructive and refused changes come first.
	// +optional
	Changes []PlanChange `json:"changes,omitempty"`

	// The hooks that the action runs.
	// +optional
	Hooks []PlanHook `json:"hooks,omitempty"`

	// The CRDs in the chart's crds folders that the action creates or replaces.
	// +optional
	CRDs []PlanChange `json:"crds,omitempty"`

	// Sentences about what the plan does not show, or what may surprise.
	// +optional
	Warnings []string `json:"warnings,omitempty"`

	// The number of entries that the lists above lack because of the limits of their length.
	// +optional
	Omitted int64 `json:"omitted,omitempty"`

	// The time at which the plan was applied.
	// +optional
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`

	// The last override under which the action of a plan has made a revision. It is used, and has no
	// effect.
	// +optional
	Overridden *PlanOverride `json:"overridden,omitempty"`

	// The conditions Ready, Approved and Applied.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DangerClass is what a change may harm.
//
// +kubebuilder:validation:Enum=DataLoss;Outage;Access;Supply
type DangerClass string

// The classes of dangers.
const (
	// DataLoss is the loss of stored data.
	DataLoss DangerClass = "DataLoss"
	// Outage is an interruption of a service, or an upgrade that cannot succeed.
	Outage DangerClass = "Outage"
	// Access is more permissions, or access to nodes.
	Access DangerClass = "Access"
	// Supply is a less certain origin of images.
	Supply DangerClass = "Supply"
)

// DangerClasses returns all classes, the most severe first.
func DangerClasses() []DangerClass { return []DangerClass{DataLoss, Outage, Access, Supply} }

// PlanDanger is what a change of one object may harm.
type PlanDanger struct {
	Class DangerClass `json:"class"`

	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	// Empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// What happens, as a sentence about the object.
	Reason string `json:"reason"`
}

// PlanRevision is a revision of the release.
type PlanRevision struct {
	// The number of the revision. It is 0 for one that does not exist yet.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// The chart as <name>@<version>.
	Chart string `json:"chart"`

	// The version of the application.
	// +optional
	AppVersion string `json:"appVersion,omitempty"`

	// The revision of the source of the chart.
	// +optional
	Source string `json:"source,omitempty"`
}

// PlanSummary has the numbers of objects by kind of change.
type PlanSummary struct {
	// +kubebuilder:default=0
	// +optional
	Create int64 `json:"create"`
	// +kubebuilder:default=0
	// +optional
	Update int64 `json:"update"`
	// +kubebuilder:default=0
	// +optional
	Replace int64 `json:"replace"`
	// +kubebuilder:default=0
	// +optional
	Delete int64 `json:"delete"`
	// Refused are the changes that the API server or a policy refuses.
	// +kubebuilder:default=0
	// +optional
	Refused int64 `json:"refused"`
	// Unchanged are the objects that the action does not change.
	// +kubebuilder:default=0
	// +optional
	Unchanged int64 `json:"unchanged"`
	// Destructive are the deletions, and all objects of an uninstall or reinstall.
	// +kubebuilder:default=0
	// +optional
	Destructive int64 `json:"destructive"`
}

// PlanValue is a key of the values that changes.
type PlanValue struct {
	// The path of the key.
	Key string `json:"key"`

	// Where the new value comes from: "inline" for spec.values, "<kind>/<name>" for valuesFrom,
	// "chart" for the chart's defaults, "removed" if the key no longer has a value.
	Layer string `json:"layer"`

	// The key of the ConfigMap or Secret, or the path of the file, that has the value. Empty for other
	// layers.
	// +optional
	File string `json:"file,omitempty"`

	// The line in the file, counted from 1. Absent if it is not known.
	// +optional
	Line int64 `json:"line,omitempty"`

	// The layer whose value has no effect because of this one, with its file and line. Empty if there is
	// none.
	// +optional
	Overrides string `json:"overrides,omitempty"`
}

// PlanImage is the image of a container that changes.
type PlanImage struct {
	// The object as <kind>/<name>.
	Object string `json:"object"`

	// The name of the container.
	Container string `json:"container"`

	// The image before; empty for a new container.
	// +optional
	From string `json:"from,omitempty"`

	// The image afterwards; empty for a container that is removed.
	// +optional
	To string `json:"to,omitempty"`
}

// ChangeKind is the kind of a change of one object.
//
// +kubebuilder:validation:Enum=Create;Update;Replace;Delete;Refused
type ChangeKind string

// The kinds of changes.
const (
	ChangeCreate  ChangeKind = "Create"
	ChangeUpdate  ChangeKind = "Update"
	ChangeReplace ChangeKind = "Replace"
	ChangeDelete  ChangeKind = "Delete"
	ChangeRefused ChangeKind = "Refused"
)

// PlanChange is the change of one object.
type PlanChange struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Empty for cluster-scoped objects.
	// +optional
	Namespace string     `json:"namespace,omitempty"`
	Name      string     `json:"name"`
	Change    ChangeKind `json:"change"`

	// True if data may be lost: a deletion, or a replacement by a hook.
	// +optional
	Destructive bool `json:"destructive,omitempty"`

	// Why a change is refused.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Set if the API server refuses to change the object, and would create it in its new form.
	// +optional
	Replacement *PlanReplacement `json:"replacement,omitempty"`

	// The fields that change.
	// +optional
	Fields []PlanField `json:"fields,omitempty"`
}

// PlanReplacement is the replacement of an object that cannot be changed.
type PlanReplacement struct {
	// The UID of the live object. Another object of its name is not deleted.
	UID string `json:"uid"`

	// Why an approval must not name the object in spec.replace; empty if it may.
	// +optional
	Refused string `json:"refused,omitempty"`

	// True if the claims of a StatefulSet are deleted with it, by its persistentVolumeClaimRetentionPolicy.
	// +optional
	DeletesClaims bool `json:"deletesClaims,omitempty"`
}

// PlanRemoval counts the objects of one kind that are deleted or replaced.
type PlanRemoval struct {
	// Empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Delete or Replace.
	Change ChangeKind `json:"change"`

	// True if data may be lost.
	// +optional
	Destructive bool `json:"destructive,omitempty"`

	// The name of one of the objects.
	// +optional
	Name string `json:"name,omitempty"`

	Count int64 `json:"count"`
}

// PlanField is a field of an object that changes. Values are compact JSON of bounded length. Those of
// Secrets are masked.
type PlanField struct {
	// The path of the field, such as .spec.replicas.
	Path string `json:"path"`

	// The live value; empty if the field is not set.
	// +optional
	From string `json:"from,omitempty"`

	// The new value; empty if the field is removed.
	// +optional
	To string `json:"to,omitempty"`

	// The field manager that set the live value, if it is not Helm.
	// +optional
	TakenFrom string `json:"takenFrom,omitempty"`
}

// PlanHook is a hook that the action runs.
type PlanHook struct {
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// +optional
	Kind   string   `json:"kind,omitempty"`
	Name   string   `json:"name"`
	Events []string `json:"events"`
}
