// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

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
	"github.com/pintle-dev/pintle/internal/redaction"
)

// logTimeout limits the reading of all logs of a Pod. A node may not answer, and the result
// matters more than its logs.
const logTimeout = 10 * time.Second

// withLogs returns rec with the logs that are complete or may soon be deleted.
func (o *observer) withLogs(ctx context.Context, rec reconciliation) reconciliation {
	rec.in.Jobs = slices.Clone(rec.in.Jobs)
	for i, job := range rec.in.Jobs {
		if operation.NeedsLogs(rec.in, job) {
			rec.in.Jobs[i].Result = o.logs(ctx, rec, job.Result)
		}
	}
	if run := running(rec.op); run != nil && !slices.ContainsFunc(rec.in.Jobs, func(j operation.Job) bool { return j.UID == run.UID }) {
		rec.in.PodResult = o.logs(ctx, rec, operation.PodResultOf(run.UID, rec.pods))
	}
	return rec
}

// logs returns result with the last lines of every container of its Pod, first of the one that
// determines the result. It skips logs that cannot be read. If the secrets to redact are unknown, a note replaces the log.
func (o *observer) logs(ctx context.Context, rec reconciliation, result operation.Result) operation.Result {
	name := result.Pod
	i := slices.IndexFunc(rec.pods, func(p corev1.Pod) bool { return p.Name == name })
	if i < 0 || rec.hr == nil {
		// Without a HelmRelease there is no identity that may read them.
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	pod := &rec.pods[i]
	as, err := rec.identity(ctx)
	if err != nil {
		result.Unread = true
		return result
	}
	secrets, err := o.secrets(ctx, rec, pod)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("logs are not kept: what is secret in them is not known", "pod", name, "cause", err.Error())
		result.Unread = isTransient(err)
		if o := rec.op.Status.Outputs; o == nil || o.LogsRef == nil || o.LogsRef.Name != name || len(o.LogTail) == 0 {
			result.Logs = []opsv1alpha1.ContainerLog{{Container: pod.Spec.Containers[0].Name, Text: "(not kept: what is secret in it is not known: " + err.Error() + ")"}}
		}
		return result
	}
	redactor := redaction.New(secrets)
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	if i := slices.IndexFunc(statuses, func(c corev1.ContainerStatus) bool { return c.Name == result.Container }); i > 0 {
		statuses = slices.Concat(statuses[i:i+1], statuses[:i], statuses[i+1:])
	}
	for _, c := range statuses {
		if len(result.Logs) == operation.MaxLogs {
			break
		}
		text, err := evidence.ReadLog(ctx, as.logs, pod, c)
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("a log cannot be read", "pod", name, "container", c.Name, "cause", err.Error())
			result.Unread = result.Unread || isTransient(err)
			continue
		}
		result.Logs = append(result.Logs, opsv1alpha1.ContainerLog{Container: c.Name, Text: operation.Tail(text, redactor)})
	}
	return result
}

// isTransient reports whether a failed read may succeed a moment later. The log of a container
// that has not started is a bad request, and missing rights stay missing.
func isTransient(err error) bool {
	return !errors.Is(err, evidence.ErrNoLog) && !apierrors.IsNotFound(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// clear returns the message of an answer of the API server or of an admission webhook without
// secrets: those in the release's Secrets, and those that its values were taken from. The answer
// may quote the object.
func (o *observer) clear(ctx context.Context, rec reconciliation, err error) string {
	if rec.hr == nil {
		return string(apierrors.ReasonForError(err))
	}
	secrets := rec.secrets
	if secrets == nil {
		stored, unread := o.readRecord(ctx, rec, operation.Revision(rec.in))
		if unread != nil {
			return withoutText(err)
		}
		secrets = stored.Secrets
	}
	given, unread := o.values.Secrets(ctx, rec.hr)
	if unread != nil {
		return withoutText(err)
	}
	return operation.Tail(err.Error(), redaction.New(slices.Concat(secrets, given)))
}

func withoutText(err error) string {
	return strings.TrimSpace(string(apierrors.ReasonForError(err)) + " (more is not told: what is secret in it is not known)")
}

// clearedError is an error of the API server whose message contains no secrets.
type clearedError struct {
	text  string
	cause error
}

// Error implements error.
func (e clearedError) Error() string { return e.text }

// Unwrap returns the error to classify. Its message must not be shown.
func (e clearedError) Unwrap() error { return e.cause }

// clearError returns an error without the secrets in its message.
func (o *observer) clearError(ctx context.Context, rec reconciliation, err error) error {
	if err == nil || !answered(err) {
		return err
	}
	return clearedError{text: o.clear(ctx, rec, err), cause: err}
}

// secrets returns the values that must not be in a log: those in the Secrets of the release as
// stored and as they are now, in the Secrets that the Pod refers to, and those that the
// HelmRelease takes from Secrets.
func (o *observer) secrets(ctx context.Context, rec reconciliation, pod *corev1.Pod) ([]string, error) {
	as, err := rec.identity(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := o.readRecord(ctx, rec, operation.Revision(rec.in))
	if err != nil {
		return nil, err
	}
	given, err := o.values.Secrets(ctx, rec.hr)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(stored.Secrets, given)
	names := slices.Concat(stored.SecretNames, diagnosis.SecretNames(pod.Spec))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var secret corev1.Secret
		err := as.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &secret)
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
