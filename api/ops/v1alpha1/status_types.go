// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperationStatus is the observed state of an Operation. It does not change in a final phase.
type OperationStatus struct {
	// The phase of the Operation. Empty until the first reconciliation.
	// +optional
	Phase OperationPhase `json:"phase,omitempty"`

	// Generation of the spec of the last reconciliation.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// When the first Job started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When the Operation reached its final phase.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Conditions of the Operation: Accepted, Running, Blocked, Succeeded, Failed and Cancelled.
	// Each is present only when it applies.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The hooks of the release. Set only if the requested hook does not exist.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Hooks []HookReference `json:"hooks,omitempty"`

	// SHA-256 of the manifests of the hooks that wait for approval, as sha256:<hex>. Empty unless the
	// Operation waits for it.
	// +optional
	AwaitingApproval string `json:"awaitingApproval,omitempty"`

	// The results of the Jobs.
	// +optional
	Outputs *Outputs `json:"outputs,omitempty"`

	// Where the Jobs are, if that is not the namespace of the Operation. It is stored before the
	// first Job is created, and does not change.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// The plan that the hook of the next version is taken from.
	// +optional
	Next *NextVersion `json:"next,omitempty"`
}

// NextVersion is the plan that the hook of the next version is taken from.
type NextVersion struct {
	// The value of the annotation pintle.dev/plan that requests the plan.
	Request string `json:"request"`

	// The digest of the plan, and the digest of its inputs.
	// +optional
	Plan string `json:"plan,omitempty"`
	// +optional
	Inputs string `json:"inputs,omitempty"`

	// UID of the HelmRelease, and the number of the newest revision.
	// +optional
	UID string `json:"uid,omitempty"`
	// +optional
	Revision int `json:"revision,omitempty"`

	// The user who lets the upgrade leave out the hook. Empty if the upgrade runs it.
	// +optional
	SkipApprovedBy string `json:"skipApprovedBy,omitempty"`
}

// Placement is a namespace for Jobs other than the namespace of the Operation, and the identity
// that acts there.
type Placement struct {
	// Namespace of the Jobs.
	Namespace string `json:"namespace"`

	// ServiceAccount in the namespace of the Operation that is impersonated. Empty is the default
	// of the controller.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// The connection to another cluster. Absent in the controller's own cluster.
	// +optional
	KubeConfig *ConnectionReference `json:"kubeConfig,omitempty"`

	// The objects that are created in addition to Jobs, and deleted at the end.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Objects []PlacedObject `json:"objects,omitempty"`
}

// ConnectionReference references the connection to another cluster, in the namespace of the
// Operation.
type ConnectionReference struct {
	// Secret or ConfigMap.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Key of the Secret.
	// +optional
	Key string `json:"key,omitempty"`
}

// PlacedObject is an object in the namespace of the Jobs.
type PlacedObject struct {
	// Kind of the object.
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
}

// OperationPhase is the progress of an Operation.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Cancelled
type OperationPhase string

const (
	// PhasePending means that no Job has started yet.
	PhasePending OperationPhase = "Pending"
	// PhaseRunning means that a Job runs, or that another one follows.
	PhaseRunning OperationPhase = "Running"
	// PhaseSucceeded is final.
	PhaseSucceeded OperationPhase = "Succeeded"
	// PhaseFailed is final.
	PhaseFailed OperationPhase = "Failed"
	// PhaseCancelled is final. No Job of the Operation is running.
	PhaseCancelled OperationPhase = "Cancelled"
)

// Final reports whether a phase is final.
func (p OperationPhase) Final() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCancelled
}

// HookReference describes a hook of a release.
type HookReference struct {
	// Name of the hook's object.
	Name string `json:"name"`
	// Kind of the hook's object.
	Kind string `json:"kind"`
	// Events of the hook.
	// +listType=atomic
	// +optional
	Events []string `json:"events,omitempty"`
}

// Outputs are the results of an Operation. If there are several Jobs, single values describe the
// last Job that started.
type Outputs struct {
	// The Pod with the most relevant log.
	// +optional
	LogsRef *PodReference `json:"logsRef,omitempty"`

	// When the last Job ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Name of the Job.
	// +optional
	JobName string `json:"jobName,omitempty"`

	// The release and revision with the hook.
	// +optional
	Release *ReleaseReference `json:"release,omitempty"`

	// Exit code of the container that determined the result: the failed container, or else 0.
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`

	// Reason of the failure in one word, such as OOMKilled, DeadlineExceeded or Unschedulable.
	// Empty without a failure.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message from Kubernetes about that reason, such as the image that cannot be pulled. At most
	// 1024 bytes.
	// +optional
	Message string `json:"message,omitempty"`

	// The last lines of every container's log.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	LogTail []ContainerLog `json:"logTail,omitempty"`

	// The Jobs in the order of their creation.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Jobs []JobResult `json:"jobs,omitempty"`
}

// PodReference references a Pod in the namespace of the Jobs.
type PodReference struct {
	// Always Pod.
	Kind string `json:"kind"`
	// Name of the Pod.
	Name string `json:"name"`
	// Namespace of the Pod.
	Namespace string `json:"namespace"`
}

// ReleaseReference references a revision of a Helm release and the used hooks.
type ReleaseReference struct {
	// Name of the Helm release.
	Name string `json:"name"`
	// Namespace of its objects.
	Namespace string `json:"namespace"`
	// Number of the revision.
	Revision int `json:"revision"`
	// SHA-256 of the hook's stored manifest, as sha256:<hex>. For the hooks of an event, the
	// SHA-256 of their manifests in order.
	HookDigest string `json:"hookDigest"`
}

// ContainerLog is the end of one container's log.
type ContainerLog struct {
	// Name of the container.
	Container string `json:"container"`
	// The last lines. Values of the release's Secrets are replaced by ***.
	// +optional
	Text string `json:"text,omitempty"`
}

// JobResult is the result of one Job.
type JobResult struct {
	// Name of the hook that the Job is created from.
	Hook string `json:"hook"`
	// Name of the Job.
	Name string `json:"name"`
	// UID of the Job. It is stored before the Job may run, so that no second Job can run in its
	// place.
	UID string `json:"uid"`
	// Running, Succeeded, Failed or Cancelled; Pending until the Job may run.
	Phase OperationPhase `json:"phase"`
	// When the Job started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When the Job ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Exit code of the container that determined the result.
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Reason of the failure or of the cancellation, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
}
