// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/readiness"
)

// JobOf returns the state of a Job according to the Job and its Pods. uid is the UID of the
// Operation. Pods of other Jobs are ignored. The Result has no Logs.
func JobOf(uid string, job batchv1.Job, pods []corev1.Pod) Job {
	own := metav1.GetControllerOfNoCopy(&job)
	j := Job{
		Name: job.Name, UID: string(job.UID),
		Ours:      own != nil && string(own.UID) == uid,
		Deleted:   job.DeletionTimestamp != nil,
		Suspended: job.Spec.Suspend != nil && *job.Spec.Suspend,
		Digest:    job.Annotations[opsv1alpha1.AnnotationHookDigest],
		Expires:   job.Spec.TTLSecondsAfterFinished != nil,
	}
	if s := job.Spec.ActiveDeadlineSeconds; s != nil {
		j.Deadline = seconds(*s)
	}
	if job.Status.StartTime != nil {
		j.Started = job.Status.StartTime.Time
	}
	failure := j.setEnd(&job.Status)
	mine := podsOf(j.UID, pods)
	j.Active = len(LivePods(mine))
	j.Result = resultOf(j, failure, mine)
	return j
}

// setEnd sets the fields about the end of a Job, and returns the condition of a failure.
func (j *Job) setEnd(s *batchv1.JobStatus) (failure batchv1.JobCondition) {
	condition := func(kind batchv1.JobConditionType) (found batchv1.JobCondition) {
		i := slices.IndexFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
		if i >= 0 {
			found = s.Conditions[i]
		}
		return found
	}
	switch readiness.JobStateOf(func(kind batchv1.JobConditionType) bool { return condition(kind).Type != "" }) {
	case readiness.JobComplete:
		j.Complete, j.Ended = true, condition(batchv1.JobComplete).LastTransitionTime.Time
		if s.CompletionTime != nil {
			j.Ended = s.CompletionTime.Time
		}
	case readiness.JobFailed:
		failure = condition(batchv1.JobFailed)
		j.Failed, j.Ended = true, failure.LastTransitionTime.Time
	case readiness.JobUnfinished, readiness.JobFailing:
	}
	return failure
}

// PodResultOf returns the result according to the Pods of a Job that no longer exists. It is zero
// if there are none, and has no Logs.
func PodResultOf(jobUID string, pods []corev1.Pod) Result {
	return resultOf(Job{}, batchv1.JobCondition{}, podsOf(jobUID, pods))
}

// podsOf returns the Pods whose controller is the Job with the given UID.
func podsOf(jobUID string, pods []corev1.Pod) []corev1.Pod {
	var mine []corev1.Pod
	for _, p := range pods {
		if c := metav1.GetControllerOfNoCopy(&p); c != nil && string(c.UID) == jobUID {
			mine = append(mine, p)
		}
	}
	return mine
}

