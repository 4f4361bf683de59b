// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Action is the closed set of results of a decision: a HelmAction, ComputePlan, Finalize, which removes
// the finalizer, or Adopt, Forget, Settle, Wait or Stall, which write status only.
//
//sumtype:decl
type Action interface{ isAction() }

// HelmAction is the closed set of actions that change the cluster or Helm's storage: Install, Upgrade,
// Test, Rollback, Uninstall, Unlock, Recheck, FailBake and CorrectDrift. They are announced in status before
// they start, and have an Outcome.
//
//sumtype:decl
type HelmAction interface {
	Action
	isHelmAction()
}

// PlanRef names the approved plan that an action carries out. The zero value is no plan: the action
// renders the chart.
type PlanRef struct {
	// Digest is the digest of the plan.
	Digest string
	// ApprovedBy is who approved it; empty if no approval was needed.
	ApprovedBy string
	// Overrode are the names of the gates that the action passes by an override; empty if it needs none.
	// OverriddenBy and OverrideReason are who has overridden them, and why.
	Overrode, OverriddenBy, OverrideReason string
	// Replace are the objects that the approval names to be deleted and created anew, as ReplacedName
	// returns them, separated by commas; empty if there are none.
	Replace string
}

// Install creates the first revision.
type Install struct {
	Timeout time.Duration
	// Plan is the plan that is carried out.
	Plan PlanRef
	// Resume is the number of the pending revision whose install is resumed; 0 for a new one.
	Resume int
	// Insist is true if objects are applied that dry runs deny for reasons that may depend on other
	// objects of the action.
	Insist bool
}

// Upgrade creates the next revision.
type Upgrade struct {
	Timeout time.Duration
	// Plan is the plan that is carried out.
	Plan PlanRef
	// TakeOver is true if the stored release is not the recorded one. The recorded history
	// describes another release and is dropped.
	TakeOver bool
	// Resume is the number of the pending revision whose upgrade is resumed; 0 for a new one.
	Resume int
	// Insist is true if objects are applied that dry runs deny for reasons that may depend on other
	// objects of the action.
	Insist bool
}

// Test runs the chart's tests on the newest revision.
type Test struct {
	Timeout time.Duration
	// Request is the token of the request that the run answers. It is empty for the run that
	// follows a new revision.
	Request string
}

// Rollback creates a revision that equals an earlier one. It remediates a failed upgrade, or starts
// a hold.
type Rollback struct {
	Timeout time.Duration
	// Plan is the plan that is carried out. A remediation has none.
	Plan PlanRef
	// Version is the number of the earlier revision.
	Version int
	// Resume is the number of the pending revision whose rollback is resumed; 0 for a new one.
	Resume int
	// Hold is true if the release is held at the revision. Again is true if an earlier rollback of
	// the same hold has failed.
	Hold, Again bool
}

// Uninstall removes the release and its objects.
type Uninstall struct {
	Timeout time.Duration
	// Plan is the plan that is carried out.
	Plan   PlanRef
	Target Target
	// Remediation is true if the release is removed because it failed.
	Remediation bool
	// Reinstall is true if the release is removed because its install ended early, and is installed
	// anew afterwards.
	Reinstall bool
}

// Unlock marks a pending revision as failed after its process has died.
type Unlock struct {
	Version int
	Status  helmv2.ReleaseStatus
	Target  Target
}

// Recheck waits for the objects of a revision that failed only because they were not ready in time.
// If they become ready within Timeout, it marks the revision deployed and the others superseded. It
// creates no revision and applies no objects. If the objects do not become ready, storage does not
// change.
type Recheck struct {
	Timeout time.Duration
	Version int
}

// CorrectDrift restores live objects to the state in the newest revision. It creates no revision,
// runs no hooks and does not wait for readiness.
type CorrectDrift struct {
	Timeout time.Duration
	// Drift lists the differences. All of them are corrected or, if OnlyRemoved is set, only
	// objects that no longer exist.
	Drift       Drift
	OnlyRemoved bool
	// Held is true if a policy holds the state in the spec. Condition Ready does not change then: it
	// must not say that the spec is deployed.
	Held bool
}

