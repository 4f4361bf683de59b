// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience bounds each wait. It is generous: other people use the machine too.
	patience = 2 * time.Minute

	// image has a shell and the usual small programs; it is on the node.
	image = "images.pintle.test/busybox:1"
	// noImage is an image of a registry that does not exist.
	noImage = "127.0.0.1:1/none:1"
)

// world is one test's namespace, and its part of the registry by the same name.
type world struct {
	*testing.T
	namespace string
}

func newWorld(t *testing.T) world {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}
	w := world{T: t}
	w.must(env.Client.Create(t.Context(), ns))
	w.namespace = ns.Name
	return w
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// bounded is a context for one wait.
func (w world) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.Context(), patience)
}

func (w world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// shell is a pod that runs a script in one container, "main", and ends with it.
// Changes are made before it is used.
func shell(script string, changes ...func(*corev1.PodSpec)) corev1.PodSpec {
	soon := int64(1)
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &soon,
		Containers: []corev1.Container{{
			Name: "main", Image: image, Command: []string{"sh", "-c", script},
			ImagePullPolicy: corev1.PullIfNotPresent,
		}},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// pod creates a pod.
func (w world) pod(name string, spec corev1.PodSpec) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: w.meta(name), Spec: spec}
	w.must(env.Client.Create(w.Context(), pod))
	return pod
}

// job creates a Job that is tried once.
func (w world) job(name string, spec corev1.PodSpec, changes ...func(*batchv1.JobSpec)) *batchv1.Job {
	w.Helper()
	once := int32(0)
	job := &batchv1.Job{ObjectMeta: w.meta(name), Spec: batchv1.JobSpec{
		BackoffLimit: &once, Template: corev1.PodTemplateSpec{Spec: spec},
	}}
	for _, change := range changes {
		change(&job.Spec)
	}
	w.must(env.Client.Create(w.Context(), job))
	return job
}

// ended waits until a Job is Complete or Failed, and returns that condition.
func (w world) ended(job *batchv1.Job) batchv1.JobCondition {
	w.Helper()
	ctx, cancel := w.bounded()
	defer cancel()
	var end batchv1.JobCondition
	w.must(env.Until(ctx, "Job "+job.Name+" to end", func() (string, bool) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err.Error(), false
		}
		for _, c := range job.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				end = c
				return "", true
			}
		}
		return w.podsText(ctx), false
	}))
	return end
}

// endsAs checks how a Job ends.
func (w world) endsAs(job *batchv1.Job, kind batchv1.JobConditionType, reason string) {
	w.Helper()
	if end := w.ended(job); end.Type != kind || reason != "" && end.Reason != reason {
		w.Errorf("Job %s is %s %q (%s), want %s %q\n%s", job.Name, end.Type, end.Reason, end.Message, kind, reason, w.podsText(w.Context()))
	}
}

// podOf returns the one pod of a Job.
func (w world) podOf(job string) *corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	w.must(env.Client.List(w.Context(), &pods, client.InNamespace(w.namespace), client.MatchingLabels{batchv1.JobNameLabel: job}))
	if len(pods.Items) != 1 {
		w.Fatalf("Job %s has %d pods, want 1\n%s", job, len(pods.Items), w.podsText(w.Context()))
	}
	return &pods.Items[0]
}

// untilPod waits until a pod is as wanted, and updates it.
func (w world) untilPod(pod *corev1.Pod, what string, wanted func(*corev1.Pod) bool) {
	w.Helper()
	ctx, cancel := w.bounded()
	defer cancel()
	w.must(env.Until(ctx, "pod "+pod.Name+" "+what, func() (string, bool) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err.Error(), false
		}
		return podText(pod), wanted(pod)
	}))
}

// waits waits until a pod's first container waits for one of the given reasons.
func (w world) waits(pod *corev1.Pod, reasons ...string) *corev1.ContainerStateWaiting {
	w.Helper()
	var waiting *corev1.ContainerStateWaiting
	w.untilPod(pod, "to be in "+strings.Join(reasons, " or "), func(pod *corev1.Pod) bool {
		if len(pod.Status.ContainerStatuses) == 0 {
			return false
		}
		waiting = pod.Status.ContainerStatuses[0].State.Waiting
		for _, reason := range reasons {
			if waiting != nil && waiting.Reason == reason {
				return true
			}
		}
		return false
	})
	return waiting
}

// terminated returns how the first container of a pod ended.
func (w world) terminated(pod *corev1.Pod) corev1.ContainerStateTerminated {
	w.Helper()
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Terminated == nil {
		w.Fatalf("the container has not ended: %s", podText(pod))
	}
	return *pod.Status.ContainerStatuses[0].State.Terminated
}

// logs returns the last lines of a pod's first container, as kubectl logs --tail
// does.
func (w world) logs(pod *corev1.Pod, lines int64) string {
	w.Helper()
	ctx, cancel := w.bounded()
	defer cancel()
	content, err := env.pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
	w.must(err)
	return string(content)
}

// podsText describes all Pods of the test.
func (w world) podsText(ctx context.Context) string {
	var pods corev1.PodList
	if err := env.Client.List(ctx, &pods, client.InNamespace(w.namespace)); err != nil {
		return err.Error()
	}
	var lines []string
	for i := range pods.Items {
		lines = append(lines, podText(&pods.Items[i]))
	}
	return strings.Join(lines, "\n")
}

func podText(pod *corev1.Pod) string {
	text := fmt.Sprintf("pod %s %s %s %s", pod.Name, pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	for _, s := range pod.Status.ContainerStatuses {
		state, err := json.Marshal(s.State)
		if err != nil {
			return err.Error()
		}
		text += fmt.Sprintf("\n  %s, %d restarts: %s", s.Name, s.RestartCount, state)
	}
	return text
}
