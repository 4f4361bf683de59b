// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// OperationReport is the end of a visit to an Operation.
type OperationReport struct {
	// Status to write, before the decision is acted on; equal to the present one if
	// nothing changed. Its write has to fail if the Operation changed since it was
	// read.
	Status opsv1alpha1.OperationStatus
	// Events to emit once the status is written.
	Events []Event
	// Retry says when to look again, once the action is performed.
	Retry release.Retry
	// Ended is true if the phase becomes a final one with this status.
	Ended bool
}

// Operation reports a decision about an Operation. In a final phase it changes
// nothing.
func Operation(d operation.Decision, in operation.Input) OperationReport {
	r := OperationReport{Status: *in.Recorded.DeepCopy(), Retry: operationRetry(d.Action)}
	if in.Recorded.Phase.Final() {
		return r
	}
	s := &r.Status
	s.Phase, s.ObservedGeneration = d.Phase, in.Object.Generation
	now := metav1.NewTime(in.Now.Truncate(time.Second))
	outputs(s, d, in, now)
	if d.Rule == "Invalid" && len(in.Plan.Hooks) > 0 {
		s.Hooks = slices.Clone(in.Plan.Hooks)
	}
	if r.Ended = d.Phase.Final(); r.Ended {
		s.CompletionTime = &now
	}
	c := conditions{list: slices.Clone(in.Recorded.Conditions), before: in.Recorded.Conditions, generation: in.Object.Generation, now: now}
	c.accepted(d, in)
	c.ran(d, in, *s)
	c.blockedBy(d)
	c.ended(d, *s)
	s.Conditions = c.list
	r.Events = operationEvents(c, d, *s)
	return r
}

// operationRetry: after an action there is more to do at once.
func operationRetry(a operation.Action) release.Retry {
	switch a := a.(type) {
	case operation.Wait:
		if a.After > 0 {
			return release.After(a.After)
		}
		return release.Never()
	case operation.Settle:
		return release.Never()
	case operation.SetFinalizer, operation.AcquireLock, operation.ReleaseLock, operation.Create, operation.Adopt,
		operation.Resume, operation.Stop, operation.Record, operation.Finish, operation.RemoveCompanions, operation.Expire,
		operation.RemoveFinalizer:
	}
	return release.Now()
}

// outputs writes down what is known of Jobs.
func outputs(s *opsv1alpha1.OperationStatus, d operation.Decision, in operation.Input, now metav1.Time) {
	if a, ok := d.Action.(operation.Adopt); ok {
		adopt(s, a, in)
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
		told(s.Outputs, run, operation.Job{Result: in.PodResult}, in.Object.Namespace)
	}
	if i >= 0 {
		told(s.Outputs, run, in.Jobs[i], in.Object.Namespace)
		began(s, run, in.Jobs[i], d, now)
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
	case operation.SetFinalizer, operation.AcquireLock, operation.ReleaseLock, operation.Create, operation.Adopt, operation.Resume,
		operation.RemoveCompanions, operation.Expire, operation.RemoveFinalizer, operation.Wait, operation.Settle:
	}
}

// adopt begins the record of a Job. What was said of the one before it no longer
// holds, but in the list.
func adopt(s *opsv1alpha1.OperationStatus, a operation.Adopt, in operation.Input) {
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

// began notes the moment at which a Job began to run.
func began(s *opsv1alpha1.OperationStatus, run *opsv1alpha1.JobResult, j operation.Job, d operation.Decision, now metav1.Time) {
	if run.StartedAt == nil && (d.Rule == "Running" || j.Finished() || !j.Started.IsZero()) {
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

// told takes in what pods tell. They may be gone the next time, so that what was
// learned before stays unless it is contradicted, or another pod tells more.
func told(o *opsv1alpha1.Outputs, run *opsv1alpha1.JobResult, j operation.Job, namespace string) {
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
	o.LogTail = heard(o.LogTail, r.Logs)
	late := r.Reason == opsv1alpha1.ResultDeadlineExceeded
	switch {
	case j.Complete:
		o.Reason, o.Message = "", ""
	case run.Reason != "":
		if o.Reason != run.Reason {
			o.Reason, o.Message = run.Reason, ""
		}
	case operation.IsWaitReason(o.Reason) && (late || r.Reason == "" && r.Ended && r.ExitCode == nil):
		// The pod is being ended without having begun, and does not say any more what it
		// waited for.
	case late, r.Pod != "", o.Reason == "":
		// How an earlier try ended is not why there was no time for another one.
		o.Reason, o.Message = r.Reason, cut(r.Message)
	}
}

// heard returns the logs of the containers of a pod. What cannot be read any more
// was read before.
func heard(before, now []opsv1alpha1.ContainerLog) []opsv1alpha1.ContainerLog {
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

// cut bounds what others have worded.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxQuoted)], "")
}

func closeRun(o *opsv1alpha1.Outputs, run *opsv1alpha1.JobResult, phase opsv1alpha1.OperationPhase, at metav1.Time) {
	run.Phase, run.CompletionTime, run.Reason = phase, &at, o.Reason
	if o.ExitCode != nil {
		code := *o.ExitCode
		run.ExitCode = &code
	}
	o.CompletionTime = at.DeepCopy()
}
