// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// holdConditions are the conditions of a release that should be held, or was.
type holdConditions struct {
	*conditions

	hold release.Hold
}

// reportHold reports a decision of rule RolledBack that runs no action.
func reportHold(hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	switch a := d.Action.(type) {
	case release.Settle:
		return held(hr, in)
	case release.Stall:
		return holdStalled(hr, d, a, in)
	case release.Wait:
		if !a.Brief {
			return holdRetried(hr, in)
		}
		return Report{Status: hr.Status}
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall, release.Unlock,
		release.Recheck, release.FailBake, release.CorrectDrift, release.ComputePlan, release.Finalize, release.Adopt, release.Forget:
	}
	return Report{Status: hr.Status}
}

// held reports a release that is held at a revision. Earlier failures do not matter: when the hold
// ends, the desired state is tried anew.
func held(hr *helmv2.HelmRelease, in release.Input) Report {
	status, newest := withRequestsHandled(hr), in.Observed.Newest()
	release.ResetFailures(&status)
	status.ObservedGeneration, status.LastAttemptedGeneration = hr.Generation, hr.Generation
	status.History = release.Truncate(updateSuperseded(status.History, in.Observed.Revisions))
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	before := c.get(helmv2.ConditionRolledBack)
	text := heldMessage(newest, in.Desired.Hold)
	c.set(helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack, withKept(text, heldAt(newest, in.Desired.Hold), before))
	var r Report
	if before.Status != metav1.ConditionTrue {
		r.Events = append(r.Events, normal(helmv2.ReasonRolledBack, text, revisionMetadata(newest)))
	}
	c.remove(helmv2.ConditionRemediated, helmv2.ConditionReconciling, helmv2.ConditionStalled, helmv2.ConditionLocked)
	holdConditions{&c, in.Desired.Hold}.setTests(&status, in)
	tests := c.get(helmv2.ConditionTestSuccess)
	switch other := release.RequestsOther(in); {
	case other != "":
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonRolledBack, message.Of(message.HeldBack, message.Facts{What: text, Cause: wanted(in, other)}).String())
	case tests.Status == metav1.ConditionFalse && in.Desired.Policy.Tests && !release.IgnoresTests(in.Desired, status):
		c.set(helmv2.ConditionReady, tests.Status, tests.Reason, tests.Message)
	default:
		c.set(helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonRolledBack, text+". The spec wants this state.")
	}
	reportDrift(&r, &c, snapshot(*newest), in)
	status.Conditions = c.list
	r.Status = status
	return r
}

// setTests sets TestSuccess of a release that is held. The revision of a rollback is tested on
// request only.
func (c holdConditions) setTests(status *helmv2.HelmReleaseStatus, in release.Input) {
	last, newest := release.Latest(status.History), in.Observed.Newest()
	if c.setRequestedTests(last, in); c.requested {
		return
	}
	if last == nil || last.Version != newest.Version || !release.Tested(last) {
		last = nil
	}
	c.setTested(last, in.Desired)
}

// holdStalled reports a hold that cannot start, or whose rollback has no retries left.
func holdStalled(hr *helmv2.HelmRelease, d release.Decision, a release.Stall, in release.Input) Report {
	status := withRequestsHandled(hr)
	status.ObservedGeneration = hr.Generation
	status.History = updateSuperseded(status.History, in.Observed.Revisions)
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	var r Report
	if a.Reason == helmv2.ReasonRollbackRefused {
		text := message.Of(message.RollbackRefused, message.Facts{Cause: d.Why}).String()
		c.set(helmv2.ConditionRolledBack, metav1.ConditionFalse, a.Reason, text)
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, a.Reason, text)
		if c.changed(helmv2.ConditionRolledBack) {
			r.Events = append(r.Events, warning(a.Reason, text, nil))
		}
		if d.State == release.StateRolledBack {
			reportDrift(&r, &c, snapshot(*in.Observed.Newest()), in)
		}
	} else {
		holdConditions{&c, in.Desired.Hold}.keepFailed(&status, in.Observed.Newest(), in.Desired.Policy.Upgrade)
	}
	c.set(helmv2.ConditionStalled, metav1.ConditionTrue, a.Reason, holdConditions{&c, in.Desired.Hold}.stallMessage(d.Why, a))
	c.remove(helmv2.ConditionReconciling, helmv2.ConditionLocked)
	status.Conditions = c.list
	r.Status = status
	return r
}

