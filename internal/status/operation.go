// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// OperationReport is the result of a reconciliation of an Operation.
type OperationReport struct {
	// Status to write before the action of the decision. It equals the present status if nothing
	// changed. Its write must fail if the Operation has changed since it was read.
	Status opsv1alpha1.OperationStatus
	// Events to emit after the status is written.
	Events []Event
	// Retry is the requeue delay after the action.
	Retry release.Retry
	// Ended is true if the phase changes to a final one.
	Ended bool
}

// Operation reports a decision about an Operation. The status of an Operation in a final phase does
// not change.
func Operation(d operation.Decision, in operation.Input) OperationReport {
	r := OperationReport{Status: *in.Recorded.DeepCopy(), Retry: d.Retry()}
	if in.Recorded.Phase.Final() {
		return endedOperation(r, d, in)
	}
	s := &r.Status
	s.Phase, s.ObservedGeneration = d.Phase, in.Object.Generation
	now := metav1.NewTime(in.Now.Truncate(time.Second))
	place(s, d, in)
	updateOutputs(s, d, in, now)
	recordNext(s, d, in)
	if d.Rule == operation.RuleInvalid && len(in.Plan.Hooks) > 0 {
		s.Hooks = slices.Clone(in.Plan.Hooks)
	}
	s.AwaitingApproval = ""
	if d.Reason == opsv1alpha1.ReasonAwaitingApproval && !d.Phase.Final() {
		s.AwaitingApproval = in.Plan.Release.HookDigest
	}
	if r.Ended = d.Phase.Final(); r.Ended {
		s.CompletionTime = &now
	}
	c := operationConditions{conditions{list: slices.Clone(in.Recorded.Conditions), before: in.Recorded.Conditions, generation: in.Object.Generation, now: now}}
	c.setAccepted(d, in)
	c.setRunning(d, in, *s)
	c.setBlocked(d)
	c.setEnded(d, *s)
	s.Conditions = c.list
	r.Events = operationEvents(c.conditions, d, *s)
	for i, e := range r.Events {
		// The other stages are of HelmReleases.
		r.Events[i] = e.about(helmv2.EventActionReconcile)
	}
	return r
}

// endedOperation reports a decision about an Operation in a final phase. Its status changes only in
// that Blocked reports a cleanup elsewhere that is not possible.
func endedOperation(r OperationReport, d operation.Decision, in operation.Input) OperationReport {
	if in.Recorded.Placement == nil {
		return r
	}
	c := operationConditions{conditions{
		list: slices.Clone(in.Recorded.Conditions), before: in.Recorded.Conditions, generation: in.Object.Generation, now: metav1.NewTime(in.Now.Truncate(time.Second)),
	}}
	if _, waits := d.Action.(operation.Wait); waits && d.Rule == operation.RuleUnreachable {
		c.set(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue, d.Reason, blockedMessage(d))
	} else {
		c.remove(opsv1alpha1.ConditionBlocked)
	}
	r.Status.Conditions = c.list
	if _, left := d.Action.(operation.Abandon); left {
		r.Events = []Event{warning(d.Reason, d.Why, nil).about(helmv2.EventActionReconcile)}
	}
	return r
}

// place records where the Jobs are, before the first of them is created, and the objects that are
// created in addition.
func place(s *opsv1alpha1.OperationStatus, d operation.Decision, in operation.Input) {
	_, creates := d.Action.(operation.Create)
	to := in.Plan.Placement
	if !creates || to == nil {
		return
	}
	if s.Placement == nil {
		s.Placement = to.DeepCopy()
		return
	}
	for _, o := range to.Objects {
		if !slices.Contains(s.Placement.Objects, o) {
			s.Placement.Objects = append(s.Placement.Objects, o)
		}
	}
}

// recordNext records the request for the plan of the next upgrade before it is written, and the plan
// with the first hook that is taken from it.
func recordNext(s *opsv1alpha1.OperationStatus, d operation.Decision, in operation.Input) {
	if a, requests := d.Action.(operation.RequestPlan); requests {
		s.Next = &opsv1alpha1.NextVersion{Request: a.Token}
	}
	if s.Next == nil || s.Next.Plan != "" || !in.Plan.Made || !operation.HasPlan(in) {
		return
	}
	n := in.Next
	s.Next.Plan, s.Next.Inputs, s.Next.UID, s.Next.Revision = n.Digest, n.Inputs, n.UID, n.Revision
	if p := in.Spec.Parameters; p.Skips() {
		s.Next.SkipApprovedBy = p.SkipApprovedBy
	}
}

