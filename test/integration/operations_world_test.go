// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
)

// migration is a hook that Helm does not run in these tests, since no Job completes without the
// tests' help.
const migration = `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  labels: {app: {{ .Release.Name }}}
  annotations: {helm.sh/hook: %s, helm.sh/hook-delete-policy: hook-succeeded}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: example.com/migrate:1, command: [migrate]}]
`

// hooked is configMapChart with a hook.
func hooked(t *testing.T, version, event string, more ...string) []byte {
	t.Helper()
	return pack(t, "note", version, map[string]string{
		"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n",
		"templates/hook.yaml": fmt.Sprintf(migration, event) + strings.Join(more, ""),
		"values.yaml":         "message: default\n",
	})
}

// operate creates an Operation that runs the hook of a release.
func (w *world) operate(hr *helmv2.HelmRelease, name string, edit ...func(*opsv1alpha1.Operation)) *opsv1alpha1.Operation {
	w.t.Helper()
	op := &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: hr.Labels},
		Spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name},
			Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob,
			Parameters: &opsv1alpha1.Parameters{HookName: hr.Name + "-migrate"},
		},
	}
	for _, e := range edit {
		e(op)
	}
	w.must(suite.client.Create(w.t.Context(), op))
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), op) })
	return op
}

// untilOperation waits until ok returns true for a version of an Operation.
func (w *world) untilOperation(op *opsv1alpha1.Operation, what string, ok func(*opsv1alpha1.Operation) bool) {
	w.t.Helper()
	await(w, op, what, ok)
}

func (w *world) untilPhase(op *opsv1alpha1.Operation, phase opsv1alpha1.OperationPhase) {
	w.t.Helper()
	w.untilOperation(op, string(phase), func(op *opsv1alpha1.Operation) bool { return op.Status.Phase == phase })
}

// untilBlocked waits until an Operation is blocked for a reason, with texts in its message.
func (w *world) untilBlocked(op *opsv1alpha1.Operation, reason string, texts ...string) {
	w.t.Helper()
	w.untilOperation(op, "Blocked/"+reason, func(op *opsv1alpha1.Operation) bool {
		c := apimeta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionBlocked)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason {
			return false
		}
		for _, text := range texts {
			if !strings.Contains(c.Message, text) {
				return false
			}
		}
		return true
	})
}

// tidy waits until all objects of an Operation are deleted.
func (w *world) tidy(op *opsv1alpha1.Operation) {
	w.t.Helper()
	w.untilOperation(op, "the finalizer to go", func(op *opsv1alpha1.Operation) bool {
		return op.Status.Phase.Final() && len(op.Finalizers) == 0
	})
}

// theJob waits for the Job of an Operation that may run.
func (w *world) theJob(op *opsv1alpha1.Operation) *batchv1.Job {
	w.t.Helper()
	var found *batchv1.Job
	untilTrue(w, "a Job of "+op.Name+" that may run", func() bool {
		for _, job := range w.jobs(op) {
			if job.Spec.Suspend == nil || !*job.Spec.Suspend {
				found = &job
			}
		}
		return found != nil
	}, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}})
	return found
}

func (w *world) jobs(op *opsv1alpha1.Operation) []batchv1.Job {
	w.t.Helper()
	var list batchv1.JobList
	w.must(suite.client.List(w.t.Context(), &list, client.InNamespace(w.namespace),
		client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}))
	return list.Items
}

// runPod simulates the Job controller and a node: the Job becomes active and has a Pod.
func (w *world) runPod(job *batchv1.Job) *corev1.Pod {
	w.t.Helper()
	now := metav1.Now()
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(job), job))
	job.Status.StartTime, job.Status.Active = &now, 1
	w.must(suite.client.Status().Update(w.t.Context(), job))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: job.Name + "-", Namespace: job.Namespace, Labels: job.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: *job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.ServiceAccountName, pod.Spec.AutomountServiceAccountToken = "", new(bool)
	w.must(suite.client.Create(w.t.Context(), pod))
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	w.must(suite.client.Status().Update(w.t.Context(), pod))
	return pod
}

// endPod ends a pod, and with it its Job.
func (w *world) endPod(job *batchv1.Job, pod *corev1.Pod, code int32) {
	w.t.Helper()
	now, reason := metav1.Now(), "Completed"
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase, reason = corev1.PodFailed, "Error"
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  pod.Spec.Containers[0].Name,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: now}},
	}}
	w.must(suite.client.Status().Update(w.t.Context(), pod))
	w.endJob(job, code == 0)
}

// endJob sets the status of a Job to finished.
func (w *world) endJob(job *batchv1.Job, succeeded bool) {
	w.t.Helper()
	now := metav1.Now()
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(job), job))
	said := func(kind batchv1.JobConditionType, reason string) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastProbeTime: now, LastTransitionTime: now,
		})
	}
	if job.Status.StartTime == nil {
		job.Status.StartTime = &now
	}
	job.Status.Active = 0
	if succeeded {
		job.Status.Succeeded, job.Status.CompletionTime = 1, &now
		said(batchv1.JobSuccessCriteriaMet, "CompletionsReached")
		said(batchv1.JobComplete, "CompletionsReached")
	} else {
		job.Status.Failed = 1
		said(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded)
		said(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	}
	w.must(suite.client.Status().Update(w.t.Context(), job))
}

// succeed lets the Job of an Operation run and succeed.
func (w *world) succeed(op *opsv1alpha1.Operation) {
	w.t.Helper()
	job := w.theJob(op)
	w.endPod(job, w.runPod(job), 0)
}

// created counts the Jobs that were ever made in a namespace, and the moments at
// which each of them could run.
type created struct {
	mu   sync.Mutex
	uids map[string]bool
	ran  map[string]bool
}

// countJobs watches for Jobs with a label until the test ends.
func (w *world) countJobs() *created {
	w.t.Helper()
	watching, err := client.NewWithWatch(suite.config, client.Options{Scheme: controller.Scheme()})
	w.must(err)
	events, err := watching.Watch(w.t.Context(), &batchv1.JobList{}, client.InNamespace(w.namespace), client.HasLabels{opsv1alpha1.LabelOperation})
	w.must(err)
	c := &created{uids: map[string]bool{}, ran: map[string]bool{}}
	go func() {
		for e := range events.ResultChan() {
			job, ok := e.Object.(*batchv1.Job)
			if !ok || e.Type == watch.Deleted {
				continue
			}
			c.mu.Lock()
			c.uids[string(job.UID)] = true
			if job.Spec.Suspend == nil || !*job.Spec.Suspend {
				c.ran[string(job.UID)] = true
			}
			c.mu.Unlock()
		}
	}()
	w.t.Cleanup(events.Stop)
	return c
}

// counts returns how many Jobs were made, and how many could run.
func (c *created) counts() (made, ran int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.uids), len(c.ran)
}

// untilOperationGone waits until an Operation no longer exists.
func (w *world) untilOperationGone(op *opsv1alpha1.Operation) {
	w.t.Helper()
	awaitGone(w, op)
}

func roles() client.ObjectList        { return &rbacv1.RoleList{} }
func roleBindings() client.ObjectList { return &rbacv1.RoleBindingList{} }