// stallMessage returns the message of Stalled. RolledBack has the cause.
func (c holdConditions) stallMessage(why string, a release.Stall) string {
	if a.Reason == helmv2.ReasonRollbackRefused {
		return c.get(helmv2.ConditionRolledBack).Message
	}
	return c.exceeded(why)
}

// holdRetried reports a failed rollback of a hold that is retried later.
func holdRetried(hr *helmv2.HelmRelease, in release.Input) Report {
	status := withRequestsHandled(hr)
	status.ObservedGeneration = hr.Generation
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	holdConditions{&c, in.Desired.Hold}.keepFailed(&status, in.Observed.Newest(), in.Desired.Policy.Upgrade)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, c.get(helmv2.ConditionReady).Message)
	c.remove(helmv2.ConditionStalled, helmv2.ConditionLocked)
	status.Conditions = c.list
	return Report{Status: status}
}

// start announces the rollback of a hold. Failures are counted from its first attempt on.
func (c holdConditions) start(status *helmv2.HelmReleaseStatus, a release.Rollback, want release.Desired, message string) {
	if !a.Again && a.Resume == 0 || want.Requests.ResetRequested(status) {
		release.ResetFailures(status)
	}
	if want.Requests.Reset != "" {
		status.LastHandledResetAt = want.Requests.Reset
	}
	status.LastAttemptedGeneration = want.Generation
	if c.get(helmv2.ConditionRolledBack).Reason == helmv2.ReasonRollbackFailed {
		// The failure stays until the next result, since Ready would change twice at each retry.
		return
	}
	c.set(helmv2.ConditionRolledBack, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
	if !c.keepInterrupted() {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
	}
}

// finishHold reports the end of the rollback of a hold. The next reconciliation compares the revision
// with the spec.
func finishHold(r *Report, c *conditions, o release.Outcome, a release.Rollback) {
	status, before := &r.Status, release.Latest(r.Status.History)
	status.History = merge(status.History, recordable(o), origin{o.Desired.UID, helmv2.ActionRollback, ""})
	if o.Inventory != nil {
		status.Inventory = inventory(o.Inventory)
	}
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	if o.Err == nil {
		release.ResetFailures(status)
		renderingRolledBack(status, o.Desired)
		made := &o.Revisions[0]
		message := join(heldMessage(made, o.Desired.Hold), "; ", keptMessage(o))
		c.set(helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack, message)
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonRolledBack, message)
		c.remove(helmv2.ConditionRemediated, helmv2.ConditionTestSuccess, helmv2.ConditionReconciling)
		message = changedMessage(message, o, before, release.Latest(status.History))
		r.Events = append(r.Events, normal(helmv2.ReasonRolledBack, message, withLogs(revisionMetadata(made), o.HookLogs, nil)))
		return
	}
	if o.Stored() {
		// Otherwise nothing was changed, and the rollback is repeated with back-off.
		status.Failures++
	}
	what := holdFailedMessage(o.Desired.Target, a.Version, o.Err.Error())
	if o.Oversized() {
		what = tooLargeMessage(o)
	}
	text := holdConditions{c, o.Desired.Hold}.setFailed(what, o.Desired.Policy.Upgrade, status.Failures)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	if o.Stored() || c.changed(helmv2.ConditionRolledBack) {
		r.Events = append(r.Events, warning(helmv2.ReasonRollbackFailed, text, withDiagnosis(desiredMetadata(o.Desired), o)))
	}
}

// adopt sets the conditions of a rollback of a hold that was not recorded. If it succeeded, the
// next reconciliation reports the hold.
func (c holdConditions) adopt(status *helmv2.HelmReleaseStatus, newest *release.Revision, p release.ActionPolicy) {
	switch {
	case newest.Status != helmv2.StatusFailed:
		release.ResetFailures(status)
	case !newest.EndedEarly():
		status.Failures++
		c.keepFailed(status, newest, p)
	}
}

