// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

const (
	// look is how often something is looked at that nobody tells us about.
	pollInterval = 10 * time.Second

	// grace is how long after its deadline a Job may still be there. Kubernetes ends it
	// at the deadline, unless it was suspended by somebody in between.
	deadlineGrace = time.Minute

	// lastWords is how long before its deadline the log of a Job is read: Kubernetes
	// deletes the pods of one that is late, and their logs with them.
	logLead = 2 * time.Second

	// hearing is how long after the end of a Job its logs are asked for, and retry how
	// often, if they cannot be read: a kubelet that is being restarted is back by
	// then. The result, for which Helm may be waiting, is worth more than its logs.
	logTimeout = 5 * time.Second
	logRetry   = time.Second
)

// rule returns nil when it does not apply.
type rule struct {
	name  string
	apply func(Input) *Decision
}

// rules is the policy: the first rule that applies wins. The order is part of
// the contract and stands, with the same names, in docs/spec/operations.md.
func rules() []rule {
	return []rule{
		{"Terminal", terminal},
		{"Collect", collect},
		{"Cancelled", cancelled},
		{"Lost", lost},
		{"Running", running},
		{"Invalid", invalid},
		{"Blocked", blocked},
		{"AwaitLock", awaitLock},
		{"SetFinalizer", setFinalizer},
		{"AcquireLock", acquireLock},
		{"Start", start},
	}
}

// RuleNames returns the names of the rules in the order they are tried.
func RuleNames() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Decide returns the one thing to do next.
func Decide(in Input) Decision {
	for _, r := range rules() {
		if d := r.apply(in); d != nil {
			d.Rule = r.name
			if d.Phase == "" {
				d.Phase = phase(in)
			}
			return *d
		}
	}
	// start applies always, so this is out of reach.
	return Decision{Action: Wait{After: pollInterval}, Phase: phase(in)}
}

// phase is the phase of an Operation that goes on.
func phase(in Input) opsv1alpha1.OperationPhase {
	for _, run := range in.runs() {
		if run.StartedAt != nil {
			return opsv1alpha1.PhaseRunning
		}
	}
	return opsv1alpha1.PhasePending
}

// terminal: the result is recorded and stays. What is left is tidied up, in an
// order in which nothing of ours runs, or is there for Helm to stumble over, once
// the lock is gone. Finished Jobs are left for people to look at; Kubernetes
// deletes them later.
func terminal(in Input) *Decision {
	if !in.Recorded.Phase.Final() {
		return nil
	}
	d := &Decision{Phase: in.Recorded.Phase, Why: "it is over"}
	var expiring []string
	for _, j := range in.Jobs {
		if j.Ours && j.Finished() && !j.Deleted && !j.Expires {
			expiring = append(expiring, j.Name)
		}
	}
	switch left := in.unfinished(); {
	case len(left) > 0:
		d.Action = Stop{Jobs: left}
	case in.ending():
		d.Action = Wait{After: pollInterval}
	case len(in.Companions) > 0:
		d.Action = RemoveCompanions{Names: in.Companions}
	case len(in.LockedReleases) > 0:
		d.Action = ReleaseLock{HelmReleases: in.LockedReleases}
	case len(expiring) > 0 && !in.Object.Deleted:
		d.Action = Expire{Jobs: expiring, Seconds: in.Spec.Parameters.TTL()}
	case in.Object.Finalizer:
		d.Action = RemoveFinalizer{}
	default:
		d.Action = Settle{}
	}
	return d
}