// ComputePlan computes the plan of an action and stores it. The decision is made again with the plan.
type ComputePlan struct {
	Of HelmAction
	// Request is the token of the request for the plan. It is empty if a policy demands the plan.
	Request string
}

// Finalize removes the finalizer from the HelmRelease.
type Finalize struct{}

// Adopt records revisions that this HelmRelease created but that are missing in status.
type Adopt struct{}

// Forget drops the record of a release that another HelmRelease owns now. The release is not
// uninstalled.
type Forget struct{}

// Settle takes no action until an input changes.
type Settle struct{}

// Wait takes no action until another event has occurred.
type Wait struct {
	// After is the delay until the next reconciliation. Zero waits for an event.
	After time.Duration
	// Limit is the whole length of a wait that an earlier event may end; zero if After is.
	Limit time.Duration
	// Cancel requests cancellation of the running attempt.
	Cancel bool
	// Outdated is true if the attempt is cancelled because its inputs are outdated.
	Outdated bool
	// For is the reason of condition Locked while an Operation has the lock. It is empty otherwise.
	For string
	// Brief is true for waits of a few seconds. They write no status and emit no event.
	Brief bool
	// Retrying is true if the wait ends with a retry of a failed action.
	Retrying bool
	// Obstacle is the reason of condition Ready for an obstacle whose end triggers no
	// reconciliation. The release is requeued with back-off. It is empty otherwise.
	Obstacle string
	// Bakes is when the bake of the release ends; zero if it is not watched.
	Bakes time.Time
	// Gate is the reason of condition Ready while a policy holds the action. It is empty otherwise.
	Gate string
}

// Stall takes no action until a user changes an input.
type Stall struct {
	// Reason is the reason of condition Stalled.
	Reason string
}

func (Install) isAction()      {}
func (Upgrade) isAction()      {}
func (Test) isAction()         {}
func (Rollback) isAction()     {}
func (Uninstall) isAction()    {}
func (Unlock) isAction()       {}
func (Recheck) isAction()      {}
func (FailBake) isAction()     {}
func (CorrectDrift) isAction() {}
func (ComputePlan) isAction()  {}
func (Finalize) isAction()     {}
func (Adopt) isAction()        {}
func (Forget) isAction()       {}
func (Settle) isAction()       {}
func (Wait) isAction()         {}
func (Stall) isAction()        {}

func (Install) isHelmAction()      {}
func (Upgrade) isHelmAction()      {}
func (Test) isHelmAction()         {}
func (Rollback) isHelmAction()     {}
func (Uninstall) isHelmAction()    {}
func (Unlock) isHelmAction()       {}
func (Recheck) isHelmAction()      {}
func (FailBake) isHelmAction()     {}
func (CorrectDrift) isHelmAction() {}

// TimeoutOf returns the time limit of an action, or zero if it has none.
func TimeoutOf(a HelmAction) time.Duration {
	switch a := a.(type) {
	case Install:
		return a.Timeout
	case Upgrade:
		return a.Timeout
	case Test:
		return a.Timeout
	case Rollback:
		return a.Timeout
	case Recheck:
		return a.Timeout
	case FailBake:
		return a.Timeout
	case CorrectDrift:
		return a.Timeout
	case Uninstall:
		return a.Timeout
	case Unlock:
	}
	return 0
}

// Name returns the name of an action. The set of names is bounded, so it can be a metric label.
// Announced actions have the names that conditions use.
func Name(a Action) string {
	switch a.(type) {
	case Install:
		return string(helmv2.ActionInstall)
	case Upgrade:
		return string(helmv2.ActionUpgrade)
	case Test:
		return string(helmv2.ActionTest)
	case Rollback:
		return string(helmv2.ActionRollback)
	case Recheck:
		return string(helmv2.ActionRecheck)
	case FailBake:
		return string(helmv2.ActionBake)
	case CorrectDrift:
		return string(helmv2.ActionCorrectDrift)
	case Uninstall:
		return string(helmv2.ActionUninstall)
	case Unlock:
		return string(helmv2.ActionUnlock)
	case ComputePlan:
		return "plan"
	case Finalize:
		return "finalize"
	case Adopt:
		return "adopt"
	case Forget:
		return "forget"
	case Settle:
		return "settle"
	case Wait:
		return "wait"
	case Stall:
		return "stall"
	}
	return ""
}