// keepFailed reports that the rollback of a hold has failed, with the error in the record of its
// revision. The message of an earlier report is more exact, and stays.
func (c holdConditions) keepFailed(status *helmv2.HelmReleaseStatus, newest *release.Revision, p release.ActionPolicy) {
	if newest.RolledBackTo != c.hold.To {
		return
	}
	what := c.get(helmv2.ConditionRolledBack).Message
	if c.get(helmv2.ConditionRolledBack).Reason != helmv2.ReasonRollbackFailed {
		target := release.Target{Namespace: newest.Namespace, Name: newest.Name}
		what = holdFailedMessage(target, c.hold.To, storedCause(newest))
	}
	c.setFailed(what, p, status.Failures)
}

// setFailed sets RolledBack and Ready, and returns the message of Ready.
func (c holdConditions) setFailed(what string, p release.ActionPolicy, failures int64) string {
	c.set(helmv2.ConditionRolledBack, metav1.ConditionFalse, helmv2.ReasonRollbackFailed, what)
	kind := message.HoldFailed
	switch {
	case p.Retry:
		kind = message.HoldRetried
	case p.Exhausted(failures):
		kind = message.HoldFailedLast
	}
	facts := c.facts(fmt.Sprintf("Rollback to revision %d", c.hold.To), what)
	facts.Again = "Retrying every " + message.Duration(p.RetryInterval)
	text := message.Of(kind, facts).String()
	c.set(helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRollbackFailed, text)
	return text
}

// follow removes RolledBack of a release that should not be held, or reports that the time of the
// hold is over. It returns the event of either.
func (c holdConditions) follow() []Event {
	switch {
	case c.hold.Active:
		return nil
	case c.hold.Ended == "":
		c.remove(helmv2.ConditionRolledBack)
		return nil
	}
	message := "The release follows its spec: " + c.hold.Ended
	c.set(helmv2.ConditionRolledBack, metav1.ConditionFalse, helmv2.ReasonRollbackExpired, message)
	if !c.changed(helmv2.ConditionRolledBack) {
		return nil
	}
	return []Event{normal(helmv2.ReasonRollbackExpired, message, nil)}
}

// withoutHold returns the report of a decision about a release that is not to be held, with the end
// of the hold.
func withoutHold(r Report, hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	if in.Desired.Suspension.Active || !settles(d.Action) {
		return r
	}
	c := conditionsOf(hr, &r.Status, hr.Generation, in.Now)
	r.Events = append(r.Events, holdConditions{&c, in.Desired.Hold}.follow()...)
	r.Status.Conditions = c.list
	return r
}

// settles reports whether the report of an action sets conditions. A wait for a running action, for an
// Operation or for a moment leaves them.
func settles(a release.Action) bool {
	switch a := a.(type) {
	case release.Settle, release.Stall, release.Adopt:
		return true
	case release.Wait:
		return a.After > 0 && !a.Brief && a.For == ""
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall, release.Unlock,
		release.Recheck, release.FailBake, release.CorrectDrift, release.ComputePlan, release.Finalize, release.Forget:
	}
	return false
}

// heldMessage returns the message about a release that is held.
func heldMessage(made *release.Revision, hold release.Hold) string {
	if hold.Note != "" {
		return heldAt(made, hold) + " and held " + hold.Note
	}
	return heldAt(made, hold) + " and held"
}

// wanted returns what the spec of a release that is held requests, whose state differs as given.
func wanted(in release.Input, other string) string {
	newest, chart := in.Observed.Newest(), in.Desired.Chart
	if in.Observed.Unresolved == "" && (newest.ChartName != chart.Name || newest.ChartVersion != chart.Version) {
		return chart.Name + " " + chart.Version
	}
	return "another state: " + other
}

// heldAt returns the common prefix of all messages about a hold. The rest of a message may change.
func heldAt(made *release.Revision, hold release.Hold) string {
	return fmt.Sprintf("Rolled back to revision %d (%s %s, as revision %d)", hold.To, made.ChartName, made.ChartVersion, made.Version)
}

func holdFailedMessage(target release.Target, to int, cause string) string {
	return fmt.Sprintf("Helm rollback of release %s/%s to revision %d failed: %s", target.Namespace, target.Name, to, cause)
}
