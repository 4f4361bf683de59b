// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
)

const (
	// What is read of a log is more than is kept: secrets are taken out before it is
	// cut.
	logLines = 10 * operation.MaxLogLines
	logBytes = 64 * operation.MaxLogBytes

	// logPatience bounds the reading of all logs of a pod: a node may be gone, and the
	// result is worth more than its logs.
	logPatience = 10 * time.Second
)

// listen reads the logs that are complete or may soon be gone.
func (r *OperationReconciler) listen(ctx context.Context, v *view) {
	for i, job := range v.in.Jobs {
		if operation.WantsLogs(v.in, job) {
			r.logs(ctx, v, &v.in.Jobs[i].Result)
		}
	}
	if run := running(v.op); run != nil && !slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.UID == run.UID }) {
		v.in.Left = operation.LeftOf(run.UID, v.pods)
		r.logs(ctx, v, &v.in.Left)
	}
}

// logs reads the last lines of every container of the pod that a result is of. A
// log that cannot be read is left out; it says so if secrets could not be taken
// out of it.
func (r *OperationReconciler) logs(ctx context.Context, v *view, result *operation.Result) {
	name := result.Pod
	i := slices.IndexFunc(v.pods, func(p corev1.Pod) bool { return p.Name == name })
	if i < 0 || v.hr == nil {
		// Without a HelmRelease nobody says who may read them.
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	pod := &v.pods[i]
	who, err := r.deputy(ctx, v)
	if err != nil {
		result.Unread = true
		return
	}
	secrets, err := r.secrets(ctx, v, pod)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("logs are not kept: what is secret in them is not known", "pod", name, "cause", err.Error())
		result.Unread = passing(err)
		if o := v.op.Status.Outputs; o == nil || o.LogsRef == nil || o.LogsRef.Name != name || len(o.LogTail) == 0 {
			result.Logs = []opsv1alpha1.ContainerLog{{Container: pod.Spec.Containers[0].Name, Text: "(not kept: what is secret in it is not known: " + err.Error() + ")"}}
		}
		return
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if len(result.Logs) == operation.MaxLogs {
			break
		}
		text, err := lastLines(ctx, who, pod, c)
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("a log cannot be read", "pod", name, "container", c.Name, "cause", err.Error())
			result.Unread = result.Unread || passing(err)
			continue
		}
		result.Logs = append(result.Logs, opsv1alpha1.ContainerLog{Container: c.Name, Text: operation.Tail(text, secrets)})
	}
}

// passing reports whether what failed may succeed a moment later. A container that
// has not begun is a bad request, and one without rights stays without them.
func passing(err error) bool {
	return !errors.Is(err, errNoLog) && !apierrors.IsNotFound(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// lastLines returns the end of a container's log: of its last life, as long as the
// next one has not begun or has said nothing.
func lastLines(ctx context.Context, who *deputy, pod *corev1.Pod, c corev1.ContainerStatus) (string, error) {
	before := c.LastTerminationState.Terminated != nil
	if before && c.State.Waiting != nil {
		return readLog(ctx, who, pod, c.Name, true)
	}
	text, err := readLog(ctx, who, pod, c.Name, false)
	if before && (errors.Is(err, errNoLog) || err == nil && text == "") {
		return readLog(ctx, who, pod, c.Name, true)
	}
	return text, err
}

func readLog(ctx context.Context, who *deputy, pod *corev1.Pod, container string, previous bool) (string, error) {
	lines := int64(logLines)
	stream, err := who.logs(ctx, pod.Namespace, pod.Name, &corev1.PodLogOptions{Container: container, TailLines: &lines, Previous: previous})
	if err != nil {
		return "", err
	}
	var kept tail
	_, err = io.Copy(&kept, stream)
	if closing := stream.Close(); err == nil {
		err = closing
	}
	if err == nil && missing(string(kept.bytes)) {
		err = errNoLog
	}
	return string(kept.bytes), err
}

// errNoLog says that a container has left no log, or none yet.
var errNoLog = errors.New("the kubelet has no log of it")

// missing reports whether a text is not a log, but what a kubelet has to say about
// there being none: it has begun to answer by the time that it finds out.
func missing(text string) bool {
	for _, words := range []string{"failed to try resolving symlinks in path ", "failed to open log file ", "unable to retrieve container logs for "} {
		if strings.HasPrefix(text, words) && !strings.Contains(strings.TrimSpace(text), "\n") {
			return true
		}
	}
	return false
}

// tail keeps the last logBytes of what is written to it: lines may be of any
// length. If something was cut, what is left of the first line goes too, or half a
// secret would stay.
type tail struct{ bytes []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p...)
	if over := len(t.bytes) - logBytes; over > 0 {
		t.bytes = slices.Delete(t.bytes, 0, over)
		if i := slices.Index(t.bytes, '\n'); i >= 0 {
			t.bytes = slices.Delete(t.bytes, 0, i+1)
		} else {
			t.bytes = t.bytes[:0]
		}
	}
	return len(p), nil
}

// secrets returns what must not be in a log: the values in the Secrets of the
// release as they are stored and as they are, in those that the pod refers to, and
// those that the HelmRelease takes from Secrets.
func (r *OperationReconciler) secrets(ctx context.Context, v *view, pod *corev1.Pod) ([]string, error) {
	stored, err := r.stored(ctx, v, operation.Revision(v.in))
	if err != nil {
		return nil, err
	}
	given, err := r.values.Secrets(ctx, v.hr)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(stored.Secrets, given)
	names := slices.Concat(stored.SecretNames, secretNames(pod.Spec))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var secret corev1.Secret
		err := v.who.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, value := range secret.Data {
			all = append(all, string(value))
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" }), nil
}

// secretNames are the Secrets that a pod refers to.
func secretNames(spec corev1.PodSpec) []string {
	var names []string
	for _, s := range spec.ImagePullSecrets {
		names = append(names, s.Name)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				names = append(names, from.SecretRef.Name)
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				names = append(names, env.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	for _, volume := range spec.Volumes {
		names = append(names, mounted(volume.VolumeSource)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// mounted are the Secrets that a volume holds.
func mounted(volume corev1.VolumeSource) []string {
	var names []string
	if volume.Secret != nil {
		names = append(names, volume.Secret.SecretName)
	}
	if volume.Projected == nil {
		return names
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			names = append(names, source.Secret.Name)
		}
	}
	return names
}
