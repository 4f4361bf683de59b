// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package operation decides about the life of an Operation: refused, waiting for
// its turn, running, recorded, tidied up. It is pure: facts come in as plain data,
// and one thing to do comes out.
//
// Whoever acts on a decision first writes the status that goes with it, guarded
// by the resourceVersion of what was read, then performs the action, then visits
// again. Every action may be performed again, or be found done. So a process may
// die anywhere:
//
//	it dies                                    the next visit finds                    and decides
//	before or after the finalizer is set       what it says                            the same, or the next thing
//	after the lock is taken                    our UID on the HelmRelease              Start: create
//	after some companions are created          those are present, so only the others   Start: create
//	after the Job is created                   a suspended Job that is not recorded    Start: record its UID
//	after its UID is recorded                  a suspended Job that is recorded        Start: let it run
//	while it runs                              the recorded Job                        Running
//	after it ended                             the recorded Job, finished              Collect
//	after its result is recorded               a final phase                           Terminal: tidy up
//	while tidying up                           what is left of it                      Terminal: tidy up
//	while stopping                             spec.cancel or a deletion, as before    Cancelled
//
// A Job that is recorded is never made again, and one that is not recorded has
// never run: it is created suspended. That is why no Operation ever runs twice,
// whoever deletes its Job whenever.
package operation

import (
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// Input is all that a decision may depend on. Every field is plain data, so an
// Input can be written as JSON and replayed.
type Input struct {
	Object Object
	Spec   opsv1alpha1.OperationSpec
	// Recorded is the status as last written. Its conditions are never read.
	Recorded opsv1alpha1.OperationStatus
	Target   Target
	// Holds are the names of all HelmReleases that name this Operation as their
	// holder, whatever the target is by now.
	LockedReleases []string
	// Plan is the zero value unless NeedsPlan.
	Plan Plan
	// Jobs are those that carry this Operation's label, and those that have the name
	// of a step.
	Jobs []Job
	// LivePods are the names of this Operation's pods that have not come to an end,
	// being deleted or not.
	LivePods []string
	// Left is what the pods of the recorded Job tell once that is gone: they are given
	// time to end, and have the last word. The zero value if there are none.
	PodResult Result
	// Companions names what was created beside Jobs and is still there.
	Companions []string
	// Obstacle is what kept the world from being looked at; nil if nothing did.
	Obstacle *Problem
	// Timeout is the longest that an Operation may wait, and a Job run; zero sets no
	// limit.
	Timeout time.Duration
	Now     time.Time
}

// Object is the Operation itself.
type Object struct {
	UID        string
	Namespace  string
	Name       string
	Generation int64
	Created    time.Time
	// Deleted is true if it is being deleted.
	Deleted bool
	// Finalizer is true if it has ours.
	Finalizer bool
}

// Problem is a reason for people and programs.
type Problem struct{ Reason, Message string }

// Target is the HelmRelease that an Operation is for.
type Target struct {
	// Refused says why no hook can be run for it, for good; nil if one can.
	Refused *Problem
	// Lacking says why it is not known which it is, which may change; nil if it is.
	Unresolved *Problem
	// HelmRelease is its name; empty if it is not known.
	HelmRelease string
	// Deleted is true if it is being deleted.
	Deleted bool
	// Suspended is true if it is left alone. It changes what is said, not what is done:
	// a hook that a person asks for is not the controller's own doing.
	Suspended bool
	// Action is what is announced on it and may run at the moment; empty for nothing.
	Action string
	// Pending says that its newest revision is pending, and how; empty if it is not.
	Pending string
	// Holder is who has it to himself.
	LockHolder LockHolder
}

// Holder is another Operation.
type LockHolder struct {
	// UID in the annotation; empty if there is none, or it is that of this Operation.
	UID string
	// Name of the Operation; empty if there is no such Operation.
	Name string
	// Living is true if the Operation exists and is not over and tidied up. Any other
	// holder is none.
	Active bool
}

// Plan is what it takes to run the hooks; see package hookjob.
type Plan struct {
	// Made is true if there is a plan.
	Made bool
	// Refused says why there is none, for good.
	Refused *Problem
	// Hooks that there are, if that helps.
	Hooks   []opsv1alpha1.HookReference
	Release opsv1alpha1.ReleaseReference
	Steps   []Step
	// Missing names what is needed, is not there, and cannot be created.
	Missing []string
	// DryRun is what the API server says against the next Job, or what comes with it;
	// nil if nothing, or if it was not asked; see NeedsDryRun.
	DryRun *Problem
}

// Step is one Job to run.
type Step struct {
	Hook string
	// Job is the name of the Job.
	Job string
	// Digest of the hook's manifest.
	Digest string
}

// Job is what is known of one Job.
type Job struct {
	Name string
	UID  string
	// Ours is true if this Operation is its controller.
	Ours bool
	// Deleted is true if it is being deleted.
	Deleted   bool
	Suspended bool
	// Active counts its pods that have not come to an end.
	Active int
	// Complete and Failed are true if it is, for good; at most one of them is.
	Complete bool
	Failed   bool
	// Digest of the manifest it was made from.
	Digest string
	// Expires is true if Kubernetes deletes it some time after its end.
	Expires bool
	// Deadline it has; zero if none.
	Deadline time.Duration
	// Started and Ended are zero if it did not, or is not known to have.
	Started time.Time
	Ended   time.Time
	// Result is what its pods tell so far.
	Result Result
}

// Finished reports whether a Job has come to its end.
func (j Job) Finished() bool { return j.Complete || j.Failed }

// Result is what pods tell of the Job they belong to.
type Result struct {
	// Pod that tells most; empty if there is none.
	Pod string
	// ExitCode of the container that decided; nil if none has ended.
	ExitCode *int32
	// Reason in one word; empty if nothing is wrong.
	Reason  string
	Message string
	// Ended is true if some container has ended or is about to: there is a log that
	// may be gone the next time.
	Ended bool
	// Logs of that pod, without secrets; nil unless WantsLogs.
	Logs []opsv1alpha1.ContainerLog
	// Unread is true if a log of it could not be read, and may be the next time.
	Unread bool
}

// Decision is the one thing to do next, and why.
type Decision struct {
	// Rule that applied: a row of the table in docs/spec and a metric label.
	Rule   string
	Action Action
	// Phase of the Operation as of this decision.
	Phase opsv1alpha1.OperationPhase
	// Reason of the condition that says so.
	Reason string
	// Why is one sentence for people. It does not change while nothing happens.
	Why string
}