// updateOutputs records the state of the current Job in the outputs.
func updateOutputs(s *opsv1alpha1.OperationStatus, d operation.Decision, in operation.Input, now metav1.Time) {
	if a, ok := d.Action.(operation.Adopt); ok {
		recordJob(s, a, in)
		return
	}
	if s.Outputs == nil || len(s.Outputs.Jobs) == 0 {
		return
	}
	run := &s.Outputs.Jobs[len(s.Outputs.Jobs)-1]
	if run.Phase.Final() {
		return
	}
	i := slices.IndexFunc(in.Jobs, func(j operation.Job) bool { return j.UID == run.UID })
	if i < 0 && in.PodResult.Pod != "" {
		recordResult(s.Outputs, run, operation.Job{Result: in.PodResult}, namespaceOf(in))
	}
	if i >= 0 {
		recordResult(s.Outputs, run, in.Jobs[i], namespaceOf(in))
		recordStart(s, run, in.Jobs[i], d, now)
	}
	switch a := d.Action.(type) {
	case operation.Record:
		if i < 0 {
			return
		}
		ended := now
		if e := in.Jobs[i].Ended; !e.IsZero() {
			ended = metav1.NewTime(e)
		}
		closeRun(s.Outputs, run, opsv1alpha1.PhaseSucceeded, ended)
		if in.Jobs[i].Failed {
			run.Phase = opsv1alpha1.PhaseFailed
		}
	case operation.Finish:
		if d.Phase == opsv1alpha1.PhaseFailed {
			s.Outputs.Reason = cmp.Or(run.Reason, s.Outputs.Reason, d.Reason)
		}
		closeRun(s.Outputs, run, d.Phase, now)
	case operation.Stop:
		run.Reason = cmp.Or(a.Reason, run.Reason)
	case operation.SetFinalizer, operation.AcquireLock, operation.RequestPlan, operation.ReleaseLock, operation.Create, operation.Adopt, operation.Resume,
		operation.RemoveCompanions, operation.Expire, operation.RemoveFinalizer, operation.Delete, operation.Abandon, operation.Wait, operation.Settle:
	}
}

// namespaceOf returns the namespace of the Jobs.
func namespaceOf(in operation.Input) string {
	if to := in.Recorded.Placement; to != nil {
		return to.Namespace
	}
	return in.Object.Namespace
}

// recordJob adds a Job to the outputs. Of the Job before, only its entry in the list stays.
func recordJob(s *opsv1alpha1.OperationStatus, a operation.Adopt, in operation.Input) {
	i := slices.IndexFunc(in.Jobs, func(j operation.Job) bool { return j.Name == a.Job })
	if i < 0 || a.Step >= len(in.Plan.Steps) {
		return
	}
	var before []opsv1alpha1.JobResult
	if s.Outputs != nil {
		before = s.Outputs.Jobs
	}
	from := in.Plan.Release
	s.Outputs = &opsv1alpha1.Outputs{
		JobName: a.Job, Release: &from,
		Jobs: append(before, opsv1alpha1.JobResult{
			Hook: in.Plan.Steps[a.Step].Hook, Name: a.Job, UID: in.Jobs[i].UID, Phase: opsv1alpha1.PhasePending,
		}),
	}
}

// recordStart records the start of a Job, once.
func recordStart(s *opsv1alpha1.OperationStatus, run *opsv1alpha1.JobResult, j operation.Job, d operation.Decision, now metav1.Time) {
	if run.StartedAt == nil && (d.Rule == operation.RuleRunning || j.Finished() || !j.Started.IsZero()) {
		at := now
		if !j.Started.IsZero() {
			at = metav1.NewTime(j.Started)
		}
		run.StartedAt, run.Phase = &at, opsv1alpha1.PhaseRunning
	}
	if s.StartedAt == nil {
		s.StartedAt = run.StartedAt.DeepCopy()
	}
}

