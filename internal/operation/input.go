// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/release"
)

// Input holds everything that a decision may depend on. Every field is plain data, so that an Input
// can be written as JSON and replayed.
type Input struct {
	Object Object
	Spec   opsv1alpha1.OperationSpec
	// Recorded is the status as last written. Its conditions are output and are never read.
	Recorded opsv1alpha1.OperationStatus
	Target   Target
	// LockedReleases are the names of all HelmReleases whose lock this Operation holds, regardless
	// of the present target.
	LockedReleases []string
	// Plan is zero unless NeedsPlan returns true.
	Plan Plan
	// Next is the plan of the next upgrade. It is zero unless the hook is taken from it.
	Next NextPlan
	// Jobs are the Jobs with this Operation's label and the Jobs with the name of a step.
	Jobs []Job
	// LivePods are the names of this Operation's Pods that have not ended, including those with a
	// deletion timestamp.
	LivePods []string
	// PodResult is the result according to the Pods of the recorded Job after the Job is gone. It
	// is zero if there are none.
	PodResult Result
	// Companions names the existing objects that were created in addition to Jobs.
	Companions []string
	// Obstacle is the reason why the cluster could not be read; nil if it could.
	Obstacle *Problem
	// Elsewhere is the state of the Jobs of an Operation with a recorded placement; zero otherwise.
	Elsewhere Elsewhere
	// CleanupTimeout is how long a deleted Operation waits until its objects elsewhere are deleted.
	CleanupTimeout time.Duration
	// Timeout bounds the wait of an Operation and the run of a Job. Zero is no limit.
	Timeout time.Duration
	Now     time.Time
}

// Object is the metadata of the Operation.
type Object struct {
	UID        string
	Namespace  string
	Name       string
	Generation int64
	Created    time.Time
	// Deleted is true if it has a deletion timestamp, and DeletedAt is that time.
	Deleted   bool
	DeletedAt time.Time
	// Finalizer is true if it has the finalizer of Pintle.
	Finalizer bool
}

// Elsewhere is the state of Jobs in another namespace or cluster.
type Elsewhere struct {
	// Unread is the reason why Jobs and Pods could not be read; nil if they could. Then Jobs and
	// LivePods are empty.
	Unread *Problem
	// Lost is true if they can never be read or deleted again: the identity of the release, or the
	// connection to its cluster, does not exist, and cannot be created.
	Lost bool
	// Undeleted is the error of the last deletion, if one has failed; empty otherwise.
	Undeleted string
}

// Problem is a reason and a message of a condition.
type Problem struct{ Reason, Message string }

// Target is the HelmRelease of an Operation.
type Target struct {
	// Unresolved is a temporary reason why the HelmRelease is unknown; nil if it is known.
	Unresolved *Problem
	// HelmRelease is the name of the HelmRelease; empty if it is unknown.
	HelmRelease string
	// Deleted is true if it has a deletion timestamp.
	Deleted bool
	// Suspended is true if it is suspended. Only messages depend on it: a hook that a user requests
	// runs even for a suspended HelmRelease.
	Suspended bool
	// Action is the action that is announced in its status and may be running; empty if there is
	// none.
	Action string
	// Pending is a message if its newest revision is pending; empty otherwise.
	Pending string
	// LockHolder is the holder of its lock.
	LockHolder LockHolder
}

// LockHolder is another Operation that has locked a HelmRelease.
type LockHolder struct {
	// UID is the value of the lock annotation; empty if there is none or it is the UID of this
	// Operation.
	UID string
	// Name is the name of the Operation; empty if it does not exist.
	Name string
	// Active is true if the Operation exists and has not ended or not cleaned up. The lock of any
	// other Operation does not count.
	Active bool
}

// NextPlan is the ReleasePlan of the target, and the request for it.
type NextPlan struct {
	// Requested is the annotation of the HelmRelease that requests a plan; empty if there is none. Open is
	// true if that request is not answered.
	Requested string
	Open      bool
	// Answers is the request that the plan answers; empty without a plan.
	Answers string
	// Digest and Inputs are the digests of the plan and of its inputs. Digest is empty if there is none.
	Digest, Inputs string
	Action         v1alpha1.PlanAction
	// Applied is true if a revision was made of the plan, or it is no longer the plan of the next action.
	Applied bool
	// Failed is the reason why the plan could not be computed; empty if it was.
	Failed string
	// UID is the UID of the HelmRelease, and Revision the number of the newest revision.
	UID      string
	Revision int
	// Unguarded is why nothing checks who lets the upgrade leave out the hook; empty if it is checked.
	Unguarded string
}