// collect: the Job has come to its end, and its pods too. This comes before
// cancellation: what is done is done, and the truth about it is of more use.
func collect(in Input) *Decision {
	run, job := in.current()
	if n := len(in.runs()); run == nil && n > 0 && in.Plan.Made && n >= len(in.Plan.Steps) {
		return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseSucceeded, Reason: opsv1alpha1.ReasonHelmHookJobSucceeded, Why: "all Jobs succeeded"}
	}
	if run == nil || job == nil || !job.Finished() {
		return nil
	}
	if job.Active > 0 || len(in.LivePods) > 0 {
		return &Decision{Action: Wait{After: pollInterval}, Phase: opsv1alpha1.PhaseRunning, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: "the last pods of the Job come to their end"}
	}
	if job.Result.Unread && in.Now.Before(job.Ended.Add(logTimeout)) {
		return &Decision{Action: Wait{After: logRetry}, Phase: opsv1alpha1.PhaseRunning, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: "the logs of the Job cannot be read yet"}
	}
	d := &Decision{Action: Record{Job: job.Name}, Reason: opsv1alpha1.ReasonHelmHookJobSucceeded}
	switch {
	case job.Failed:
		d.Phase, d.Reason = opsv1alpha1.PhaseFailed, opsv1alpha1.ReasonHelmHookJobFailed
		d.Why = fmt.Sprintf("Job %s failed", job.Name)
	case in.last():
		d.Phase, d.Why = opsv1alpha1.PhaseSucceeded, fmt.Sprintf("Job %s succeeded", job.Name)
	default:
		d.Phase, d.Why = opsv1alpha1.PhaseRunning, fmt.Sprintf("Job %s succeeded, and others follow", job.Name)
	}
	return d
}

// cancelled: somebody wants it to end. It is over when its pods are.
func cancelled(in Input) *Decision {
	if !in.stopping() {
		return nil
	}
	why := "spec.cancel is set"
	if in.Object.Deleted {
		why = "the Operation is being deleted"
	}
	if left := in.unfinished(); len(left) > 0 {
		return &Decision{Action: Stop{Jobs: left}, Reason: opsv1alpha1.ReasonCancelling, Why: why}
	}
	if in.ending() {
		return &Decision{Action: Wait{After: pollInterval}, Reason: opsv1alpha1.ReasonCancelling, Why: why + ": its pods come to their end"}
	}
	return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseCancelled, Reason: opsv1alpha1.ReasonCancelled, Why: why}
}

// lost: a Job that may have run is gone. Another one in its place would be a
// second run.
func lost(in Input) *Decision {
	run, job := in.current()
	if run == nil || job != nil {
		return nil
	}
	if len(in.LivePods) > 0 {
		return &Decision{Action: Wait{After: pollInterval}, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: "the Job is gone, and its pods come to their end"}
	}
	d := &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseFailed, Reason: opsv1alpha1.ReasonJobLost,
		Why: fmt.Sprintf("Job %s was deleted by somebody else before its result was known: it may have run, so that it is not made again", run.Name)}
	if run.Reason == opsv1alpha1.ResultDeadlineExceeded {
		d.Reason, d.Why = opsv1alpha1.ReasonHelmHookJobFailed, fmt.Sprintf("Job %s was stopped long after its deadline", run.Name)
	}
	return d
}

// running: a Job of ours runs. Nothing that happens to the target changes that.
func running(in Input) *Decision {
	run, job := in.current()
	if run == nil || job == nil || (job.Suspended && run.StartedAt == nil) {
		return nil
	}
	d := &Decision{Phase: opsv1alpha1.PhaseRunning, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: fmt.Sprintf("Job %s is running", job.Name)}
	t, wait := in.Target, Wait{}
	end := deadlineOf(run, job)
	if end.IsZero() && job.Deadline > 0 {
		// It was let run just now.
		end = in.Now.Add(job.Deadline)
	}
	if !end.IsZero() {
		switch {
		case in.Now.Before(end.Add(-logLead)):
			wait.After = end.Add(-logLead).Sub(in.Now)
		case in.Now.Before(end.Add(deadlineGrace)):
			wait.After = end.Add(deadlineGrace).Sub(in.Now)
		case !job.Deleted:
			d.Action, d.Why = Stop{Jobs: []string{job.Name}, Reason: opsv1alpha1.ResultDeadlineExceeded}, "its deadline is long past"
			return d
		default:
			wait.After = pollInterval
		}
	}
	if t.HelmRelease != "" && !in.hasLock() && busy(in) == nil {
		// Somebody took our name off. Helm would start at any moment.
		d.Action, d.Why = AcquireLock{HelmRelease: t.HelmRelease}, "the release is not held any more, and the Job still runs"
		return d
	}
	d.Action = wait
	return d
}

