// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/brief"
)

const (
	// pollInterval is the requeue interval for changes without an event.
	pollInterval = 10 * time.Second

	// deadlineGrace is how long a Job may exist after its deadline. Kubernetes ends it at the
	// deadline, unless it was suspended in between.
	deadlineGrace = time.Minute

	// logLead is how long before its deadline the log of a Job is read. At the deadline Kubernetes
	// deletes its Pods, and their logs with them.
	logLead = 2 * time.Second

	// logTimeout is how long after the end of a Job its logs are read, and logRetry is the interval
	// of attempts. A kubelet that restarts has returned by then. Helm may wait for the result,
	// which matters more than the logs.
	logTimeout = 5 * time.Second
	logRetry   = time.Second

	// maxNamed is how many hooks a message names.
	maxNamed = 3
)

// rule is one entry of the policy. apply returns nil if the rule does not apply.
type rule struct {
	name  Rule
	apply func(Input) *Decision
}

// rules returns the policy. The first rule that applies wins. The order is part of the contract and
// is documented in docs/spec/operations.md.
func rules() []rule {
	return []rule{
		{RuleUnreachable, unreachable},
		{RuleTerminal, terminal},
		{RuleCollect, collect},
		{RuleCancelled, cancelled},
		{RuleLost, lost},
		{RuleRunning, running},
		{RuleInvalid, invalid},
		{RuleAwaitPlan, awaitPlan},
		{RuleBlocked, blocked},
		{RuleAwaitApproval, awaitApproval},
		{RuleAwaitLock, awaitLock},
		{RuleSetFinalizer, setFinalizer},
		{RuleAcquireLock, acquireLock},
		{RuleStart, start},
	}
}

// Rules returns the names of the rules in the order in which they are tried.
func Rules() []Rule {
	var names []Rule
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Decide returns the next action.
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
	// Unreachable, because start always applies.
	return Decision{Action: Wait{After: pollInterval}, Phase: phase(in)}
}

// phase returns the phase of an Operation that has not ended.
func phase(in Input) opsv1alpha1.OperationPhase {
	for _, run := range in.runs() {
		if run.StartedAt != nil {
			return opsv1alpha1.PhaseRunning
		}
	}
	return opsv1alpha1.PhasePending
}

// unreachable applies while the Jobs of an Operation elsewhere cannot be read. What is not seen is
// not decided on. A deleted Operation ends when the time for its cleanup is over.
func unreachable(in Input) *Decision {
	final, p := in.Recorded.Phase.Final(), in.Elsewhere.Unread
	switch {
	case in.Recorded.Placement == nil, p == nil && !in.undeletable():
		return nil
	case p == nil:
		p = &Problem{opsv1alpha1.ReasonAccessDenied, in.Elsewhere.Undeleted}
	}
	d := &Decision{Reason: p.Reason, Why: p.Message}
	if final {
		d.Phase = in.Recorded.Phase
	}
	switch over := in.Object.Deleted && (in.Elsewhere.Lost || in.cleanupExpired()); {
	case !over:
		d.Action = Wait{After: in.untilCleanupExpires(pollInterval)}
	case !final:
		d.Action, d.Phase, d.Reason = Finish{}, opsv1alpha1.PhaseCancelled, opsv1alpha1.ReasonCancelled
		d.Why = "the Operation is being deleted, and its Jobs may still run: " + p.Message
	case len(in.LockedReleases) > 0:
		d.Action = ReleaseLock{HelmReleases: in.LockedReleases}
	default:
		d.Action, d.Reason, d.Why = Abandon{}, opsv1alpha1.ReasonObjectsLeft, in.leftMessage(p.Message)
	}
	return d
}

// leftMessage names what may be left elsewhere.
func (in Input) leftMessage(cause string) string {
	to := in.Recorded.Placement
	names := []string{"every Job with the label " + opsv1alpha1.LabelOperation + "=" + in.Object.UID}
	if runs := in.runs(); len(runs) > 0 {
		names = nil
		for _, run := range runs {
			names = append(names, "Job "+run.Name)
		}
	}
	for _, o := range to.Objects {
		names = append(names, o.Kind+" "+o.Name)
	}
	where := "namespace " + to.Namespace
	if c := to.KubeConfig; c != nil {
		where += fmt.Sprintf(" of the cluster of %s %s", c.Kind, c.Name)
	}
	return fmt.Sprintf("these objects in %s were not deleted and may still exist: %s: %s", where, strings.Join(names, ", "), cause)
}

