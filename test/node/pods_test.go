// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// These tests check the node itself without the controller: if one of them fails, the node is
// broken.

func TestJobSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.job("work", shell("exit 0"))
	w.endsAs(job, batchv1.JobComplete, "")
	if got := w.terminated(w.podOf(job.Name)); got.ExitCode != 0 || got.Reason != "Completed" {
		t.Errorf("the container ended as %+v", got)
	}
}

func TestJobFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.job("work", shell("exit 3"))
	w.endsAs(job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	if got := w.terminated(w.podOf(job.Name)); got.ExitCode != 3 || got.Reason != "Error" {
		t.Errorf("the container ended as %+v, want exit code 3", got)
	}
}

// tooMuch needs more memory than limited allows, and ends with exit code 137. The shell outlives
// the killed process: when a container's first process is killed, containerd may report the end
// before it has the cause, and then the reason stays "Error".
const tooMuch = "dd if=/dev/zero of=/dev/null bs=256M count=1; code=$?; sleep 2; exit $code"

func limited(pod *corev1.PodSpec) {
	pod.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
}

func TestJobRunsOutOfMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.job("work", shell(tooMuch, limited))
	w.endsAs(job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	if got := w.terminated(w.podOf(job.Name)); got.Reason != "OOMKilled" || got.ExitCode != 137 {
		t.Errorf("the container ended as %+v, want OOMKilled", got)
	}
}

func TestJobTakesTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deadline := int64(3)
	job := w.job("work", shell("sleep 600"), func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = &deadline })
	w.endsAs(job, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
}

func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// In one pipe, because between two the order is not certain.
	job := w.job("work", shell("exec 2>&1; seq 1 1000; echo an error >&2; exit 1"))
	w.endsAs(job, batchv1.JobFailed, "")
	if got, want := w.logs(w.podOf(job.Name), 3), "999\n1000\nan error\n"; got != want {
		t.Errorf("the log ends with %q, want %q", got, want)
	}
}

func TestNoSuchImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pod := w.pod("work", shell("exit 0", func(pod *corev1.PodSpec) { pod.Containers[0].Image = noImage }))
	if got := w.waits(pod, "ErrImagePull", "ImagePullBackOff"); !strings.Contains(got.Message, noImage) {
		t.Errorf("the message does not name the image: %q", got.Message)
	}
	w.waits(pod, "ImagePullBackOff")
}

func TestNoSuchSecretKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := &corev1.Secret{ObjectMeta: w.Meta("access"), StringData: map[string]string{"user": "admin"}}
	w.Must(env.Client.Create(t.Context(), secret))
	pod := w.pod("work", shell("exit 0", func(pod *corev1.PodSpec) {
		pod.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}, Key: "password",
			},
		}}}
	}))
	if got := w.waits(pod, "CreateContainerConfigError"); !strings.Contains(got.Message, "password") {
		t.Errorf("the message does not name the key: %q", got.Message)
	}
}

func TestFailingProbeRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pod := w.pod("work", shell("sleep 600", func(pod *corev1.PodSpec) {
		pod.RestartPolicy = corev1.RestartPolicyAlways
		pod.Containers[0].LivenessProbe = &corev1.Probe{
			// The port is closed; the kubelet probes the Pod's own address.
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(81)}},
			PeriodSeconds: 1, FailureThreshold: 2,
		}
	}))
	w.untilPod(pod, "to be restarted", func(pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount > 0
	})
}