// invalid: it cannot be done as it is written, and waiting would not help.
func invalid(in Input) *Decision {
	p := in.problem()
	if p == nil {
		return nil
	}
	return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseFailed, Reason: p.Reason, Why: p.Message}
}

// problem is what invalid says. Once a Job is made, nothing is invalid any more
// but the next one.
func (in Input) problem() *Problem {
	if in.prepared() {
		return nil
	}
	for _, s := range in.Plan.Steps {
		for _, j := range in.Jobs {
			if j.Name == s.Job && !j.Ours {
				return &Problem{opsv1alpha1.ReasonJobNameTaken, fmt.Sprintf("a Job named %s exists and does not belong to this Operation", j.Name)}
			}
		}
	}
	r := in.Recorded.Outputs
	switch begun := len(in.runs()) > 0; {
	case in.Spec.Engine != opsv1alpha1.EngineHelmHookJob:
		return &Problem{opsv1alpha1.ReasonEngineNotSupported, fmt.Sprintf("engine %s is not implemented: helmHookJob is", in.Spec.Engine)}
	case in.Target.Refused != nil:
		return in.Target.Refused
	case in.Target.Deleted && !begun:
		return &Problem{opsv1alpha1.ReasonTargetDeleted, fmt.Sprintf("HelmRelease %s is being deleted", in.Target.HelmRelease)}
	case in.Plan.Refused != nil && busy(in) == nil:
		// What Helm is doing may bring the hook that is not there.
		return in.Plan.Refused
	case begun && r.Release != nil && in.Plan.Made && *r.Release != in.Plan.Release:
		return &Problem{opsv1alpha1.ReasonReleaseChanged, "the hooks of the revision were changed after the first of them was run"}
	}
	return nil
}

// blocked: something is not there that may still come. An upgrade may be what
// brings it, so that the release is not held meanwhile, unless some of the work
// is done already.
func blocked(in Input) *Decision {
	if in.prepared() {
		return nil
	}
	p := in.Obstacle
	switch {
	case p != nil:
	case in.Target.Unresolved != nil:
		p = in.Target.Unresolved
	case in.Plan.Refused != nil:
		return nil // Helm is at work, as invalid has found.
	case len(in.Plan.Missing) > 0:
		p = &Problem{opsv1alpha1.ReasonMissingDependencies, "the hook needs what is not there: " + strings.Join(in.Plan.Missing, ", ")}
	case in.Plan.DryRun != nil:
		p = in.Plan.DryRun
	case !in.Plan.Made || len(in.Plan.Steps) <= len(in.runs()):
		p = &Problem{opsv1alpha1.ReasonStorageError, "the hooks of the release are not known yet"}
	}
	if p == nil {
		return nil
	}
	if len(in.LockedReleases) > 0 && len(in.runs()) == 0 && !in.expired() {
		return &Decision{Action: ReleaseLock{HelmReleases: in.LockedReleases}, Reason: p.Reason, Why: p.Message}
	}
	return in.await(*p, pollInterval)
}

// notGranted: Helm or another Operation has the release.
func awaitLock(in Input) *Decision {
	p := busy(in)
	switch {
	case p == nil && in.Target.HelmRelease == "":
		// A Job is ready to run, and its release is gone.
		if p = in.Target.Unresolved; p == nil {
			p = &Problem{opsv1alpha1.ReasonTargetNotFound, "there is no HelmRelease to hold"}
		}
	case p == nil:
		return nil
	}
	if len(in.LockedReleases) > 0 && !in.expired() {
		// It waits for us just as we wait for it.
		return &Decision{Action: ReleaseLock{HelmReleases: in.LockedReleases}, Reason: p.Reason, Why: p.Message}
	}
	return in.await(*p, 6*pollInterval)
}

