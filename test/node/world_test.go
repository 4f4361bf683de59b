// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/fixture"
)

const (
	// image has a shell and the usual small programs; it is on the node.
	image = "images.pintle.test/busybox:1"
	// noImage is an image of a registry that does not exist.
	noImage = "127.0.0.1:1/none:1"
)

type values = fixture.Values

// world is one test's namespace, and its part of the registry by the same name.
type world struct{ fixture.World }

func newWorld(t *testing.T) world {
	t.Helper()
	return world{fixture.New(t, env.Environment, "node-")}
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
	pod := &corev1.Pod{ObjectMeta: w.Meta(name), Spec: spec}
	w.Must(env.Client.Create(w.Context(), pod))
	return pod
}

// job creates a Job that is tried once.
func (w world) job(name string, spec corev1.PodSpec, changes ...func(*batchv1.JobSpec)) *batchv1.Job {
	w.Helper()
	once := int32(0)
	job := &batchv1.Job{ObjectMeta: w.Meta(name), Spec: batchv1.JobSpec{
		BackoffLimit: &once, Template: corev1.PodTemplateSpec{Spec: spec},
	}}
	for _, change := range changes {
		change(&job.Spec)
	}
	w.Must(env.Client.Create(w.Context(), job))
	return job
}

// ended waits until a Job is Complete or Failed, and returns that condition.
func (w world) ended(job *batchv1.Job) batchv1.JobCondition {
	w.Helper()
	ctx := w.Context()
	var end batchv1.JobCondition
	w.Must(env.Until(ctx, "Job "+job.Name+" to end", func() (string, bool) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err.Error(), false
		}
		for _, c := range job.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				end = c
				return "", true
			}
		}
		return w.PodsText(ctx), false
	}))
	return end
}

// endsAs checks how a Job ends.
func (w world) endsAs(job *batchv1.Job, kind batchv1.JobConditionType, reason string) {
	w.Helper()
	if end := w.ended(job); end.Type != kind || reason != "" && end.Reason != reason {
		w.Errorf("Job %s is %s %q (%s), want %s %q\n%s", job.Name, end.Type, end.Reason, end.Message, kind, reason, w.PodsText(w.Context()))
	}
}

// podOf returns the one pod of a Job.
func (w world) podOf(job string) *corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	w.Must(env.Client.List(w.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job}))
	if len(pods.Items) != 1 {
		w.Fatalf("Job %s has %d pods, want 1\n%s", job, len(pods.Items), w.PodsText(w.Context()))
	}
	return &pods.Items[0]
}

// untilPod waits until a pod is as wanted, and updates it.
func (w world) untilPod(pod *corev1.Pod, what string, wanted func(*corev1.Pod) bool) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "pod "+pod.Name+" "+what, func() (string, bool) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err.Error(), false
		}
		return fixture.PodText(pod), wanted(pod)
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
		w.Fatalf("the container has not ended: %s", fixture.PodText(pod))
	}
	return *pod.Status.ContainerStatuses[0].State.Terminated
}

// logs returns the last lines of a pod's first container, as kubectl logs --tail
// does.
func (w world) logs(pod *corev1.Pod, lines int64) string {
	w.Helper()
	content, err := env.pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(w.Context())
	w.Must(err)
	return string(content)
}
