// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// runs are the Jobs that are recorded, oldest first.
func (in Input) runs() []opsv1alpha1.JobResult {
	if in.Recorded.Outputs == nil {
		return nil
	}
	return in.Recorded.Outputs.Jobs
}

// current returns the recorded Job that has no recorded end, and what there is of
// it; nil if there is none. A Job with the name and another UID is not it.
func (in Input) current() (*opsv1alpha1.JobResult, *Job) {
	runs := in.runs()
	if len(runs) == 0 || runs[len(runs)-1].Phase.Final() {
		return nil, nil
	}
	run := &runs[len(runs)-1]
	i := slices.IndexFunc(in.Jobs, func(j Job) bool { return j.UID == run.UID })
	if i < 0 {
		return run, nil
	}
	return run, &in.Jobs[i]
}

// prepared reports whether there is a Job of ours that was neither recorded to
// its end nor has to be made again.
func (in Input) prepared() bool {
	if run, job := in.current(); run != nil {
		return job != nil
	}
	step := len(in.runs())
	if step >= len(in.Plan.Steps) {
		return false
	}
	return slices.ContainsFunc(in.Jobs, func(j Job) bool { return j.Ours && j.Name == in.Plan.Steps[step].Job && !j.Deleted })
}

// last reports whether no Job follows the current one. One hook is one Job;
// how many an event has only the plan knows.
func (in Input) last() bool {
	if p := in.Spec.Parameters; p == nil || p.Event == "" {
		return true
	}
	return in.Plan.Made && len(in.runs()) >= len(in.Plan.Steps)
}

// stopping reports whether somebody wants the Operation to end.
func (in Input) stopping() bool { return in.Spec.Cancel || in.Object.Deleted }

// unfinished names the Jobs of ours that would go on.
func (in Input) unfinished() []string {
	var names []string
	for _, j := range in.Jobs {
		if j.Ours && !j.Finished() && !j.Deleted {
			names = append(names, j.Name)
		}
	}
	return names
}

// ending reports whether something of ours still runs, or may. A Job that is
// suspended and has no pods does not.
func (in Input) ending() bool {
	return len(in.LivePods) > 0 || slices.ContainsFunc(in.Jobs, func(j Job) bool {
		return j.Ours && (j.Active > 0 || (j.Deleted && !j.Finished() && !j.Suspended))
	})
}

// patience is until when the Operation waits: as long as a Job may take, by what
// the user and the controller say. It counts from the creation of the Operation,
// or from the end of the Job before. Zero is for ever.
func (in Input) waitDeadline() time.Time {
	limit := in.Timeout
	if p := in.Spec.Parameters; p != nil && p.ActiveDeadlineSeconds != nil {
		if own := seconds(*p.ActiveDeadlineSeconds); limit == 0 || own < limit {
			limit = own
		}
	}
	if limit <= 0 {
		return time.Time{}
	}
	since := in.Object.Created
	if runs := in.runs(); len(runs) > 0 && runs[len(runs)-1].CompletionTime != nil {
		since = runs[len(runs)-1].CompletionTime.Time
	}
	return since.Add(limit)
}

func (in Input) expired() bool {
	end := in.waitDeadline()
	return !end.IsZero() && !in.Now.Before(end)
}

// deadlineOf returns when a Job has to be over; zero if it need not.
func deadlineOf(run *opsv1alpha1.JobResult, job *Job) time.Time {
	started := job.Started
	if run.StartedAt != nil {
		started = run.StartedAt.Time
	}
	if job.Deadline <= 0 || started.IsZero() {
		return time.Time{}
	}
	return started.Add(job.Deadline)
}

// seconds is a number of seconds as a duration, or the longest there is.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(max(n, 0), most)) * time.Second
}

// NeedsPlan reports whether a decision can depend on Plan. It needs all of in but
// the Plan.
func NeedsPlan(in Input) bool {
	if in.Recorded.Phase.Final() || in.stopping() || in.Target.HelmRelease == "" || in.Spec.Engine != opsv1alpha1.EngineHelmHookJob {
		return false
	}
	run, job := in.current()
	return run == nil || (job != nil && job.Finished() && !in.last())
}

// NeedsDryRun reports whether a decision can depend on what the API server says
// to the next Job. It needs all of in but Plan.DryRun.
func NeedsDryRun(in Input) bool {
	return NeedsPlan(in) && in.Plan.Made && len(in.Plan.Missing) == 0 && len(in.runs()) < len(in.Plan.Steps) && !in.prepared() &&
		in.problem() == nil && in.Obstacle == nil && in.Target.Unresolved == nil
}

// WantsLogs reports whether the logs of a Job's pod should be read now: it is the
// current one, and its log is complete or may soon be gone.
func NeedsLogs(in Input, job Job) bool {
	run, current := in.current()
	if run == nil || current == nil || current.UID != job.UID || in.Recorded.Phase.Final() {
		return false
	}
	end := deadlineOf(run, current)
	return job.Finished() || job.Deleted || job.Result.Ended || in.stopping() || (!end.IsZero() && !in.Now.Before(end.Add(-logLead)))
}

// Revision returns which revision to take hooks from: the one that is recorded,
// or else the one asked for; 0 is the deployed one.
func Revision(in Input) int {
	if o := in.Recorded.Outputs; o != nil && o.Release != nil {
		return o.Release.Revision
	}
	if p := in.Spec.Parameters; p != nil {
		return p.Revision
	}
	return 0
}