// busy says who has the release; nil if nobody else has.
func busy(in Input) *Problem {
	t := in.Target
	switch {
	case t.Action != "":
		return &Problem{opsv1alpha1.ReasonReleaseBusy, fmt.Sprintf("HelmRelease %s is busy: %s", t.HelmRelease, t.Action)}
	case t.Pending != "" && t.Suspended:
		return &Problem{opsv1alpha1.ReasonReleaseBusy, t.Pending + ", and nobody unlocks it while the HelmRelease is suspended"}
	case t.Pending != "":
		return &Problem{opsv1alpha1.ReasonReleaseBusy, t.Pending}
	case t.LockHolder.UID != "" && t.LockHolder.UID != in.Object.UID && t.LockHolder.Active:
		return &Problem{opsv1alpha1.ReasonReleaseHeld, fmt.Sprintf("HelmRelease %s is held by Operation %s", t.HelmRelease, t.LockHolder.Name)}
	}
	return nil
}

// await waits for something, for as long as there is time. Then the Operation
// fails: it never runs beside what it waited for.
func (in Input) await(p Problem, again time.Duration) *Decision {
	if in.expired() {
		return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseFailed, Reason: p.Reason, Why: "the time to wait is over: " + p.Message}
	}
	if end := in.waitDeadline(); !end.IsZero() {
		again = min(again, end.Sub(in.Now))
	}
	return &Decision{Action: Wait{After: again}, Reason: p.Reason, Why: p.Message}
}

// guard: from here on there is something to tidy up.
func setFinalizer(in Input) *Decision {
	if in.Object.Finalizer {
		return nil
	}
	return &Decision{Action: SetFinalizer{}, Reason: opsv1alpha1.ReasonAccepted, Why: "it is about to begin"}
}

// grant: nobody has the release.
func acquireLock(in Input) *Decision {
	if in.hasLock() {
		return nil
	}
	return &Decision{Action: AcquireLock{HelmRelease: in.Target.HelmRelease}, Reason: opsv1alpha1.ReasonAccepted, Why: "the release is free"}
}

// start: it is our turn. The Job is created so that it does not run, is recorded,
// and only then may run.
func start(in Input) *Decision {
	d := &Decision{Reason: opsv1alpha1.ReasonAccepted}
	if run, job := in.current(); run != nil {
		if job.Deleted {
			return in.await(beingDeleted(job.Name), pollInterval)
		}
		d.Action, d.Why = Resume{Job: job.Name, UID: job.UID}, "the Job is recorded and may run"
		return d
	}
	// blocked has seen to it that the plan has this step.
	step := len(in.runs())
	s := in.Plan.Steps[step]
	i := slices.IndexFunc(in.Jobs, func(j Job) bool { return j.Name == s.Job })
	switch {
	case i < 0:
		d.Action, d.Why = Create{Step: step}, fmt.Sprintf("hook %s is to be run", s.Hook)
	case in.Jobs[i].Deleted:
		return in.await(beingDeleted(s.Job), pollInterval)
	case in.Jobs[i].Digest != s.Digest && in.Jobs[i].Suspended && in.Jobs[i].Started.IsZero():
		d.Action, d.Why = Stop{Jobs: []string{s.Job}}, "the Job was made from another revision, and has not run"
	default:
		d.Action, d.Why = Adopt{Step: step, Job: s.Job}, "the Job is created"
	}
	return d
}

// goingAway: what keeps a Job from going may keep it for ever.
func beingDeleted(job string) Problem {
	return Problem{opsv1alpha1.ReasonJobNameTaken, fmt.Sprintf("Job %s has not run, and is being deleted", job)}
}

// holds reports whether the target is ours.
func (in Input) hasLock() bool { return slices.Contains(in.LockedReleases, in.Target.HelmRelease) }