// terminal applies to a final phase. It cleans up in an order in which no Job runs and no companion
// exists for Helm to conflict with once the lock is released. Finished Jobs stay for inspection
// until Kubernetes deletes them.
func terminal(in Input) *Decision {
	if !in.Recorded.Phase.Final() {
		return nil
	}
	d := &Decision{Phase: in.Recorded.Phase, Why: "the Operation has ended"}
	var expiring []string
	for _, j := range in.Jobs {
		if j.Ours && j.Finished() && !j.Deleted && !j.Expires {
			expiring = append(expiring, j.Name)
		}
	}
	switch left := in.unfinishedJobs(); {
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
	case len(in.placedJobs()) > 0 && in.Object.Deleted:
		// No owner reference leads the garbage collector to them.
		d.Action = Stop{Jobs: in.placedJobs()}
	case len(in.placedJobs()) > 0:
		d.Action = in.keepPlaced()
	case in.Object.Finalizer:
		d.Action = RemoveFinalizer{}
	default:
		d.Action = in.expiry()
	}
	return d
}

// expiry returns the last action: to delete the Operation after the time that its spec allows, or to
// wait until then.
func (in Input) expiry() Action {
	left, ends := in.remaining()
	switch {
	case !ends:
		return Settle{}
	case left > 0:
		return Wait{After: left}
	}
	return Delete{}
}

// keepPlaced returns the action while Jobs elsewhere are kept for inspection: to wait until Kubernetes
// has deleted them, or to delete the Operation before, and with it its Jobs.
func (in Input) keepPlaced() Action {
	left, ends := in.remaining()
	switch {
	case !ends:
		return Wait{After: in.untilExpired()}
	case left > 0:
		return Wait{After: min(left, in.untilExpired())}
	}
	return Delete{}
}

// remaining returns how long the Operation is kept after its end; false if it is not deleted then.
func (in Input) remaining() (left time.Duration, ends bool) {
	ttl, ended := in.Spec.TTLSecondsAfterFinished, in.Recorded.CompletionTime
	if ttl == nil || ended.IsZero() || in.Object.Deleted {
		return 0, false
	}
	return ended.Add(seconds(int64(*ttl))).Sub(in.Now), true
}

// collect records the result once the Job and its Pods have ended. It comes before cancelled,
// because the result of a finished Job is more useful than its cancellation.
func collect(in Input) *Decision {
	run, job := in.current()
	if n := len(in.runs()); run == nil && n > 0 && in.Plan.Made && n >= len(in.Plan.Steps) {
		return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseSucceeded, Reason: opsv1alpha1.ReasonHelmHookJobSucceeded, Why: "all Jobs succeeded"}
	}
	if run == nil || job == nil || !job.Finished() {
		return nil
	}
	if job.Active > 0 || len(in.LivePods) > 0 {
		return &Decision{Action: Wait{After: pollInterval}, Phase: opsv1alpha1.PhaseRunning, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: "waiting until the Pods of the Job have ended"}
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

// cancelled stops the Jobs of an Operation that is cancelled or deleted. The Operation ends when
// its Pods have ended.
func cancelled(in Input) *Decision {
	if !in.stopping() {
		return nil
	}
	why := "spec.cancel is set"
	if in.Object.Deleted {
		why = "the Operation is being deleted"
	}
	if in.Elsewhere.Undeleted != "" {
		why += ": " + in.Elsewhere.Undeleted
	}
	if left := in.unfinishedJobs(); len(left) > 0 {
		return &Decision{Action: Stop{Jobs: left}, Reason: opsv1alpha1.ReasonCancelling, Why: why}
	}
	if in.ending() {
		return &Decision{Action: Wait{After: pollInterval}, Reason: opsv1alpha1.ReasonCancelling, Why: why + ", and its Pods still run"}
	}
	return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseCancelled, Reason: opsv1alpha1.ReasonCancelled, Why: why}
}

// lost applies if a recorded Job no longer exists. It may have run, so a new Job would be a second
// run.
func lost(in Input) *Decision {
	run, job := in.current()
	if run == nil || job != nil {
		return nil
	}
	if len(in.LivePods) > 0 {
		return &Decision{Action: Wait{After: pollInterval}, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: "the Job is gone: waiting until its Pods have ended"}
	}
	d := &Decision{
		Action: Finish{}, Phase: opsv1alpha1.PhaseFailed, Reason: opsv1alpha1.ReasonJobLost,
		Why: fmt.Sprintf("Job %s was deleted by another client before its result was known: it may have run, so it is not created again", run.Name),
	}
	if run.Reason == opsv1alpha1.ResultDeadlineExceeded {
		d.Reason, d.Why = opsv1alpha1.ReasonHelmHookJobFailed, fmt.Sprintf("Job %s was stopped because it still existed after its deadline", run.Name)
	}
	return d
}

