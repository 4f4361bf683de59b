// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func operationOf(name string, age time.Duration, phase opsv1alpha1.OperationPhase) opsv1alpha1.Operation {
	op := opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}}
	op.Spec.TargetRef = opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: "HelmRelease", Name: "web"}
	op.Spec.Parameters = &opsv1alpha1.Parameters{HookName: "migrate"}
	op.Status.Phase = phase
	if phase == opsv1alpha1.PhaseFailed {
		op.Status.Conditions = []metav1.Condition{{Type: opsv1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: "HelmHookJobFailed", Message: "the Job has failed"}}
	}
	return op
}

// TestOperationsOf: the Operations of a release are those that name it, or an object that controls it.
func TestOperationsOf(t *testing.T) {
	controlled := operationOf("controlled", 0, "")
	controlled.Spec.TargetRef = opsv1alpha1.TargetReference{APIVersion: "apps.example/v1", Kind: "App", Name: "shop"}
	foreign, elsewhere := operationOf("foreign", 0, ""), operationOf("elsewhere", 0, "")
	foreign.Spec.TargetRef.Name, elsewhere.Namespace = "other", "b"
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps.example/v2", Kind: "App", Name: "shop", Controller: new(true)},
	}}}
	all := []opsv1alpha1.Operation{operationOf("named", time.Hour, ""), controlled, foreign, elsewhere}
	got := OperationsOf(all, hr, 1, now)
	if got.Len() != 2 || got.Entries[0].Name != "controlled" || got.More != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestExplainOperation: one Operation has its sentence, its Jobs, its Pods, its result and its logs.
func TestExplainOperation(t *testing.T) {
	op := operationOf("run", time.Hour, opsv1alpha1.PhaseFailed)
	started, ended := metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now.Add(-58*time.Minute))
	op.Status.StartedAt, op.Status.CompletionTime = &started, &ended
	op.Status.Outputs = &opsv1alpha1.Outputs{
		ExitCode: new(int32(3)), Reason: "Error", Message: "it broke", LogsRef: &opsv1alpha1.PodReference{Name: "pod"},
		Release: &opsv1alpha1.ReleaseReference{Name: "web", Namespace: "a", Revision: 7},
		LogTail: []opsv1alpha1.ContainerLog{{Container: "main", Text: "one\ntwo\n"}},
		Jobs:    []opsv1alpha1.JobResult{{Name: "job", Hook: "migrate", Phase: opsv1alpha1.PhaseFailed, ExitCode: new(int32(3)), StartedAt: &started, CompletionTime: &ended}},
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", CreationTimestamp: started, Labels: map[string]string{"batch.kubernetes.io/job-name": "job"}}}
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}}}}
	o := ExplainOperation(OperationFacts{Operation: &op, Release: "web", Pods: []corev1.Pod{pod}, Now: now})
	if o.Sentence != "Operation a/run failed: the Job has failed." || o.Took != "2m" || o.Revision != "7 of a/web" || o.Result != "exit code 3, Error: it broke" {
		t.Errorf("got %+v", o)
	}
	if len(o.Jobs.Entries) != 1 || o.Jobs.Entries[0] != (Job{Name: "job", Hook: "migrate", State: opsv1alpha1.PhaseFailed, Result: "exit code 3", Took: "2m"}) {
		t.Errorf("the Jobs are %+v", o.Jobs)
	}
	if len(o.Pods.Entries) != 1 || o.Pods.Entries[0].Line != "main has ended with exit code 3, Error" || o.Pods.Entries[0].Job != "job" {
		t.Errorf("the Pods are %+v", o.Pods)
	}
	if len(o.Logs) != 1 || o.Logs[0].Pod != "pod" || len(o.Logs[0].Lines) != 2 {
		t.Errorf("the logs are %+v", o.Logs)
	}
}