// LivePods returns the sorted names of the Pods that have not ended. A Pod with a deletion
// timestamp may still run.
func LivePods(pods []corev1.Pod) []string {
	var names []string
	for _, p := range pods {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// resultOf returns the result according to the most relevant Pod: of a failed Job the newest failed
// Pod, otherwise the newest Pod.
func resultOf(j Job, failure batchv1.JobCondition, pods []corev1.Pod) Result {
	var best *corev1.Pod
	for i := range pods {
		if best == nil || moreRelevant(j, &pods[i], best) {
			best = &pods[i]
		}
	}
	var r Result
	if best != nil {
		r = podResult(best)
	}
	switch {
	case j.Complete:
		zero := int32(0)
		r.ExitCode, r.Reason, r.Message = &zero, "", ""
	case !j.Failed:
	case failure.Reason == batchv1.JobReasonDeadlineExceeded:
		// The condition that the Pod waited for is more useful than the expired deadline.
		if !IsWaitReason(r.Reason) {
			r.Reason, r.Message = opsv1alpha1.ResultDeadlineExceeded, failure.Message
		}
	default:
		r.Reason = cmp.Or(r.Reason, failure.Reason, opsv1alpha1.ResultError)
		r.Message = cmp.Or(r.Message, failure.Message)
	}
	return r
}

// moreRelevant reports whether Pod a is more relevant than Pod b.
func moreRelevant(j Job, a, b *corev1.Pod) bool {
	failed := func(p *corev1.Pod) bool { return j.Failed && p.Status.Phase == corev1.PodFailed }
	if failed(a) != failed(b) {
		return failed(a)
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name > b.Name
}

// podResult returns the result according to one Pod.
func podResult(p *corev1.Pod) Result {
	r := Result{Pod: p.Name, Ended: p.DeletionTimestamp != nil}
	for _, c := range diagnosis.OrderedStatuses(p) {
		end := c.State.Terminated
		if end == nil {
			// The container was restarted in place.
			end = c.LastTerminationState.Terminated
		}
		if end != nil {
			r.addEnd(c.Name, end)
		}
		r.addWait(c.Name, c.State.Waiting)
	}
	vague := r.Reason == opsv1alpha1.ResultKilled || r.Reason == statusUnknown
	if vague && p.DeletionTimestamp != nil {
		// The deletion of the Pod is the cause.
		r.Reason, r.Message = "", ""
	}
	if p.Status.Reason != "" && (r.Reason == "" || vague) {
		// For example Evicted.
		r.Reason, r.Message = p.Status.Reason, p.Status.Message
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && r.Reason == "" {
			r.Reason, r.Message = opsv1alpha1.ResultUnschedulable, c.Message
		}
	}
	return r
}

// addEnd adds the end of one container. The first failed container determines the result.
func (r *Result) addEnd(container string, end *corev1.ContainerStateTerminated) {
	if end.Reason == statusUnknown {
		// The kubelet invents this exit code, even for containers that never started.
		if r.Reason == "" {
			r.Reason, r.Message = statusUnknown, fmt.Sprintf("container %s: %s", container, end.Message)
		}
		return
	}
	if end.ExitCode != 0 || end.Reason == opsv1alpha1.ResultOOMKilled {
		r.Ended = true
	}
	if r.ExitCode != nil && (*r.ExitCode != 0 || end.ExitCode == 0) {
		return
	}
	code := end.ExitCode
	r.Container, r.ExitCode = container, &code
	switch {
	case end.Reason == opsv1alpha1.ResultOOMKilled:
		r.Reason, r.Message = opsv1alpha1.ResultOOMKilled, fmt.Sprintf("container %s exceeded its memory limit", container)
	case end.ExitCode == killed:
		r.Reason = opsv1alpha1.ResultKilled
		r.Message = fmt.Sprintf("a process of container %s was killed, and the node reports no cause: often this is a lack of memory", container)
	}
}

// addWait adds the waiting state of one container; w may be nil.
func (r *Result) addWait(container string, w *corev1.ContainerStateWaiting) {
	if w == nil || r.Reason != "" {
		return
	}
	if reason := cannotStart(w.Reason); reason != "" {
		r.Reason, r.Message = reason, fmt.Sprintf("container %s: %s: %s", container, w.Reason, w.Message)
	}
}

// statusUnknown is the kubelet's reason for containers that it does not find when it ends their
// Pod.
const statusUnknown = "ContainerStatusUnknown"

// killed is the exit code after SIGKILL. A node may report only that for a container that ran out
// of memory, if the exit is reported before the cause.
const killed = 128 + 9

// cannotStart returns a reason for a container that may wait for ever, and an empty string for
// other waiting states.
func cannotStart(waiting string) string {
	switch {
	case diagnosis.IsImagePullError(waiting):
		return opsv1alpha1.ResultImagePull
	case waiting == createConfigError:
		// For example a Secret without the referenced key.
		return waiting
	}
	return ""
}

const createConfigError = "CreateContainerConfigError"

// IsWaitReason reports whether a reason is a condition that a Pod waited for. Such a reason
// explains an expired deadline.
func IsWaitReason(reason string) bool {
	switch reason {
	case opsv1alpha1.ResultImagePull, opsv1alpha1.ResultUnschedulable, createConfigError:
		return true
	}
	return false
}

// WaitDuration returns how long an Operation waited until its first Job ran; zero if none did.
func WaitDuration(created time.Time, status opsv1alpha1.OperationStatus) time.Duration {
	if status.StartedAt == nil {
		return 0
	}
	return max(0, status.StartedAt.Sub(created))
}