// running applies while a Job of the Operation runs. Changes of the target do not affect it.
func running(in Input) *Decision {
	run, job := in.current()
	if run == nil || job == nil || (job.Suspended && run.StartedAt == nil) {
		return nil
	}
	d := &Decision{Phase: opsv1alpha1.PhaseRunning, Reason: opsv1alpha1.ReasonHelmHookJobActive, Why: fmt.Sprintf("Job %s is running", job.Name)}
	t, wait := in.Target, Wait{}
	end := deadlineOf(run, job)
	if end.IsZero() && job.Deadline > 0 {
		// The Job was resumed a moment ago.
		end = in.Now.Add(job.Deadline)
	}
	if !end.IsZero() {
		switch {
		case in.Now.Before(end.Add(-logLead)):
			wait.After = end.Add(-logLead).Sub(in.Now)
		case in.Now.Before(end.Add(deadlineGrace)):
			wait.After = end.Add(deadlineGrace).Sub(in.Now)
		case !job.Deleted:
			d.Action, d.Why = Stop{Jobs: []string{job.Name}, Reason: opsv1alpha1.ResultDeadlineExceeded}, "the Job still exists after its deadline"
			return d
		default:
			wait.After = pollInterval
		}
	}
	if in.Recorded.Placement != nil && (wait.After == 0 || wait.After > 6*pollInterval) {
		// The controller may not have the right to watch the Job, and its cluster may stop answering.
		wait.After = 6 * pollInterval
	}
	if t.HelmRelease != "" && !in.hasLock() && busy(in) == nil {
		// The lock was removed. Helm could start at any moment.
		d.Action, d.Why = AcquireLock{HelmRelease: t.HelmRelease}, "the lock was removed while the Job runs"
		return d
	}
	d.Action = wait
	return d
}

// invalid applies if the Operation cannot be performed and waiting would not help.
func invalid(in Input) *Decision {
	p := in.problem()
	if p == nil {
		return nil
	}
	return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseFailed, Reason: p.Reason, Why: p.Message}
}

// problem returns the permanent problem, or nil. After a Job was created, only the next Job can be
// invalid.
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
	switch started := len(in.runs()) > 0; {
	case in.Spec.Engine != opsv1alpha1.EngineHelmHookJob:
		return &Problem{opsv1alpha1.ReasonEngineNotSupported, fmt.Sprintf("engine %s is not implemented: helmHookJob is", in.Spec.Engine)}
	case in.Target.Deleted && !started:
		return &Problem{opsv1alpha1.ReasonTargetDeleted, fmt.Sprintf("HelmRelease %s is being deleted", in.Target.HelmRelease)}
	case in.Spec.Parameters.IsNext() && !started && in.planProblem() != nil:
		return in.planProblem()
	case in.Recorded.Placement != nil && in.Plan.Made && !samePlace(in.Recorded.Placement, in.Plan.Placement):
		return &Problem{opsv1alpha1.ReasonReleaseChanged, "the namespace, the cluster or the identity of the release was changed after the Operation had started"}
	case in.Plan.Refused != nil && busy(in) == nil:
		// The running Helm action may add the missing hook.
		return in.Plan.Refused
	case started && r.Release != nil && in.Plan.Made && *r.Release != in.Plan.Release:
		return &Problem{opsv1alpha1.ReasonReleaseChanged, "the hooks of the revision were changed after the first of them had run"}
	}
	return nil
}

// blocked applies while something required is missing. An upgrade may add it, so the lock is
// released during the wait, unless a Job has already run.
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
		return nil // invalid has returned nil because Helm is running.
	case len(in.Plan.Missing) > 0:
		p = &Problem{opsv1alpha1.ReasonMissingDependencies, "the hook needs objects that do not exist: " + strings.Join(in.Plan.Missing, ", ")}
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

// awaitApproval applies while a policy demands an approval that the hooks do not have. It comes before
// the lock is taken, so that nothing waits for a person.
func awaitApproval(in Input) *Decision {
	if in.prepared() || in.Plan.Approver == "" || in.Spec.Approved == in.Plan.Release.HookDigest {
		return nil
	}
	p := Problem{opsv1alpha1.ReasonAwaitingApproval, fmt.Sprintf("%s demands approval of %s: kubectl pintle approve operation/%s -n %s",
		in.Plan.Approver, hooksOf(in.Plan.Steps), in.Object.Name, in.Object.Namespace)}
	if len(in.LockedReleases) > 0 && !in.expired() {
		return &Decision{Action: ReleaseLock{HelmReleases: in.LockedReleases}, Reason: p.Reason, Why: p.Message}
	}
	return in.await(p, 6*pollInterval)
}

// hooksOf returns the hooks of steps, for messages.
func hooksOf(steps []Step) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Hook)
	}
	return "hook " + brief.List(names, maxNamed)
}

