// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import "time"

// Action is the closed set of results of a decision. The status of the decision is written before
// the action is performed.
//
//sumtype:decl
type Action interface{ isAction() }

// SetFinalizer adds the finalizer, so that the Operation is not removed while its Jobs run.
type SetFinalizer struct{}

// AcquireLock writes the UID of the Operation into the lock annotation of a HelmRelease, with the
// resourceVersion that was read. A conflict leads to another reconciliation and is no error.
type AcquireLock struct{ HelmRelease string }

// RequestPlan writes a token into the annotation of a HelmRelease that requests its plan. The token is
// recorded before. An annotation with that token is not written again.
type RequestPlan struct{ HelmRelease, Token string }

// ReleaseLock removes the annotation if its value is the UID of the Operation.
type ReleaseLock struct{ HelmReleases []string }

// Create creates the missing companions in their order, then the suspended Job of a step. Existing
// objects are not changed.
type Create struct{ Step int }

// Adopt records the UID of a Job that has not run. It writes status only.
type Adopt struct {
	Step int
	Job  string
}

// Resume unsuspends a recorded Job.
type Resume struct{ Job, UID string }

// Stop deletes Jobs by UID with background propagation. Reason is set if the stop was not requested
// by a user.
type Stop struct {
	Jobs   []string
	Reason string
}

// Record records the result of a Job. It writes status only.
type Record struct{ Job string }

// Finish ends the Operation without a result of a Job. It writes status only.
type Finish struct{}

// RemoveCompanions deletes the objects that were created in addition to Jobs.
type RemoveCompanions struct{ Names []string }

// Expire sets a TTL on finished Jobs.
type Expire struct {
	Jobs    []string
	Seconds int32
}

// RemoveFinalizer removes the finalizer.
type RemoveFinalizer struct{}

// Delete deletes the Operation itself, in the version that was read.
type Delete struct{}

// Abandon removes the finalizer although objects may be left. An event names them.
type Abandon struct{}

// Wait takes no action until another event has occurred.
type Wait struct {
	// After is the delay until the next reconciliation. Zero waits for an event.
	After time.Duration
}

// Settle takes no action, permanently.
type Settle struct{}

func (SetFinalizer) isAction()     {}
func (AcquireLock) isAction()      {}
func (RequestPlan) isAction()      {}
func (ReleaseLock) isAction()      {}
func (Create) isAction()           {}
func (Adopt) isAction()            {}
func (Resume) isAction()           {}
func (Stop) isAction()             {}
func (Record) isAction()           {}
func (Finish) isAction()           {}
func (RemoveCompanions) isAction() {}
func (Abandon) isAction()          {}
func (Expire) isAction()           {}
func (RemoveFinalizer) isAction()  {}
func (Delete) isAction()           {}
func (Wait) isAction()             {}
func (Settle) isAction()           {}

// Name returns the name of an action. The set of names is bounded, so it can be a metric label.
func Name(a Action) string {
	switch a.(type) {
	case SetFinalizer:
		return "set-finalizer"
	case AcquireLock:
		return "acquire-lock"
	case RequestPlan:
		return "request-plan"
	case ReleaseLock:
		return "release-lock"
	case Create:
		return "create"
	case Adopt:
		return "adopt"
	case Resume:
		return "resume"
	case Stop:
		return "stop"
	case Record:
		return "record"
	case Finish:
		return "finish"
	case RemoveCompanions:
		return "remove-companions"
	case Expire:
		return "expire"
	case RemoveFinalizer:
		return "remove-finalizer"
	case Delete:
		return "delete"
	case Abandon:
		return "abandon"
	case Wait:
		return "wait"
	case Settle:
		return "settle"
	}
	return ""
}