// recordResult records the result of a Job's pod. The pod may not exist at the next reconciliation.
// Earlier results therefore stay, unless newer ones contradict them or another pod has more.
func recordResult(o *opsv1alpha1.Outputs, run *opsv1alpha1.JobResult, j operation.Job, namespace string) {
	r := j.Result
	if r.Pod != "" {
		if o.LogsRef != nil && o.LogsRef.Name != r.Pod {
			o.ExitCode, o.LogTail = nil, nil
		}
		o.LogsRef = &opsv1alpha1.PodReference{Kind: "Pod", Name: r.Pod, Namespace: namespace}
	}
	if r.ExitCode != nil {
		code := *r.ExitCode
		o.ExitCode = &code
	}
	o.LogTail = mergeLogs(o.LogTail, r.Logs)
	late := r.Reason == opsv1alpha1.ResultDeadlineExceeded
	switch {
	case j.Complete:
		o.Reason, o.Message = "", ""
	case run.Reason != "":
		if o.Reason != run.Reason {
			o.Reason, o.Message = run.Reason, ""
		}
	case operation.IsWaitReason(o.Reason) && (late || r.Reason == "" && r.Ended && r.ExitCode == nil):
		// A pod that is terminated before it started no longer has the reason of its waiting.
	case late, r.Pod != "", o.Reason == "":
		// The result of an earlier pod is not the reason of the exceeded deadline.
		o.Reason, o.Message = r.Reason, brief.Cut(r.Message, maxQuoted)
	}
}

// mergeLogs returns the logs of the containers of a pod. A log that can no longer be read is kept
// as it was read before.
func mergeLogs(before, now []opsv1alpha1.ContainerLog) []opsv1alpha1.ContainerLog {
	if len(now) == 0 {
		return before
	}
	all := slices.Clone(now)
	for _, l := range before {
		if !slices.ContainsFunc(now, func(n opsv1alpha1.ContainerLog) bool { return n.Container == l.Container }) {
			all = append(all, l)
		}
	}
	return all[:min(len(all), operation.MaxLogs)]
}

func closeRun(o *opsv1alpha1.Outputs, run *opsv1alpha1.JobResult, phase opsv1alpha1.OperationPhase, at metav1.Time) {
	run.Phase, run.CompletionTime, run.Reason = phase, &at, o.Reason
	if o.ExitCode != nil {
		code := *o.ExitCode
		run.ExitCode = &code
	}
	o.CompletionTime = at.DeepCopy()
}

// maxQuoted is the maximum length in bytes of messages of Kubernetes in outputs and conditions.
const maxQuoted = 1024

// operationConditions are the conditions of an Operation.
type operationConditions struct{ conditions }

