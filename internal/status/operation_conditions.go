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

// maxQuoted is the maximum length in bytes of messages of Kubernetes in outputs and conditions.
const maxQuoted = 1024

// operationConditions are the conditions of an Operation.
type operationConditions struct{ conditions }

// setAccepted sets Accepted, which reports whether the Operation can be run. Obstacles that appear
// after it is True do not change it.
func (c *operationConditions) setAccepted(d operation.Decision, in operation.Input) {
	begun := in.Recorded.Outputs != nil && len(in.Recorded.Outputs.Jobs) > 0
	switch {
	case d.Rule == operation.RuleInvalid:
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionFalse, d.Reason, d.Why)
	case in.Plan.Made || begun:
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionTrue, opsv1alpha1.ReasonAccepted, "the hook can be run")
	case c.get(opsv1alpha1.ConditionAccepted).Status != metav1.ConditionTrue:
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionUnknown, opsv1alpha1.ReasonPending, d.Why)
	}
}

// setRunning sets Running, which reports whether a Job runs.
func (c *operationConditions) setRunning(d operation.Decision, in operation.Input, s opsv1alpha1.OperationStatus) {
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

// setBlocked sets Blocked while the Operation waits. It also sets it for a missing hook, which is a
// failure, because clients of the API read it here.
func (c *operationConditions) setBlocked(d operation.Decision) {
	waiting := (d.Rule == operation.RuleBlocked || d.Rule == operation.RuleAwaitLock) && !d.Phase.Final()
	if waiting || d.Reason == opsv1alpha1.ReasonHookNotFound {
		c.set(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue, d.Reason, d.Why)
		return
	}
	c.remove(opsv1alpha1.ConditionBlocked)
}

// setEnded sets the condition of the final phase.
func (c *operationConditions) setEnded(d operation.Decision, s opsv1alpha1.OperationStatus) {
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

// failureMessage returns the cause of a failure and the exit code. Logs are only in the outputs.
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
		// The message of Kubernetes has no more information than the reason.
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

// operationEvents returns the event of a transition: blocked, running, cancelling, or ended.
func operationEvents(c conditions, d operation.Decision, s opsv1alpha1.OperationStatus) []Event {
	before := conditions{list: c.before}
	entered := func(kind string, status metav1.ConditionStatus) bool {
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
	case entered(opsv1alpha1.ConditionRunning, metav1.ConditionTrue), entered(opsv1alpha1.ConditionCancelled, metav1.ConditionFalse):
		return []Event{normal(d.Reason, d.Why, nil)}
	case entered(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue):
		if d.Rule == operation.RuleAwaitLock {
			return []Event{normal(d.Reason, d.Why, nil)}
		}
		return []Event{warning(d.Reason, d.Why, nil)}
	}
	return nil
}
