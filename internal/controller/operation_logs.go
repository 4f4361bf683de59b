// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/operation"
)

// logPatience bounds the reading of all logs of a pod: a node may be gone, and the
// result is worth more than its logs.
const logPatience = 10 * time.Second

// listen reads the logs that are complete or may soon be gone.
func (r *OperationReconciler) listen(ctx context.Context, v *view) {
	for i, job := range v.in.Jobs {
		if operation.NeedsLogs(v.in, job) {
			r.logs(ctx, v, &v.in.Jobs[i].Result)
		}
	}
	if run := running(v.op); run != nil && !slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.UID == run.UID }) {
		v.in.PodResult = operation.PodResultOf(run.UID, v.pods)
		r.logs(ctx, v, &v.in.PodResult)
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
		text, err := evidence.ReadLog(ctx, who.logs, pod, c)
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
	return !errors.Is(err, evidence.ErrNoLog) && !apierrors.IsNotFound(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// clear returns what the API server, or who admits objects for it, says of an object
// that it refuses, which it may quote, without secrets: those in the release's Secrets,
// and those that its values were taken from.
func (r *OperationReconciler) clear(ctx context.Context, v *view, err error) string {
	if v.hr == nil {
		return string(apierrors.ReasonForError(err))
	}
	secrets := v.secrets
	if secrets == nil {
		stored, unread := r.stored(ctx, v, operation.Revision(v.in))
		if unread != nil {
			return untold(err)
		}
		secrets = stored.Secrets
	}
	given, unread := r.values.Secrets(ctx, v.hr)
	if unread != nil {
		return untold(err)
	}
	return operation.Tail(err.Error(), slices.Concat(secrets, given))
}

func untold(err error) string {
	return strings.TrimSpace(string(apierrors.ReasonForError(err)) + " (more is not told: what is secret in it is not known)")
}

// clearedError is an error of the API server, said without secrets.
type clearedError struct {
	text  string
	cause error
}

// Error implements error.
func (e clearedError) Error() string { return e.text }

// Unwrap returns what tells others what to do about it. Its text is not to be shown.
func (e clearedError) Unwrap() error { return e.cause }

// cleared returns an error without secrets.
func (r *OperationReconciler) cleared(ctx context.Context, v *view, err error) error {
	if err == nil || !answered(err) {
		return err
	}
	return clearedError{text: r.clear(ctx, v, err), cause: err}
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
	names := slices.Concat(stored.SecretNames, diagnosis.SecretNames(pod.Spec))
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