// setAccepted sets Accepted, which reports whether the Operation can be run. Obstacles that appear
// after it is True do not change it.
func (c *operationConditions) setAccepted(d operation.Decision, in operation.Input) {
	started := in.Recorded.Outputs != nil && len(in.Recorded.Outputs.Jobs) > 0
	switch {
	case d.Rule == operation.RuleInvalid:
		c.set(opsv1alpha1.ConditionAccepted, metav1.ConditionFalse, d.Reason, operationMessage(message.OperationRejected, d.Why))
	case in.Plan.Made || started:
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
		c.set(opsv1alpha1.ConditionRunning, metav1.ConditionTrue, d.Reason, operationMessage(message.OperationEnding, d.Why))
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
	waiting := slices.Contains([]operation.Rule{operation.RuleUnreachable, operation.RuleAwaitPlan, operation.RuleBlocked, operation.RuleAwaitApproval, operation.RuleAwaitLock}, d.Rule) && !d.Phase.Final()
	if waiting || d.Reason == opsv1alpha1.ReasonHookNotFound {
		c.set(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue, d.Reason, blockedMessage(d))
		return
	}
	c.remove(opsv1alpha1.ConditionBlocked)
}

// blockedMessage returns the message of an Operation that waits, or that has no hook to run.
func blockedMessage(d operation.Decision) string {
	switch {
	case d.Rule == operation.RuleUnreachable:
		return operationMessage(message.OperationUnreached, d.Why)
	case d.Rule == operation.RuleInvalid:
		return operationMessage(message.OperationRejected, d.Why)
	case d.Rule == operation.RuleAwaitLock && d.Reason != opsv1alpha1.ReasonTargetNotFound:
		return operationMessage(message.OperationAwaits, d.Why)
	case d.Rule == operation.RuleAwaitApproval:
		return operationMessage(message.OperationUnapproved, d.Why)
	}
	return operationMessage(message.OperationBlocked, d.Why)
}

func operationMessage(kind message.Kind, cause string) string {
	return message.Of(kind, message.Facts{Cause: cause}).String()
}

// setEnded sets the condition of the final phase.
func (c *operationConditions) setEnded(d operation.Decision, s opsv1alpha1.OperationStatus) {
	switch d.Phase {
	case opsv1alpha1.PhaseSucceeded:
		c.set(opsv1alpha1.ConditionSucceeded, metav1.ConditionTrue, d.Reason, d.Why)
	case opsv1alpha1.PhaseFailed:
		c.set(opsv1alpha1.ConditionFailed, metav1.ConditionTrue, d.Reason, failureMessage(d, s, lastLines(d, s.Outputs)))
	case opsv1alpha1.PhaseCancelled:
		c.set(opsv1alpha1.ConditionCancelled, metav1.ConditionTrue, d.Reason, d.Why)
	case opsv1alpha1.PhasePending, opsv1alpha1.PhaseRunning:
		if d.Reason == opsv1alpha1.ReasonCancelling {
			c.set(opsv1alpha1.ConditionCancelled, metav1.ConditionFalse, d.Reason, operationMessage(message.OperationEnding, d.Why))
		}
		return
	}
	if d.Phase != opsv1alpha1.PhaseCancelled {
		c.remove(opsv1alpha1.ConditionCancelled)
	}
}

// failureMessage returns the message of a failure. details follow below it.
func failureMessage(d operation.Decision, s opsv1alpha1.OperationStatus, details string) string {
	kind, cause := message.OperationTimedOut, d.Why
	switch {
	case d.Rule == operation.RuleInvalid:
		kind = message.OperationRejected
	case d.Reason == opsv1alpha1.ReasonHelmHookJobFailed:
		kind, cause = message.OperationFailed, jobFailure(d.Why, s.Outputs)
	case d.Reason == opsv1alpha1.ReasonJobLost:
		kind = message.OperationLost
	}
	return message.Of(kind, message.Facts{Cause: cause, Details: details}).String()
}

// lastLines returns the last lines of the log of a failed Job; empty if there are none. The first log
// with a line is the one that explains the result.
func lastLines(d operation.Decision, o *opsv1alpha1.Outputs) string {
	if d.Reason != opsv1alpha1.ReasonHelmHookJobFailed || o == nil || o.LogsRef == nil {
		return ""
	}
	for _, l := range o.LogTail {
		if text := operation.LastLines(l.Text); strings.TrimSpace(text) != "" {
			return message.Logs([]release.ContainerLog{{Pod: o.LogsRef.Name, Container: l.Container, Text: text}}, nil)
		}
	}
	return ""
}

// jobFailure returns the cause of a failed Job and the exit code.
func jobFailure(text string, o *opsv1alpha1.Outputs) string {
	if o == nil {
		return text
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	switch o.Reason {
	case opsv1alpha1.ResultBackoffLimitExceeded, opsv1alpha1.ResultDeadlineExceeded:
		// The message of Kubernetes has no more information than the reason.
	default:
		if o.Message != "" {
			text += ": " + o.Message
		}
	}
	if o.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *o.ExitCode)
	}
	return text
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
		// Equal failures are one alert, so that the event has no lines of the log.
		return []Event{warning(d.Reason, failureMessage(d, s, ""), nil)}
	case d.Phase == opsv1alpha1.PhaseCancelled:
		return []Event{normal(d.Reason, d.Why, nil)}
	case entered(opsv1alpha1.ConditionRunning, metav1.ConditionTrue), entered(opsv1alpha1.ConditionCancelled, metav1.ConditionFalse):
		return []Event{normal(d.Reason, d.Why, nil)}
	case entered(opsv1alpha1.ConditionBlocked, metav1.ConditionTrue):
		if d.Rule == operation.RuleAwaitPlan || d.Rule == operation.RuleAwaitLock || d.Rule == operation.RuleAwaitApproval {
			return []Event{normal(d.Reason, blockedMessage(d), nil)}
		}
		return []Event{warning(d.Reason, blockedMessage(d), nil)}
	}
	return nil
}
