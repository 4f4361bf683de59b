// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// MaxInterruptedDelay limits the back-off after an interruption. It bounds the time between the
	// end of an outage and the next attempt.
	MaxInterruptedDelay = time.Minute
	// DenialRetry is the pause before an action is tried that dry runs have denied.
	DenialRetry = 15 * time.Second
	// maxComparisonDelay limits the back-off of a comparison whose requests got no answer.
	maxComparisonDelay = 30 * time.Second
)

// Retry returns when to reconcile after a decision that runs no action. After one that runs an
// action, the end of the action triggers the next reconciliation.
func (d Decision) Retry(in Input) Retry {
	held := d.Rule == RuleRolledBack
	switch a := d.Action.(type) {
	case Settle:
		suspension := in.Desired.Suspension
		switch {
		case held:
			return comparisonRetry(in.Observed.Drift, holdRetry(in))
		case !suspension.Active:
			return comparisonRetry(in.Observed.Drift, Interval(in.Desired.Policy.Interval))
		case !suspension.Until.IsZero():
			return After(suspension.Until.Sub(in.Now))
		}
		return Never()
	case Wait:
		return a.retry(held, in)
	case Stall:
		// A user may repair the release with Helm, and its objects may become ready later.
		switch {
		case held && a.Reason == helmv2.ReasonRollbackRefused && d.State == StateRolledBack:
			return comparisonRetry(in.Observed.Drift, holdRetry(in))
		case held:
			return holdRetry(in)
		}
		return Interval(in.Desired.Policy.Interval)
	case Adopt, Forget:
		return Now()
	case Install, Upgrade, Test, Rollback, Uninstall, Unlock, Recheck, FailBake, CorrectDrift, ComputePlan, Finalize:
	}
	return Never()
}

func (a Wait) retry(held bool, in Input) Retry {
	switch {
	case a.For != "", a.Brief, a.Gate == helmv2.ReasonPolicyUnavailable:
		return After(a.After)
	case held:
		return Interval(a.After)
	case a.Gate != "" && in.Desired.Hold.Active && !in.Desired.Deleted:
		// The rollback waits.
		return holdRetry(in)
	case a.Gate != "":
		return Interval(a.After)
	case a.Obstacle != "":
		return Backoff()
	case a.After == 0:
		// An action of this process runs, and its end triggers the next reconciliation.
		return Never()
	case a.Retrying:
		return Interval(a.After)
	}
	return After(a.After)
}

// comparisonRetry returns when to compare live objects again: after the pause of the last comparison,
// with back-off if it got no answer, and otherwise as given.
func comparisonRetry(found *Drift, otherwise Retry) Retry {
	switch {
	case found == nil:
	case (len(found.Objects) > 0 || found.Rendering != "") && found.Pause > 0:
		return After(found.Pause)
	case found.Repeat:
		return BackoffUpTo(maxComparisonDelay)
	}
	return otherwise
}

// holdRetry returns when to requeue a release that is held: after the interval, or at the end of the
// hold.
func holdRetry(in Input) Retry {
	interval, until := in.Desired.Policy.Interval, in.Desired.Hold.Until
	if until.IsZero() {
		return Interval(interval)
	}
	left := until.Sub(in.Now)
	// The interval is spread by some percent. The end of a hold is not.
	if interval > 0 && left > 2*interval {
		return Interval(interval)
	}
	if interval > 0 {
		left = min(left, interval)
	}
	return After(max(left, time.Millisecond))
}

// RetryAfter returns when to reconcile after an action. generation and requests are read from the
// HelmRelease at the end of the action, and recorded is the status with its outcome.
func RetryAfter(o *Outcome, generation int64, requests Requests, recorded *helmv2.HelmReleaseStatus) Retry {
	changed := o.inputsChanged(generation, requests, recorded)
	switch ended := o.Interrupted != nil || o.ResumedElsewhere(); {
	case o.Cancelled, o.PlanVoid:
		return Now()
	case (ended || o.Deferred()) && changed && !requests.ForceStarted(recorded):
		return Now()
	case ended:
		return BackoffUpTo(MaxInterruptedDelay)
	case o.Deferred():
		return After(DenialRetry)
	case o.Err != nil && !o.Stored() && !changed:
		// The same inputs would fail in the same way, and need a delay. Other inputs do not.
		return retryUnstored(o)
	case o.failsAgain(recorded):
		return Backoff()
	}
	return Now()
}

// inputsChanged reports whether the next reconciliation has other inputs than the failed action had:
// another spec or an open request. An unlock and a resumed action precede all other actions, and have
// no other inputs than the spec.
func (o *Outcome) inputsChanged(generation int64, requests Requests, recorded *helmv2.HelmReleaseStatus) bool {
	if generation != o.Desired.Generation {
		return true
	}
	_, unlocking := o.Action.(Unlock)
	return !unlocking && Resumed(o.Action) == 0 && requests.Open(recorded)
}

// failsAgain reports whether an action has failed and the next decision is the same, even if a
// revision was stored. Failures of installs and upgrades lead to a retry or a remediation instead,
// which the next decision delays.
func (o *Outcome) failsAgain(recorded *helmv2.HelmReleaseStatus) bool {
	last := Latest(recorded.History)
	switch a := o.Action.(type) {
	case Uninstall:
		return o.Err != nil && (!a.Remediation || last != nil)
	case Rollback:
		return o.Err != nil && (a.Hold || !o.Oversized())
	case CorrectDrift:
		return o.Err != nil || len(o.Failed) > 0
	case Test:
		return o.Err != nil && a.Request == "" && last != nil && !Tested(last)
	case Install, Upgrade, Unlock, Recheck, FailBake:
	}
	return false
}

// retryUnstored returns the delay after an action that failed before it stored a revision. It is the
// same while the release is stalled. An action whose record is too large is not repeated; the release
// is requeued after the interval, as any stalled one.
func retryUnstored(o *Outcome) Retry {
	if o.Oversized() {
		return Interval(o.Desired.Policy.Interval)
	}
	var p ActionPolicy
	switch o.Action.(type) {
	case Install:
		p = o.Desired.Policy.Install
	case Upgrade:
		p = o.Desired.Policy.Upgrade
	case Test, Rollback, Uninstall, Unlock, Recheck, FailBake, CorrectDrift:
	}
	if p.Retry {
		return Interval(p.RetryInterval)
	}
	return Backoff()
}
