// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Action is the closed set of things a decision can ask for. Install, Upgrade,
// Test, Rollback, Uninstall, Unlock, Heal, CorrectDrift and Finalize change the
// world, and all but the last are announced before they begin; Adopt, Forget,
// Settle, Wait and Stall only write status.
//
//sumtype:decl
type Action interface{ isAction() }

// Install creates the first revision.
type Install struct{ Timeout time.Duration }

// Upgrade creates the next revision.
type Upgrade struct {
	Timeout time.Duration
	// TakeOver is true when the stored release is not the one we recorded: the
	// recorded history describes something else and is dropped.
	TakeOver bool
}

// Test runs the chart's tests on the newest revision.
type Test struct{ Timeout time.Duration }

// Rollback makes a new revision equal to an earlier one: the remediation of a
// failed upgrade.
type Rollback struct {
	Timeout time.Duration
	// Version is the revision to return to.
	Version int
}

// Uninstall removes the release and its objects.
type Uninstall struct {
	Timeout time.Duration
	Target  Target
	// Remediation is true if the release is removed because it failed.
	Remediation bool
}

// Unlock marks a revision whose operation died as failed.
type Unlock struct {
	Version int
	Status  helmv2.ReleaseStatus
	Target  Target
}

// Heal looks again at the objects of a revision that failed only because they
// did not become ready in time. It waits for them, up to Timeout, and then marks
// the revision deployed and the others superseded. It makes no revision and
// applies nothing; if the objects are not ready, storage stays as it is.
type Recheck struct {
	Timeout time.Duration
	Version int
}

// CorrectDrift makes live objects what the newest revision has them be again. It
// makes no revision, runs no hooks and waits for nothing.
type CorrectDrift struct {
	Timeout time.Duration
	// Drift is what was found, and what of it is to be corrected: all of it, or, if
	// OnlyRemoved, what does not exist any more.
	Drift       Drift
	OnlyRemoved bool
}

// Finalize lets the HelmRelease go.
type Finalize struct{}

// Adopt writes revisions into status that we made but did not record.
type Adopt struct{}

// Forget drops the record of a release that belongs to another HelmRelease by
// now, so that nothing is left to be uninstalled.
type Forget struct{}

// Settle means that there is nothing to do until something changes.
type Settle struct{}

// Wait means that something else has to happen first.
type Wait struct {
	// After is when to look again; zero if an event will wake us.
	After time.Duration
	// Cancel asks for the running attempt to be cancelled.
	Cancel bool
	// Superseded is true if it is cancelled because something else is wanted by
	// now.
	Outdated bool
	// For is the reason of condition Held if what is awaited is an Operation; empty
	// otherwise.
	For string
	// Brief is true if it will be over in a moment: nothing is said of it.
	Brief bool
	// Retrying is true if what is awaited is the moment to try again.
	Retrying bool
	// Obstacle is the reason of condition Ready if something is in the way whose end
	// triggers no reconciliation: the release is requeued with back-off. Empty
	// otherwise.
	Obstacle string
}

// Stall means that nothing will be done before a person changes something.
type Stall struct {
	// Reason of the Stalled condition.
	Reason string
}

func (Install) isAction()      {}
func (Upgrade) isAction()      {}
func (Test) isAction()         {}
func (Rollback) isAction()     {}
func (Recheck) isAction()      {}
func (CorrectDrift) isAction() {}
func (Uninstall) isAction()    {}
func (Unlock) isAction()       {}
func (Finalize) isAction()     {}
func (Adopt) isAction()        {}
func (Forget) isAction()       {}
func (Settle) isAction()       {}
func (Wait) isAction()         {}
func (Stall) isAction()        {}

// TimeoutOf returns how long an action may take, zero if that is not bounded.
func TimeoutOf(a Action) time.Duration {
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
	case CorrectDrift:
		return a.Timeout
	case Uninstall:
		return a.Timeout
	case Unlock, Finalize, Adopt, Forget, Settle, Wait, Stall:
	}
	return 0
}

// Name returns the name of an action: a bounded set, fit for a metric label.
// Those that are announced are named as conditions name them.
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
	case CorrectDrift:
		return string(helmv2.ActionCorrectDrift)
	case Uninstall:
		return string(helmv2.ActionUninstall)
	case Unlock:
		return string(helmv2.ActionUnlock)
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
