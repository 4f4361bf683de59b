// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperationStatus is what became of an Operation so far. In a final phase nothing of it changes any more.
type OperationStatus struct {
	// How far the work is. Empty until the controller has looked.
	// +optional
	Phase OperationPhase `json:"phase,omitempty"`

	// The generation of the spec that was looked at last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// When the first Job began to run.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// When the Operation came to its end, whatever that is.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Accepted, Running, Blocked, Succeeded, Failed and Cancelled, as far as there is something to say.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The hooks of the release. Only written if the one asked for is not among them.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Hooks []HookReference `json:"hooks,omitempty"`

	// What the work came to.
	// +optional
	Outputs *Outputs `json:"outputs,omitempty"`
}

// OperationPhase says how far an Operation is.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Cancelled
type OperationPhase string

const (
	// PhasePending says that nothing runs yet.
	PhasePending OperationPhase = "Pending"
	// PhaseRunning says that a Job runs, or ran and is followed by another one.
	PhaseRunning OperationPhase = "Running"
	// PhaseSucceeded is final.
	PhaseSucceeded OperationPhase = "Succeeded"
	// PhaseFailed is final.
	PhaseFailed OperationPhase = "Failed"
	// PhaseCancelled is final. Nothing of the Operation runs any more.
	PhaseCancelled OperationPhase = "Cancelled"
)

// Final reports whether a phase is left no more.
func (p OperationPhase) Final() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseCancelled
}

// HookReference describes a hook of a release.
type HookReference struct {
	// Name of the hook's object.
	Name string `json:"name"`
	// Kind of the hook's object.
	Kind string `json:"kind"`
	// Events that the hook is run at.
	// +listType=atomic
	// +optional
	Events []string `json:"events,omitempty"`
}

// Outputs is what the work came to. If there are several Jobs, what is said of one is said of the last that began.
type Outputs struct {
	// The Pod whose log tells most.
	// +optional
	LogsRef *PodReference `json:"logsRef,omitempty"`

	// When the last Job ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Name of the Job.
	// +optional
	JobName string `json:"jobName,omitempty"`

	// Where the hook comes from.
	// +optional
	Release *ReleaseReference `json:"release,omitempty"`

	// Exit code of the container that decided the result: the one that failed, or else 0.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`

	// Why it failed, in one word: OOMKilled, DeadlineExceeded, Unschedulable and so on. Empty if it did not.
	// +optional
	Reason string `json:"reason,omitempty"`

	// What Kubernetes says about that reason, for people: which image cannot be had, for example. 1024 bytes at most.
	// +optional
	Message string `json:"message,omitempty"`

	// The last lines of every container's log.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	LogTail []ContainerLog `json:"logTail,omitempty"`

	// The Jobs in the order in which they were made.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Jobs []JobResult `json:"jobs,omitempty"`
}

// PodReference names a Pod in the namespace of the Operation.
type PodReference struct {
	// Always Pod.
	Kind string `json:"kind"`
	// Name of the Pod.
	Name string `json:"name"`
	// Namespace of the Pod.
	Namespace string `json:"namespace"`
}

// ReleaseReference names a revision of a Helm release, and what of it was used.
type ReleaseReference struct {
	// Name of the Helm release.
	Name string `json:"name"`
	// Namespace of its objects.
	Namespace string `json:"namespace"`
	// Number of the revision.
	Revision int `json:"revision"`
	// SHA-256 of the hook's stored manifest, as sha256:<hex>. For the hooks of an event, of these texts in their order.
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

// JobResult is the life of one Job.
type JobResult struct {
	// Name of the hook that it is made from.
	Hook string `json:"hook"`
	// Name of the Job.
	Name string `json:"name"`
	// UID of the Job. It is written before the Job may run, so that no second one can ever be run in its place.
	UID string `json:"uid"`
	// Running, Succeeded, Failed or Cancelled; Pending until it may run.
	Phase OperationPhase `json:"phase"`
	// When it began to run.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When it ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Exit code of the container that decided the result.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Why it failed, or is being stopped, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
}
