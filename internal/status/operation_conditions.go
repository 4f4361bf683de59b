// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
)

// maxQuoted is how many bytes of the words of others are kept in outputs and conditions.
const maxQuoted = 1024

// accepted says whether the Operation can be carried out. Once it was found that
// it can, nothing takes that back.
func (c *conditions) accepted(d operation.Decision, in operation.Input) {
	begun := in.Recorded.Outputs != nil && len(in.Recorded.Outputs.Jobs) > 0
	switch {
	case d.Rule == "Invalid":
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionFalse, d.Reason, d.Why)
	case in.Plan.Made || begun:
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionTrue, opsv1alpha1.ReasonAccepted, "the hook can be run")
	case c.get(opsv1alpha1.ConditionAccepted).Status != metav1.ConditionTrue:
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionUnknown, opsv1alpha1.ReasonPending, d.Why)
	}
}

// ran says whether a Job runs.
func (c *conditions) ran(d operation.Decision, in operation.Input, s opsv1alpha1.OperationStatus) {
	if s.Outputs == nil || len(s.Outputs.Jobs) == 0 || s.StartedAt == nil {
		return
	}
	run := s.Outputs.Jobs[len(s.Outputs.Jobs)-1]
	switch {
	case d.Phase.Final():
		c.set(opsv1alpha1.ConditionRunning, metav1.ConditionFalse, d.Reason, d.Why)
	case d.Reason == opsv1alpha1.ReasonCancelling:
		c.set(opsv1alpha1.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Why)
	case run.Phase.Final():
		c.set(opsv1alpha1.ConditionRunning, metav1.ConditionTrue, opsv1alpha1.ReasonHelmHookJobActive, "the next Job is about to run")
	default:
		c.set(opsv1alpha1.ConditionRunning, metav1.ConditionTrue, opsv1alpha1.ReasonHelmHookJobActive, jobMessage(run, in, s))
	}
}

func jobMessage(run opsv1alpha1.JobResult, in operation.Input, s opsv1alpha1.OperationStatus) string {
	message := fmt.Sprintf("Job %s is running", run.Name)
	for _, j := range in.Jobs {
		if j.UID == run.UID && s.Outputs.Reason != "" {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", message, s.Outputs.Reason, j.Result.Message), ": ")
		}
	}
	return message
}

// blockedBy says what is waited for. That a hook is missing is said here too, for
// whoever looks only at this condition.
func (c *conditions) blockedBy(d operation.Decision) {
	waiting := (d.Rule == "Blocked" || d.Rule == "AwaitLock") && !d.Phase.Final()
	if waiting || d.Reason == opsv1alpha1.ReasonHookNotFound {
		c.set(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue, d.Reason, d.Why)
		return
	}
	c.remove(opsv1alpha1.ConditionBlocked)
}

// ended says how it ended.
func (c *conditions) ended(d operation.Decision, s opsv1alpha1.OperationStatus) {
	switch d.Phase {
	case opsv1alpha1.PhaseSucceeded:
		c.set(opsv1alpha1.ConditionSucceeded, metav1.ConditionTrue, d.Reason, d.Why)
	case opsv1alpha1.PhaseFailed:
		c.set(opsv1alpha1.ConditionFailed, metav1.ConditionTrue, d.Reason, failureMessage(d, s))
	case opsv1alpha1.PhaseCancelled:
		c.set(opsv1alpha1.ConditionCancelled, metav1.ConditionTrue, d.Reason, d.Why)
	case opsv1alpha1.PhasePending, opsv1alpha1.PhaseRunning:
		if d.Reason == opsv1alpha1.ReasonCancelling {
			c.set(opsv1alpha1.ConditionCancelled, metav1.ConditionFalse, d.Reason, d.Why)
		}
		return
	}
	if d.Phase != opsv1alpha1.PhaseCancelled {
		c.remove(opsv1alpha1.ConditionCancelled)
	}
}

// failureMessage says why, with the exit code. The last log lines are in outputs only.
func failureMessage(d operation.Decision, s opsv1alpha1.OperationStatus) string {
	message, o := d.Why, s.Outputs
	if d.Reason != opsv1alpha1.ReasonHelmHookJobFailed || o == nil {
		return message
	}
	if o.Reason != "" {
		message += ": " + o.Reason
	}
	switch o.Reason {
	case opsv1alpha1.ResultBackoffLimitExceeded, opsv1alpha1.ResultDeadlineExceeded:
		// Kubernetes only says that in more words.
	default:
		if o.Message != "" {
			message += ": " + o.Message
		}
	}
	if o.ExitCode != nil {
		message += fmt.Sprintf(", exit code %d", *o.ExitCode)
	}
	return message
}

// operationEvents tells of what is new: that it waits, runs, is being stopped, or
// is over.
func operationEvents(c conditions, d operation.Decision, s opsv1alpha1.OperationStatus) []Event {
	before := conditions{list: c.before}
	news := func(kind string, status metav1.ConditionStatus) bool {
		was, is := before.get(kind), c.get(kind)
		return is.Status == status && (was.Status != is.Status || was.Reason != is.Reason)
	}
	switch {
	case d.Phase == opsv1alpha1.PhaseSucceeded:
		return []Event{normal(d.Reason, d.Why, nil)}
	case d.Phase == opsv1alpha1.PhaseFailed:
		return []Event{warning(d.Reason, failureMessage(d, s), nil)}
	case d.Phase == opsv1alpha1.PhaseCancelled:
		return []Event{normal(d.Reason, d.Why, nil)}
	case news(opsv1alpha1.ConditionRunning, metav1.ConditionTrue), news(opsv1alpha1.ConditionCancelled, metav1.ConditionFalse):
		return []Event{normal(d.Reason, d.Why, nil)}
	case news(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue):
		if d.Rule == "AwaitLock" {
			return []Event{normal(d.Reason, d.Why, nil)}
		}
		return []Event{warning(d.Reason, d.Why, nil)}
	}
	return nil
}