// Plan lists the Jobs that run the hooks; see package hookjob.
type Plan struct {
	// Made is true if the plan was made.
	Made bool
	// Refused is a permanent reason why there is no plan.
	Refused *Problem
	// Hooks are the hooks of the release, for messages.
	Hooks   []opsv1alpha1.HookReference
	Release opsv1alpha1.ReleaseReference
	// Placement is where the Jobs are to be, with the objects that are created in addition; nil for
	// the namespace of the Operation.
	Placement *opsv1alpha1.Placement
	Steps     []Step
	// Missing names required objects that do not exist and cannot be created.
	Missing []string
	// Approver is the policy that demands approval of the hooks; empty if none does.
	Approver string
	// DryRun is the rejection by the API server of the next Job or one of its companions. It is nil
	// if there was none, or no dry run was made; see NeedsDryRun.
	DryRun *Problem
}

// Step is one Job to run.
type Step struct {
	Hook string
	// Job is the name of the Job.
	Job string
	// Digest is the digest of the hook's manifest.
	Digest string
}

// Job is the state of one Job.
type Job struct {
	Name string
	UID  string
	// Ours is true if this Operation is its controller or, elsewhere, if it has created it according
	// to its name and to its label or recorded UID.
	Ours bool
	// Deleted is true if it has a deletion timestamp.
	Deleted   bool
	Suspended bool
	// Active is the number of its Pods that have not ended.
	Active int
	// Complete and Failed are its terminal conditions. At most one of them is true.
	Complete bool
	Failed   bool
	// Digest is the digest of the manifest that it was created from.
	Digest string
	// Expires is true if it has a TTL after its end.
	Expires bool
	// Deadline is its active deadline; zero if it has none.
	Deadline time.Duration
	// Started and Ended are zero if they are unknown or have not happened.
	Started time.Time
	Ended   time.Time
	// Result is the result according to its Pods so far.
	Result Result
}

// Finished reports whether the Job is complete or failed.
func (j Job) Finished() bool { return j.Complete || j.Failed }

// Result is the result of a Job according to its Pods.
type Result struct {
	// Pod is the name of the Pod with the most relevant status; empty if there is none.
	Pod string
	// ExitCode is the exit code of the container that determines the result; nil if none has ended.
	ExitCode *int32
	// Reason is one word; empty if there is no problem.
	Reason  string
	Message string
	// Container is the name of the container that ExitCode is of; empty if there is none.
	Container string
	// Ended is true if a container has ended or will soon end. Its log may be gone at the next
	// reconciliation.
	Ended bool
	// Logs are the logs of that Pod without secrets; nil unless NeedsLogs returns true.
	Logs []opsv1alpha1.ContainerLog
	// Unread is true if reading a log failed temporarily.
	Unread bool
}

// Rule is the name of a rule: a row of the table in docs/spec/operations.md and a metric label.
type Rule string

// The rules, in the order in which they are tried.
const (
	RuleUnreachable   Rule = "Unreachable"
	RuleTerminal      Rule = "Terminal"
	RuleCollect       Rule = "Collect"
	RuleCancelled     Rule = "Cancelled"
	RuleLost          Rule = "Lost"
	RuleRunning       Rule = "Running"
	RuleInvalid       Rule = "Invalid"
	RuleAwaitPlan     Rule = "AwaitPlan"
	RuleBlocked       Rule = "Blocked"
	RuleAwaitApproval Rule = "AwaitApproval"
	RuleAwaitLock     Rule = "AwaitLock"
	RuleSetFinalizer  Rule = "SetFinalizer"
	RuleAcquireLock   Rule = "AcquireLock"
	RuleStart         Rule = "Start"
)

// Decision is the next action and its reason.
type Decision struct {
	// Rule is the rule that applied.
	Rule   Rule
	Action Action
	// Phase is the phase of the Operation after this decision.
	Phase opsv1alpha1.OperationPhase
	// Reason is the reason of the condition for this decision.
	Reason string
	// Why is one stable sentence for users. It does not change while the state does not.
	Why string
}

// Retry returns when to reconcile after the action: at once, except after Wait and Settle.
func (d Decision) Retry() release.Retry {
	switch a := d.Action.(type) {
	case Wait:
		if a.After > 0 {
			return release.After(a.After)
		}
		return release.Never()
	case Settle:
		return release.Never()
	case SetFinalizer, AcquireLock, RequestPlan, ReleaseLock, Create, Adopt, Resume, Stop, Record, Finish, RemoveCompanions, Expire, RemoveFinalizer, Delete, Abandon:
	}
	return release.Now()
}
