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
)

// JobOf reduces a Job and its pods to what decisions need. uid is that of the
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
	var failure batchv1.JobCondition
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete && !j.Failed:
			j.Complete, j.Ended = true, c.LastTransitionTime.Time
		case c.Type == batchv1.JobFailed && !j.Complete:
			j.Failed, j.Ended, failure = true, c.LastTransitionTime.Time, c
		}
	}
	if job.Status.CompletionTime != nil && j.Complete {
		j.Ended = job.Status.CompletionTime.Time
	}
	mine := podsOf(j.UID, pods)
	j.Active = len(LivePods(mine))
	j.Result = resultOf(j, failure, mine)
	return j
}

// LeftOf is what the pods of a Job tell that is gone itself; the zero value if
// there are none. It has no Logs.
func PodResultOf(jobUID string, pods []corev1.Pod) Result {
	return resultOf(Job{}, batchv1.JobCondition{}, podsOf(jobUID, pods))
}

func podsOf(jobUID string, pods []corev1.Pod) []corev1.Pod {
	var mine []corev1.Pod
	for _, p := range pods {
		if c := metav1.GetControllerOfNoCopy(&p); c != nil && string(c.UID) == jobUID {
			mine = append(mine, p)
		}
	}
	return mine
}

// LivePods names the pods that have not come to an end. One that is being deleted
// may still run.
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

// resultOf looks at the pod that tells most: of a Job that failed the last that
// failed, or else the newest.
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
		// What the pod waited for all the time is why there was not enough of it.
		if !IsWaitReason(r.Reason) {
			r.Reason, r.Message = opsv1alpha1.ResultDeadlineExceeded, failure.Message
		}
	default:
		r.Reason = cmp.Or(r.Reason, failure.Reason, opsv1alpha1.ResultError)
		r.Message = cmp.Or(r.Message, failure.Message)
	}
	return r
}

// tells reports whether a pod tells more than another one.
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

// examine says what became of one pod, or what it waits for.
func podResult(p *corev1.Pod) Result {
	r := Result{Pod: p.Name, Ended: p.DeletionTimestamp != nil}
	for _, c := range diagnosis.OrderedStatuses(p) {
		end := c.State.Terminated
		if end == nil {
			// It was started again in place.
			end = c.LastTerminationState.Terminated
		}
		if end != nil {
			r.addEnd(c.Name, end)
		}
		r.addWait(c.Name, c.State.Waiting)
	}
	vague := r.Reason == opsv1alpha1.ResultKilled || r.Reason == statusUnknown
	if vague && p.DeletionTimestamp != nil {
		// That is why.
		r.Reason, r.Message = "", ""
	}
	if p.Status.Reason != "" && (r.Reason == "" || vague) {
		// Such as Evicted.
		r.Reason, r.Message = p.Status.Reason, p.Status.Message
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && r.Reason == "" {
			r.Reason, r.Message = opsv1alpha1.ResultUnschedulable, c.Message
		}
	}
	return r
}

// ended takes in how one container ended. The first that failed decides.
func (r *Result) addEnd(container string, end *corev1.ContainerStateTerminated) {
	if end.Reason == statusUnknown {
		// The exit code is made up, even of containers that never began.
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
	r.ExitCode = &code
	switch {
	case end.Reason == opsv1alpha1.ResultOOMKilled:
		r.Reason, r.Message = opsv1alpha1.ResultOOMKilled, fmt.Sprintf("container %s used more memory than it may", container)
	case end.ExitCode == killed:
		r.Reason = opsv1alpha1.ResultKilled
		r.Message = fmt.Sprintf("a process of container %s was killed, and the node does not say why: often that is for want of memory", container)
	}
}

// waits takes in what one container waits for; nil if it does not.
func (r *Result) addWait(container string, w *corev1.ContainerStateWaiting) {
	if w == nil || r.Reason != "" {
		return
	}
	if reason := cannotStart(w.Reason); reason != "" {
		r.Reason, r.Message = reason, fmt.Sprintf("container %s: %s: %s", container, w.Reason, w.Message)
	}
}

// statusUnknown is what a kubelet says of containers that it does not find when it
// ends their pod.
const statusUnknown = "ContainerStatusUnknown"

// killed is the exit code of what was ended by SIGKILL. Of a container's first
// process that ran out of memory a node may tell no more than that: it can learn of
// the end before it learns of the cause.
const killed = 128 + 9

// cannotStart returns the reason, in one word, of a container that waits for what
// may never come; empty if it waits for something else.
func cannotStart(waiting string) string {
	switch {
	case diagnosis.IsImagePullError(waiting):
		return opsv1alpha1.ResultImagePull
	case waiting == createConfigError:
		// A Secret without the key, for example.
		return waiting
	}
	return ""
}

const createConfigError = "CreateContainerConfigError"

// Awaited reports whether a reason is what a pod waited for, all the time that it
// was given: then that its time was up is not the reason.
func IsWaitReason(reason string) bool {
	switch reason {
	case opsv1alpha1.ResultImagePull, opsv1alpha1.ResultUnschedulable, createConfigError:
		return true
	}
	return false
}

// Waited returns how long an Operation waited for its first Job to run; zero if
// it never did.
func WaitDuration(created time.Time, status opsv1alpha1.OperationStatus) time.Duration {
	if status.StartedAt == nil {
		return 0
	}
	return max(0, status.StartedAt.Sub(created))
}