// awaitLock applies while Helm or another Operation uses the release.
func awaitLock(in Input) *Decision {
	p := busy(in)
	switch {
	case p == nil && in.Target.HelmRelease == "":
		// The next Job is ready to run, and its HelmRelease no longer exists.
		if p = in.Target.Unresolved; p == nil {
			p = &Problem{opsv1alpha1.ReasonTargetNotFound, "there is no HelmRelease to lock"}
		}
	case p == nil:
		return nil
	}
	if len(in.LockedReleases) > 0 && !in.expired() {
		// The other action waits for this lock, too.
		return &Decision{Action: ReleaseLock{HelmReleases: in.LockedReleases}, Reason: p.Reason, Why: p.Message}
	}
	return in.await(*p, 6*pollInterval)
}

// busy returns the reason why the release is in use; nil if it is not.
func busy(in Input) *Problem {
	t := in.Target
	switch {
	case t.Action != "":
		return &Problem{opsv1alpha1.ReasonReleaseBusy, fmt.Sprintf("HelmRelease %s is busy: %s", t.HelmRelease, t.Action)}
	case t.Pending != "" && t.Suspended:
		return &Problem{opsv1alpha1.ReasonReleaseBusy, t.Pending + ", and is not unlocked while the HelmRelease is suspended"}
	case t.Pending != "":
		return &Problem{opsv1alpha1.ReasonReleaseBusy, t.Pending}
	case t.LockHolder.UID != "" && t.LockHolder.UID != in.Object.UID && t.LockHolder.Active:
		return &Problem{opsv1alpha1.ReasonReleaseHeld, fmt.Sprintf("HelmRelease %s is locked by Operation %s", t.HelmRelease, t.LockHolder.Name)}
	}
	return nil
}

// await waits until the deadline for waiting, then fails the Operation. The hook never runs
// concurrently with the awaited action.
func (in Input) await(p Problem, interval time.Duration) *Decision {
	if in.expired() {
		return &Decision{Action: Finish{}, Phase: opsv1alpha1.PhaseFailed, Reason: p.Reason, Why: "timed out waiting: " + p.Message}
	}
	if end := in.waitDeadline(); !end.IsZero() {
		interval = min(interval, end.Sub(in.Now))
	}
	return &Decision{Action: Wait{After: interval}, Reason: p.Reason, Why: p.Message}
}

// setFinalizer applies if the finalizer is missing. All later actions need cleanup.
func setFinalizer(in Input) *Decision {
	if in.Object.Finalizer {
		return nil
	}
	return &Decision{Action: SetFinalizer{}, Reason: opsv1alpha1.ReasonAccepted, Why: "the Operation starts"}
}

// acquireLock applies if the release is not locked.
func acquireLock(in Input) *Decision {
	if in.hasLock() {
		return nil
	}
	return &Decision{Action: AcquireLock{HelmRelease: in.Target.HelmRelease}, Reason: opsv1alpha1.ReasonAccepted, Why: "the release is not locked"}
}

// start creates a suspended Job, then records it, then resumes it.
func start(in Input) *Decision {
	d := &Decision{Reason: opsv1alpha1.ReasonAccepted}
	if run, job := in.current(); run != nil {
		if job.Deleted {
			return in.await(deletionProblem(job.Name), pollInterval)
		}
		d.Action, d.Why = Resume{Job: job.Name, UID: job.UID}, "the Job is recorded and may run"
		return d
	}
	// Rule Blocked guarantees that the plan has this step.
	step := len(in.runs())
	s := in.Plan.Steps[step]
	i := slices.IndexFunc(in.Jobs, func(j Job) bool { return j.Name == s.Job })
	switch {
	case i < 0:
		d.Action, d.Why = Create{Step: step}, fmt.Sprintf("hook %s is to be run", s.Hook)
	case in.Jobs[i].Deleted:
		return in.await(deletionProblem(s.Job), pollInterval)
	case in.Jobs[i].Digest != s.Digest && in.Jobs[i].Suspended && in.Jobs[i].Started.IsZero():
		d.Action, d.Why = Stop{Jobs: []string{s.Job}}, "the Job was created from another revision and has not run"
	default:
		d.Action, d.Why = Adopt{Step: step, Job: s.Job}, "the Job is created"
	}
	return d
}

// deletionProblem returns the problem of a Job that is being deleted. A finalizer may block its
// deletion for ever.
func deletionProblem(job string) Problem {
	return Problem{opsv1alpha1.ReasonJobNameTaken, fmt.Sprintf("Job %s has not run and is being deleted", job)}
}

// hasLock reports whether this Operation holds the lock of its target.
func (in Input) hasLock() bool { return slices.Contains(in.LockedReleases, in.Target.HelmRelease) }
