// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// runs returns the recorded Jobs, oldest first.
func (in Input) runs() []opsv1alpha1.JobResult {
	if in.Recorded.Outputs == nil {
		return nil
	}
	return in.Recorded.Outputs.Jobs
}

// current returns the recorded Job without a recorded end and its state. Both are nil if there is
// no such record. The state is nil if no Job has the recorded UID.
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

// prepared reports whether a Job for the current step exists. Its end is not recorded, and it need
// not be created again.
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

// last reports whether the current Job is the last one. A single hook has one Job. The number of
// Jobs of an event is part of the plan.
func (in Input) last() bool {
	if p := in.Spec.Parameters; p == nil || p.Event == "" {
		return true
	}
	return in.Plan.Made && len(in.runs()) >= len(in.Plan.Steps)
}

// stopping reports whether the Operation is cancelled or deleted.
func (in Input) stopping() bool { return in.Spec.Cancel || in.Object.Deleted }

// unfinishedJobs returns the names of this Operation's Jobs that are neither finished nor deleted.
func (in Input) unfinishedJobs() []string {
	var names []string
	for _, j := range in.Jobs {
		if j.Ours && !j.Finished() && !j.Deleted {
			names = append(names, j.Name)
		}
	}
	return names
}

// ending reports whether a Job or Pod of this Operation may still run. A suspended Job without Pods
// does not.
func (in Input) ending() bool {
	return len(in.LivePods) > 0 || slices.ContainsFunc(in.Jobs, func(j Job) bool {
		return j.Ours && (j.Active > 0 || (j.Deleted && !j.Finished() && !j.Suspended))
	})
}

// waitDeadline returns the time at which the Operation stops waiting. The limit is the deadline of
// a Job: the smaller of the limits of user and controller. It counts from the creation of the
// Operation or the end of the previous Job. Zero is no limit.
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

// expired reports whether waitDeadline has passed.
func (in Input) expired() bool {
	end := in.waitDeadline()
	return !end.IsZero() && !in.Now.Before(end)
}

// placedJobs returns the names of the Jobs elsewhere that are not being deleted.
func (in Input) placedJobs() []string {
	var names []string
	for _, j := range in.Jobs {
		if in.Recorded.Placement != nil && j.Ours && !j.Deleted {
			names = append(names, j.Name)
		}
	}
	return names
}

// untilExpired returns the time until Kubernetes deletes the finished Jobs.
func (in Input) untilExpired() time.Duration {
	after := 6 * pollInterval
	for _, j := range in.Jobs {
		after = max(after, j.Ended.Add(seconds(int64(in.Spec.Parameters.TTL()))).Sub(in.Now)+pollInterval)
	}
	return after
}

// undeletable reports whether a deleted Operation cannot delete what it has elsewhere, and its time
// for that is over. The deletion was tried since the controller has started.
func (in Input) undeletable() bool {
	return in.Object.Deleted && in.Elsewhere.Undeleted != "" && in.cleanupExpired() && (len(in.Jobs) > 0 || len(in.Companions) > 0)
}

// cleanupExpired reports whether the time for the cleanup of a deleted Operation is over.
func (in Input) cleanupExpired() bool {
	return !in.Now.Before(in.Object.DeletedAt.Add(in.CleanupTimeout))
}

// untilCleanupExpires returns interval, or the time for the cleanup of a deleted Operation if that
// is shorter.
func (in Input) untilCleanupExpires(interval time.Duration) time.Duration {
	if !in.Object.Deleted || in.cleanupExpired() {
		return interval
	}
	return min(interval, in.Object.DeletedAt.Add(in.CleanupTimeout).Sub(in.Now))
}

// samePlace reports whether two placements are the same namespace, with the same connection and
// identity.
func samePlace(a, b *opsv1alpha1.Placement) bool {
	if a == nil || b == nil {
		return a == b
	}
	sameCluster := (a.KubeConfig == nil) == (b.KubeConfig == nil) && (a.KubeConfig == nil || *a.KubeConfig == *b.KubeConfig)
	return a.Namespace == b.Namespace && a.ServiceAccountName == b.ServiceAccountName && sameCluster
}

// deadlineOf returns the time at which a Job must have ended; zero if it has no deadline.
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

// seconds converts n to a duration. Negative numbers become zero, and large ones the longest
// duration.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(max(n, 0), most)) * time.Second
}

// NeedsPlan reports whether a decision can depend on Plan. It reads all fields but Plan.
func NeedsPlan(in Input) bool {
	if in.Recorded.Phase.Final() || in.stopping() || in.Target.HelmRelease == "" || in.Spec.Engine != opsv1alpha1.EngineHelmHookJob {
		return false
	}
	run, job := in.current()
	return run == nil || (job != nil && job.Finished() && !in.last())
}

// NeedsDryRun reports whether a decision can depend on a dry run of the next Job. It reads all
// fields but Plan.DryRun.
func NeedsDryRun(in Input) bool {
	return NeedsPlan(in) && in.Plan.Made && len(in.Plan.Missing) == 0 && len(in.runs()) < len(in.Plan.Steps) && !in.prepared() &&
		in.problem() == nil && in.Obstacle == nil && in.Target.Unresolved == nil
}

// NeedsLogs reports whether to read the logs of a Job's Pod now: the Job is the current one, and
// its log is complete or may soon be gone.
func NeedsLogs(in Input, job Job) bool {
	run, current := in.current()
	if run == nil || current == nil || current.UID != job.UID || in.Recorded.Phase.Final() {
		return false
	}
	end := deadlineOf(run, current)
	return job.Finished() || job.Deleted || job.Result.Ended || in.stopping() || (!end.IsZero() && !in.Now.Before(end.Add(-logLead)))
}

// Revision returns the revision whose hooks are run: the recorded one, or else the requested one.
// Zero is the deployed revision. For the hook of the next version it is the one that is deployed.
func Revision(in Input) int {
	if o := in.Recorded.Outputs; o != nil && o.Release != nil && !in.Spec.Parameters.IsNext() {
		return o.Release.Revision
	}
	if p := in.Spec.Parameters; p != nil {
		return p.Revision
	}
	return 0
}
