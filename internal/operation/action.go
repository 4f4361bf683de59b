// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import "time"

// Action is the closed set of things a decision can ask for. Whatever it is, the
// status that goes with the decision is written before it.
//
//sumtype:decl
type Action interface{ isAction() }

// SetFinalizer keeps the Operation from vanishing under what it runs.
type SetFinalizer struct{}

// AcquireLock writes our UID into the annotation of a HelmRelease, with the
// resourceVersion that was read. A conflict is no error: visit again.
type AcquireLock struct{ HelmRelease string }

// ReleaseLock removes the annotation where it holds our UID.
type ReleaseLock struct{ HelmReleases []string }

// Create creates the companions that are not there, in their order, and then the
// suspended Job of a step. What exists already is left as it is.
type Create struct{ Step int }

// Adopt records the UID of a Job that has not run. It is a write of status only.
type Adopt struct {
	Step int
	Job  string
}

// Resume lets a recorded Job run.
type Resume struct{ Job, UID string }

// Stop deletes Jobs with propagation Background, by UID. If it was not asked for
// by a person, Reason says why.
type Stop struct {
	Jobs   []string
	Reason string
}

// Record writes down the result of a Job. It is a write of status only.
type Record struct{ Job string }

// Finish ends the Operation without a result of a Job. It is a write of status
// only.
type Finish struct{}

// RemoveCompanions deletes what was created beside Jobs.
type RemoveCompanions struct{ Names []string }

// Expire lets Kubernetes delete finished Jobs after a while.
type Expire struct {
	Jobs    []string
	Seconds int32
}

// RemoveFinalizer lets the Operation go, if it is being deleted.
type RemoveFinalizer struct{}

// Wait means that something else has to happen first.
type Wait struct {
	// After is when to look again even if nothing wakes us; zero for never.
	After time.Duration
}

// Settle means that there is nothing to do, ever.
type Settle struct{}

func (SetFinalizer) isAction()     {}
func (AcquireLock) isAction()      {}
func (ReleaseLock) isAction()      {}
func (Create) isAction()           {}
func (Adopt) isAction()            {}
func (Resume) isAction()           {}
func (Stop) isAction()             {}
func (Record) isAction()           {}
func (Finish) isAction()           {}
func (RemoveCompanions) isAction() {}
func (Expire) isAction()           {}
func (RemoveFinalizer) isAction()  {}
func (Wait) isAction()             {}
func (Settle) isAction()           {}

// Name returns the name of an action: a bounded set, fit for a metric label.
func Name(a Action) string {
	switch a.(type) {
	case SetFinalizer:
		return "set-finalizer"
	case AcquireLock:
		return "acquire-lock"
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
	case Wait:
		return "wait"
	case Settle:
		return "settle"
	}
	return ""
}
