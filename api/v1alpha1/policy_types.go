// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleasePolicy restricts the changes of the releases in its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=rpol
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Approval",type="string",JSONPath=".spec.approval",description=""
// +kubebuilder:printcolumn:name="Freeze",type="string",JSONPath=".spec.freeze",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type ReleasePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The restrictions.
	// +required
	Spec ReleasePolicySpec `json:"spec"`
}

// ReleasePolicyList is a list of ReleasePolicies.
//
// +kubebuilder:object:root=true
type ReleasePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The ReleasePolicies.
	Items []ReleasePolicy `json:"items"`
}

// ClusterReleasePolicy restricts the changes of releases in all namespaces, or in those that a
// selector selects.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=crpol
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Approval",type="string",JSONPath=".spec.approval",description=""
// +kubebuilder:printcolumn:name="Freeze",type="string",JSONPath=".spec.freeze",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type ClusterReleasePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The restrictions.
	// +required
	Spec ClusterReleasePolicySpec `json:"spec"`
}

// ClusterReleasePolicyList is a list of ClusterReleasePolicies.
//
// +kubebuilder:object:root=true
type ClusterReleasePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The ClusterReleasePolicies.
	Items []ClusterReleasePolicy `json:"items"`
}

// ClusterReleasePolicySpec is a ReleasePolicySpec for the releases in selected namespaces.
type ClusterReleasePolicySpec struct {
	ReleasePolicySpec `json:",inline"`

	// The namespaces of the HelmReleases. Empty or absent selects all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// ReleasePolicySpec restricts the changes of the releases that it selects. If several policies select
// a release, all of them apply.
type ReleasePolicySpec struct {
	// The labels of the HelmReleases. Empty or absent selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Which changes wait until their plan is approved. Default Never.
	// +optional
	Approval Approval `json:"approval,omitempty"`

	// Classes of dangers. Changes whose plan has a danger of one of them wait until the plan is approved,
	// besides the changes that approval names. Empty or absent adds none.
	// +kubebuilder:validation:MaxItems=4
	// +optional
	ApprovalClasses []DangerClass `json:"approvalClasses,omitempty"`

	// Why nothing is installed, upgraded, uninstalled or rolled back on request. Empty or absent does
	// not freeze.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Freeze string `json:"freeze,omitempty"`

	// When the releases may be installed, upgraded, uninstalled or rolled back on request. Within a
	// window with effect Deny, and outside of all windows with effect Allow, if there are any, they
	// wait. Empty or absent allows each time.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Windows []Window `json:"windows,omitempty"`

	// Which rollbacks on request wait for approval, and for the end of a freeze or a window. Default
	// Held.
	// +optional
	Rollbacks Rollbacks `json:"rollbacks,omitempty"`

	// Objects whose removal needs approval, or is refused. A rollback keeps them.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Protect []Protection `json:"protect,omitempty"`

	// The charts that may be installed.
	// +optional
	Charts *ChartPolicy `json:"charts,omitempty"`

	// The places that values may come from, and what they may contain. Absent allows all.
	// +optional
	Values *ValuesPolicy `json:"values,omitempty"`

	// What follows if a dry run denies an object for a reason that may depend on other objects of the
	// same install or upgrade. Default Try.
	// +optional
	DryRunDenials DryRunDenials `json:"dryRunDenials,omitempty"`

	// How new charts spread over the releases, and how long each is watched after its upgrade. Absent
	// does not limit them.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// The Operations that may run hooks of the releases. Absent allows all, without approval.
	// +optional
	Operations *OperationPolicy `json:"operations,omitempty"`
}

// Window is a repeated span of time.
type Window struct {
	// Whether changes are allowed in the window, or denied.
	// +required
	Effect WindowEffect `json:"effect"`

	// When the window opens, in the five fields of cron: minute, hour, day of the month, month, day of
	// the week.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=256
	// +required
	Schedule string `json:"schedule"`

	// How long it stays open, such as 64h. At least a minute, at most 8784h.
	// +required
	Duration metav1.Duration `json:"duration"`

	// The time zone of the schedule, by its name in the IANA database. Default UTC.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// WindowEffect states what a window does.
//
// +kubebuilder:validation:Enum=Allow;Deny
type WindowEffect string

// The values of WindowEffect.
const (
	WindowAllow WindowEffect = "Allow"
	WindowDeny  WindowEffect = "Deny"
)

// Rollout limits how a new chart, or new shared values, spread over the releases that a policy selects.
// All releases whose next install or upgrade takes the same new chart or content are a wave.
type Rollout struct {
	// What spreads. Chart: a new chart. Values: a new content of an object or file in spec.valuesFrom of
	// several releases. Default Chart.
	// +optional
	By RolloutBy `json:"by,omitempty"`

	// How many releases of a wave are installed, upgraded or watched after that at a time. Default: no
	// limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// How many releases of a wave may fail before no other one starts. Default 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxFailed int32 `json:"maxFailed,omitempty"`

	// How long a release is watched after an install or upgrade before it counts as ready, such as 5m.
	// Trouble in this time is a failure of the install or upgrade. At most 24h. Default 0: it is not
	// watched.
	// +optional
	BakeTime metav1.Duration `json:"bakeTime,omitzero"`

	// Conditions of objects of the release that count as trouble, besides restarts of containers,
	// objects that are not ready, and failed Jobs.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	BakeExprs []BakeExpr `json:"bakeExprs,omitempty"`

	// The stages in which releases of a wave start, by their labels. Each release is in the first stage
	// that selects it, and those that none selects are in a last one. A stage starts when the ones
	// before it are finished. Empty is one stage.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Order []metav1.LabelSelector `json:"order,omitempty"`
}

// RolloutBy states what spreads over releases.
// +kubebuilder:validation:Enum=Chart;Values
type RolloutBy string

// What may spread.
const (
	// RolloutByChart is a new chart.
	RolloutByChart RolloutBy = "Chart"
	// RolloutByValues is a new content of what several releases take values from.
	RolloutByValues RolloutBy = "Values"
)

// BakeExpr is trouble with the objects of a kind.
type BakeExpr struct {
	// The API version of the objects. Only the group is compared.
	// +kubebuilder:validation:MinLength=1
	// +required
	APIVersion string `json:"apiVersion"`

	// The kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +required
	Kind string `json:"kind"`

	// A CEL expression over the fields of an object, such as status, which is true if the object is in
	// trouble.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Failed string `json:"failed"`
}

// OperationPolicy restricts the hooks that Operations run.
type OperationPolicy struct {
	// The events whose hooks may be run, such as pre-upgrade. A hook with several events needs one of
	// them here. Empty or absent allows all.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Allow []string `json:"allow,omitempty"`

	// Patterns of the names of hooks that may be run, in which * stands for any text. Empty or absent
	// allows all.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Names []string `json:"names,omitempty"`

	// Which Operations wait until they are approved. Default Never.
	// +optional
	Approval OperationApproval `json:"approval,omitempty"`
}

// OperationApproval states which Operations need approval.
//
// +kubebuilder:validation:Enum=Never;Always
type OperationApproval string

// The values of OperationApproval.
const (
	OperationApprovalNever  OperationApproval = "Never"
	OperationApprovalAlways OperationApproval = "Always"
)

// DryRunDenials states what follows if a dry run denies an object for a reason that may depend on
// other objects.
//
// +kubebuilder:validation:Enum=Try;Refuse
type DryRunDenials string

// The values of DryRunDenials.
const (
	// DryRunDenialsTry refuses the first attempt. The second one goes ahead.
	DryRunDenialsTry DryRunDenials = "Try"
	// DryRunDenialsRefuse refuses each attempt.
	DryRunDenialsRefuse DryRunDenials = "Refuse"
)

// Approval states which changes need approval.
//
// +kubebuilder:validation:Enum=Never;Always;Destructive
type Approval string

// The values of Approval.
const (
	ApprovalNever Approval = "Never"
	// ApprovalAlways needs approval for each install, upgrade and uninstall.
	ApprovalAlways Approval = "Always"
	// ApprovalDestructive needs approval for changes that delete objects.
	ApprovalDestructive Approval = "Destructive"
)

// Rollbacks states whether approval and freeze hold rollbacks on request.
//
// +kubebuilder:validation:Enum=Held;Free
type Rollbacks string

// The values of Rollbacks.
const (
	// RollbacksHeld holds rollbacks on request like upgrades.
	RollbacksHeld Rollbacks = "Held"
	// RollbacksFree holds no rollback.
	RollbacksFree Rollbacks = "Free"
)

// Protection protects objects against removal.
type Protection struct {
	// The kinds of the objects, as Kind, in any group, or as Kind.group, such as
	// Cluster.postgresql.cnpg.io. A deleted CRD counts as all objects of its kind.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +required
	Kinds []string `json:"kinds"`

	// The operations that need approval. Reinstall includes the deletion of an object by a
	// reinstall; Delete includes the deletion by an upgrade or uninstall, and the replacement by a
	// hook. A rollback waits for no approval: it keeps the objects.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +required
	Operations []ProtectedOperation `json:"operations"`

	// Refuses the operations, even with approval. Default false.
	// +optional
	Deny bool `json:"deny,omitempty"`
}

// ProtectedOperation is an operation on an object.
//
// +kubebuilder:validation:Enum=Delete;Replace;Reinstall
type ProtectedOperation string

// The operations that can be protected against.
const (
	ProtectDelete    ProtectedOperation = "Delete"
	ProtectReplace   ProtectedOperation = "Replace"
	ProtectReinstall ProtectedOperation = "Reinstall"
)

// ChartPolicy restricts the charts of releases.
type ChartPolicy struct {
	// Requires a version of the chart that is no range, or a tag or digest of an artifact.
	// +optional
	ExactVersions bool `json:"exactVersions,omitempty"`

	// Requires that the source verifies the signature of the chart.
	// +optional
	Verified bool `json:"verified,omitempty"`

	// The signers of charts that are allowed. If it is not empty, it includes verified. Empty allows
	// each signer that a source names.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Signers []ChartSigner `json:"signers,omitempty"`

	// The URLs of charts that are allowed. "*" matches any characters but "/". Empty allows all.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Sources []string `json:"sources,omitempty"`

	// Which certificate authorities a source may trust if sources is not empty. Default System.
	// +optional
	Transport ChartTransport `json:"transport,omitempty"`
}

// ChartSigner is a provider of signatures, with the keys or the identities that are trusted. With
// neither, each key and identity is.
//
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || !has(self.identities)",message="only one of secret and identities can be set"
type ChartSigner struct {
	// The provider in spec.verify of the source.
	// +required
	Provider SignatureProvider `json:"provider"`

	// The Secret with the keys, as <namespace>/<name>. The source must be in that namespace and name
	// this Secret.
	// +kubebuilder:validation:Pattern=`^[^/]+/[^/]+$`
	// +optional
	Secret string `json:"secret,omitempty"`

	// Identities of keyless signatures. Each one in spec.verify.matchOIDCIdentity of the source must
	// equal one of them, and the source must have one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Identities []SignerIdentity `json:"identities,omitempty"`
}

// SignatureProvider is a technology of signatures.
//
// +kubebuilder:validation:Enum=cosign;notation
type SignatureProvider string

// The values of SignatureProvider.
const (
	ProviderCosign   SignatureProvider = "cosign"
	ProviderNotation SignatureProvider = "notation"
)

// SignerIdentity has the issuer and the subject of the certificate of a keyless signature. They are
// the texts of the regular expressions in the source.
type SignerIdentity struct {
	// The issuer in the source.
	// +required
	Issuer string `json:"issuer"`

	// The subject in the source.
	// +required
	Subject string `json:"subject"`
}

// ChartTransport states which certificate authorities a source may trust.
//
// +kubebuilder:validation:Enum=System;Any
type ChartTransport string

// The values of ChartTransport.
const (
	// TransportSystem allows only the certificate authorities of source-controller's system.
	TransportSystem ChartTransport = "System"
	// TransportAny also allows those in a Secret that the source names.
	TransportAny ChartTransport = "Any"
)

// ValuesPolicy restricts the values of releases.
type ValuesPolicy struct {
	// The places that values may come from: <kind>, <kind>/<name> for objects in the namespace of the
	// HelmRelease, or <kind>/<namespace>/<name>. "*" matches any characters but "/". The kind
	// HelmRelease is spec.values. Empty allows all.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^[A-Z][A-Za-z]*(/[^/]+){0,2}$`
	// +optional
	Sources []string `json:"sources,omitempty"`

	// What follows if values outside of Secrets look like credentials. Default Allow.
	// +optional
	PlaintextSecrets PlaintextSecrets `json:"plaintextSecrets,omitempty"`

	// Patterns of the keys of values that may look like credentials, such as auth.token, in which "*"
	// matches any characters.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Allow []string `json:"allow,omitempty"`
}

// PlaintextSecrets states what follows if values outside of Secrets look like credentials.
//
// +kubebuilder:validation:Enum=Allow;Deny
type PlaintextSecrets string

// The values of PlaintextSecrets.
const (
	PlaintextSecretsAllow PlaintextSecrets = "Allow"
	PlaintextSecretsDeny  PlaintextSecrets = "Deny"
)
