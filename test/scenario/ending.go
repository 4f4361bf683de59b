// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// ending is the end of an action.
type ending struct {
	// cause is nil on success.
	cause error
	// waiting is true if all objects were applied.
	waiting bool
	// cancelled is true if the action was cancelled, and outdated if newer inputs were the reason.
	cancelled bool
	outdated  bool
	// outage is the reason why a server did not answer; empty if it did. server names it if it is
	// not the API server.
	outage, server string
	// unanswered is true if the action succeeded and the response to the final update was lost.
	unanswered bool
	// shutdown is true if the process ends, and elsewhere if another process has resumed the action.
	shutdown, elsewhere bool
	// diagnosis and logs are the results of a diagnosis after a failure.
	diagnosis *release.Diagnosis
	logs      []string
}

// end completes the action and returns its outcome.
func (a *action) end(e ending, now time.Time) release.Outcome {
	o := release.Outcome{Action: a.kind, Desired: a.want, Started: a.started, Ended: now}
	if a.refused != nil {
		e.cause = a.refused
	}
	cause := e.cause
	o.Err, o.Cancelled, o.Outdated = cause, cause != nil && e.cancelled, cause != nil && e.outdated
	o.PlanVoid = errors.Is(cause, release.ErrPlanVoid)
	_, o.Denied = errors.AsType[denial](cause)
	o.Interrupted, o.Diagnosis, o.Logs = e.interruption(a.started), e.diagnosis, e.logs
	if a.made == nil {
		return o
	}
	if o.Interrupted != nil || e.shutdown || e.elsewhere {
		return a.interrupt(e, o, now)
	}
	a.made.Modified = now
	switch a.kind.(type) {
	case release.Install, release.Upgrade, release.Rollback:
		a.endRelease(e)
		o.Inventory = []release.Object{{Version: "v1", Kind: "ConfigMap", Namespace: a.made.Namespace, Name: a.made.Name}}
	case release.Uninstall:
		if a.reach(stageObjects); cause == nil {
			a.reach(stageDone)
			a.endUninstall(now)
		}
	case release.Unlock:
		// The label prevents that the failure is counted after a crash.
		a.made.Status, a.made.Interrupted = helmv2.StatusFailed, true
		a.made.Outdated = false
		a.made.Description = fmt.Sprintf("Release unlocked from stale '%s' state", a.kind.(release.Unlock).Status)
	case release.Test:
		a.endTest(e)
	case release.Recheck:
		a.endRecheck(e)
	case release.FailBake, release.CorrectDrift:
	}
	a.wrote()
	o.Revisions = append(o.Revisions, a.store.read(a.made))
	if a.replaced != nil && cause == nil {
		o.Revisions = append(o.Revisions, a.store.read(a.replaced))
	}
	return o
}

func (a *action) endRelease(e ending) {
	verb, done := "Release", "Install complete"
	if _, ok := a.kind.(release.Upgrade); ok {
		verb, done = "Upgrade", "Upgrade complete"
	}
	if back, ok := a.kind.(release.Rollback); ok {
		verb, done = "Rollback", fmt.Sprintf("Rollback to %d", back.Version)
	}
	switch {
	case e.cause == nil:
		a.reach(stageDone)
	case e.waiting:
		a.reach(stageWait)
	default:
		a.reach(stageObjects)
	}
	a.made.Applied = e.cause == nil || e.waiting || a.made.Applied
	if e.cause != nil {
		a.made.Status, a.made.Outdated = helmv2.StatusFailed, e.outdated
		a.made.Interrupted = e.cancelled && !e.outdated
		a.made.Description = fmt.Sprintf("%s %q failed: %s", verb, a.made.Name, e.cause)
		return
	}
	if a.replaced != nil && !a.replaced.EndedEarly() {
		a.replaced.Status = helmv2.StatusSuperseded
	}
	a.made.Status, a.made.Description = helmv2.StatusDeployed, done
}

// testName is the name of the test that charts have.
const testName = "smoke"

// endTest records the result of the test.
func (a *action) endTest(e ending) {
	if a.made.Tests == nil {
		return
	}
	if e.cause == nil {
		a.reach(stageDone)
	}
	phase := helmv2.TestPhaseSucceeded
	if e.cause != nil {
		phase = helmv2.TestPhaseFailed
	}
	test, _ := a.kind.(release.Test)
	a.made.TestRequest = test.Request
	a.made.Tests = map[string]release.TestRun{testName: {Started: a.started, Completed: a.made.Modified, Phase: phase}}
}

// endRecheck removes the labels of interrupted and outdated revisions, with and without success.
func (a *action) endRecheck(e ending) {
	if e.cancelled {
		return
	}
	a.made.Interrupted, a.made.Outdated = false, false
	if e.cause != nil {
		a.made.Description = fmt.Sprintf("Upgrade %q failed: %s", a.made.Name, e.cause)
		return
	}
	if old := a.store.deployed(); old != nil {
		old.Status = helmv2.StatusSuperseded
		a.replaced = old
	}
	a.made.Status, a.made.Description = helmv2.StatusDeployed, "Upgrade complete"
}

func (a *action) endUninstall(now time.Time) {
	a.store.ran.uninstalling = false
	a.made.Status, a.made.Description, a.made.Deleted = helmv2.StatusUninstalled, "Uninstallation complete", now
	if !a.store.keepHistory {
		a.store.revisions = nil
	}
}
