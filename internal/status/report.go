// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// Blocked reports a reconciliation that an obstacle has ended before a decision. An obstacle that
// is neither Terminal nor Progressing is a failure, which is retried according to blocked.Retry.
func Blocked(hr *helmv2.HelmRelease, blocked *release.Blocked, now time.Time) Report {
	if blocked.Brief || blocked.Transient && interrupted(&hr.Status) {
		return Report{Status: hr.Status, Retry: blocked.Retry}
	}
	status := withReconcileHandled(hr)
	if blocked.Progressing {
		// The requested reconciliation has not ended.
		status = *hr.Status.DeepCopy()
	}
	c := conditionsOf(hr, &status, hr.Generation, now)
	text := message.Obstacle(blocked).String()
	switch {
	case blocked.Terminal:
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, blocked.Reason, text)
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, blocked.Reason, text)
		c.remove(helmv2.ConditionReconciling)
		status.ObservedGeneration = hr.Generation
	case blocked.Progressing:
		c.setProgressing(blocked, text)
		c.remove(helmv2.ConditionStalled)
	default:
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, blocked.Reason, text)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
		c.remove(helmv2.ConditionStalled)
	}
	c.setCause(causeOfObstacle(blocked))
	ended := holdConditions{&c, release.HoldOf(hr.Annotations, now)}.follow()
	status.Conditions = c.list
	r := Report{Status: status, Retry: blocked.Retry, Events: ended}
	if !blocked.Quiet && c.changed(helmv2.ConditionReady) {
		event := warning
		if blocked.Normal {
			event = normal
		}
		r.Events = append(r.Events, event(blocked.Reason, text, nil))
	}
	return r
}

// Settled reports a decision that runs no action. Finalize needs no report, because the object is
// about to be removed. For decisions that run an action, the status is the present one.
func Settled(hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	var r Report
	if d.Rule == release.RuleRolledBack {
		r = reportHold(hr, d, in)
	} else {
		r = withoutHold(unheld(hr, d, in), hr, d, in)
	}
	if settles(d.Action) {
		c := conditionsOf(hr, &r.Status, hr.Generation, in.Now)
		c.setCause(causeOfDecision(d, in.Observed.Newest()))
		r.Status.Conditions = c.list
	}
	r.Retry = d.Retry(in)
	return r
}

// unheld reports a decision about a release that is not held, and runs no action.
func unheld(hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	switch a := d.Action.(type) {
	case release.Settle:
		if in.Desired.Suspension.Active {
			return suspended(hr, in)
		}
		return settled(hr, in, time.Time{})
	case release.Wait:
		if !a.Bakes.IsZero() {
			return settled(hr, in, a.Bakes)
		}
		if a.For != "" {
			return waitForOperation(hr, d, a, in)
		}
		if a.Brief {
			return Report{Status: hr.Status}
		}
		if a.Gate != "" {
			return gated(hr, d, a.Gate, a.After, in)
		}
		if a.Obstacle != "" {
			return obstructed(hr, d, a, in)
		}
		return waiting(hr, d, a, in)
	case release.Stall:
		if a.Reason == helmv2.ReasonRejected {
			return gated(hr, d, a.Reason, 0, in)
		}
		return stalled(hr, d, a, in)
	case release.Adopt:
		return adopted(hr, d, in)
	case release.Forget:
		return forgotten(hr)
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall,
		release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift, release.ComputePlan, release.Finalize:
	}
	return Report{Status: hr.Status}
}

// suspended reports a suspended HelmRelease. Conditions about the release remain valid, and stay.
func suspended(hr *helmv2.HelmRelease, in release.Input) Report {
	status := *hr.Status.DeepCopy()
	status.ObservedGeneration = hr.Generation
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	c.remove(helmv2.ConditionLocked)
	if Announced(status) != "" {
		// The process that announced the action has died, so that the action does not run.
		c.remove(helmv2.ConditionReconciling)
	}
	if c.index(helmv2.ConditionReady) < 0 {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonSuspended, in.Desired.Suspension.Why)
	}
	status.Conditions = c.list
	return Report{Status: status}
}

// settled reports a release whose newest revision is the desired one. bakes is when its bake ends; zero if
// it is not watched.
func settled(hr *helmv2.HelmRelease, in release.Input, bakes time.Time) Report {
	status := withRequestsHandled(hr)
	recordAttempt(&status, in.Desired)
	recordRendering(&status, in.Desired)
	status.ObservedGeneration = hr.Generation
	status.History = release.Truncate(updateSuperseded(status.History, in.Observed.Revisions))
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	last := release.Latest(status.History)
	setReleased(&c, last)
	if c.setRequestedTests(last, in); !c.requested {
		c.setTested(last, in.Desired)
	}
	c.remove(helmv2.ConditionRemediated, helmv2.ConditionReconciling, helmv2.ConditionStalled, helmv2.ConditionLocked)
	c.summarize(&status, in.Desired)
	c.setBaking(bakes, in.Desired)
	var r Report
	if bakes.IsZero() && in.Observed.Bake != nil && last != nil {
		r.Events = append(r.Events, bakeSucceeded(last, in.Desired))
	}
	reportDrift(&r, &c, last, in)
	status.Conditions = c.list
	r.Status = status
	return r
}

// waiting reports a release that waits for the end of an action. While an action of this process
// runs (After is zero), the conditions of its announcement stay, and its end triggers the next
// reconciliation.
func waiting(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	if a.After == 0 {
		status := *hr.Status.DeepCopy()
		acknowledge(hr, &status)
		return Report{Status: status}
	}
	status := withRequestsHandled(hr)
	if a.Retrying {
		recordAttempt(&status, in.Desired)
		status.ObservedGeneration = hr.Generation
	}
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	if a.Retrying {
		if newest := in.Observed.Newest(); newest.Status == helmv2.StatusFailed {
			keepReleaseFailed(&c, release.Latest(status.History), newest)
		}
		c.summarize(&status, in.Desired)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, c.get(helmv2.ConditionReady).Message)
	} else {
		text := waitMessage(d, a, in)
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, text)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, text)
	}
	c.remove(helmv2.ConditionStalled, helmv2.ConditionLocked)
	status.Conditions = c.list
	return Report{Status: status}
}

// waitMessage returns the message of a wait for other objects or for another client of Helm.
func waitMessage(d release.Decision, a release.Wait, in release.Input) string {
	f := message.Facts{Cause: d.Why, Interval: message.Duration(a.Limit)}
	if d.Rule == release.RuleAwaitDependents {
		return message.Of(message.AwaitDependents, f).String()
	}
	newest := in.Observed.Newest()
	if newest != nil {
		f.Release = newest.Namespace + "/" + newest.Name
	} else {
		f.What = d.Why
	}
	kind := message.OtherClient
	if newest != nil && newest.Status == helmv2.StatusUninstalling {
		kind = message.OtherUninstall
	}
	return message.Of(kind, f).String()
}

// obstructed reports an action that an obstacle keeps from starting. The installed release does
// not change.
func obstructed(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	unlocked := hr.DeepCopy()
	unlocked.Status.Conditions = slices.DeleteFunc(unlocked.Status.Conditions, func(c metav1.Condition) bool { return c.Type == helmv2.ConditionLocked })
	return Blocked(unlocked, &release.Blocked{Reason: a.Obstacle, Message: d.Why, Retry: d.Retry(in)}, in.Now)
}

// stalled reports a release that is not retried. It is still requeued after the interval: a user
// may repair the release with Helm, and its objects may become ready later.
func stalled(hr *helmv2.HelmRelease, d release.Decision, a release.Stall, in release.Input) Report {
	status := withRequestsHandled(hr)
	status.ObservedGeneration = hr.Generation
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	var r Report
	if a.Reason == helmv2.ReasonContested || a.Reason == helmv2.ReasonPolicyRefused {
		text := stallMessage(&c, d, a)
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, a.Reason, text)
		if c.changed(helmv2.ConditionReady) {
			r.Events = append(r.Events, warning(a.Reason, text, nil))
		}
	} else {
		recordAttempt(&status, in.Desired)
		status.History = updateSuperseded(status.History, in.Observed.Revisions)
		last, newest := release.Latest(status.History), in.Observed.Newest()
		switch {
		case a.Reason == helmv2.ReasonReleaseTooLarge:
			// An earlier failure does not matter: the size is what prevents a new attempt.
			c.setTooLarge(in.Observed.Oversized.Action, in.Observed.Oversized.Message)
		case newest != nil && newest.Status == helmv2.StatusFailed && !newest.Rollback:
			keepReleaseFailed(&c, last, newest)
		}
		c.setRequestedTests(last, in)
		c.summarize(&status, in.Desired)
		if c.get(helmv2.ConditionReady).Status != metav1.ConditionFalse {
			// No failure is recorded, so that Ready has the reason of the stall.
			c.set(helmv2.ConditionReady, metav1.ConditionFalse, a.Reason, stallMessage(&c, d, a))
		}
	}
	c.set(helmv2.ConditionStalled, metav1.ConditionTrue, a.Reason, stallMessage(&c, d, a))
	c.remove(helmv2.ConditionReconciling, helmv2.ConditionLocked)
	status.Conditions = c.list
	r.Status = status
	return r
}

// stallMessage returns the message of Stalled.
func stallMessage(c *conditions, d release.Decision, a release.Stall) string {
	f := message.Facts{Cause: d.Why}
	switch a.Reason {
	case helmv2.ReasonContested:
		return message.Of(message.Contested, f).String()
	case helmv2.ReasonPolicyRefused:
		return message.Of(message.PolicyRefused, f).String()
	case helmv2.ReasonReleaseTooLarge:
		return c.get(helmv2.ConditionReady).Message
	}
	if c.get(helmv2.ConditionReady).Status == metav1.ConditionFalse {
		return c.exceeded(d.Why)
	}
	if a.Reason == helmv2.ReasonMissingRollbackTarget {
		return message.Of(message.NoTargetStalled, f).String()
	}
	return message.Of(message.RetriesExceeded, f).String()
}

// exceeded returns the message of Stalled for a failure that Ready reports: the message of Ready, and the
// words of helm-controller below.
func (c *conditions) exceeded(why string) string {
	return c.get(helmv2.ConditionReady).Message + "\n" + why
}

// Finalized returns the events of the removal of a finalizer: a warning if the Helm release and its
// objects remain in the cluster, where a controller no longer manages them.
func Finalized(d release.Decision, in release.Input) []Event {
	last := release.Latest(in.Recorded.History)
	if last == nil || d.State == release.StateAbsent {
		return nil
	}
	message := fmt.Sprintf("Helm release %s with chart %s and its objects stay behind: %s",
		last.FullReleaseName(), last.VersionedChartName(), d.Why)
	return []Event{warning(helmv2.EventReasonOrphaned, message, snapshotMetadata(last))}
}

// forgotten removes the history of a release that belongs to another owner now. The next
// reconciliation updates the conditions.
func forgotten(hr *helmv2.HelmRelease) Report {
	status := *hr.Status.DeepCopy()
	clearRelease(&status)
	return Report{Status: status}
}

// adopted records revisions that an earlier process has created and could not record.
func adopted(hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	status := *hr.Status.DeepCopy()
	newest, by := in.Observed.Newest(), lastOrigin(in.Desired.UID, &status)
	if before := release.Latest(status.History); before != nil && before.Version == newest.Version && newest.Status == helmv2.StatusDeployed {
		// A recheck found the revision ready, which ends the series of failures.
		release.ResetFailures(&status)
	}
	if newest.Rollback {
		by.action, by.ociDigest = helmv2.ActionRollback, ""
		if newest.Status != helmv2.StatusFailed {
			renderingRolledBack(&status, in.Desired)
		}
	}
	status.History = merge(knownHistory(status.History, in), unrecordedRevisions(status.History, in), by)
	last := release.Latest(status.History)
	if in.Observed.Inventory != nil {
		status.Inventory = inventory(in.Observed.Inventory)
	}
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	c.cause = causeOfDecision(d, newest)
	interrupted := c.interrupted()
	switch {
	case newest.RolledBackTo > 0:
		holdConditions{&c, in.Desired.Hold}.adopt(&status, newest, in.Desired.Policy.Upgrade)
	case newest.Rollback:
		adoptRollback(&c, &status, newest)
	case newest.Status == helmv2.StatusFailed:
		setReleaseFailed(&c, last, newest)
		if !newest.EndedEarly() {
			countFailure(&status, status.LastAttemptedReleaseAction)
		}
	default:
		setReleased(&c, last)
		c.setTested(last, in.Desired)
		if recordRendering(&status, in.Desired); status.LastAttemptedGeneration != in.Desired.Generation {
			setRenderingUnknown(&status)
		}
	}
	if newest.RolledBackTo == 0 && (!newest.EndedEarly() || !c.keepInterrupted()) {
		c.summarize(&status, in.Desired)
	}
	c.setBaking(adoptedBake(in), in.Desired)
	c.remove(helmv2.ConditionStalled, helmv2.ConditionLocked)
	status.Conditions = c.list
	if !newest.EndedEarly() && !newest.Rollback {
		// Helm's record has no better times of the start and the end of the action.
		took := max(0, newest.LastWritten().Sub(newest.LastDeployed))
		status.LastAttemptedReleaseActionDuration = release.AttemptDuration(took, false)
	}
	acknowledge(hr, &status)
	r := Report{Status: status}
	if interrupted && !c.interrupted() {
		// The interruption had an event, and so has its end.
		r.Events = append(r.Events, c.endOfInterruption(newest.Rollback, last))
	}
	return r
}

// adoptRollback sets the conditions of a rollback that was not recorded. Its target is the
// revision that a rollback would have without the revision of this one.
func adoptRollback(c *conditions, status *helmv2.HelmReleaseStatus, newest *release.Revision) {
	older := slices.DeleteFunc(slices.Clone(status.History), func(s *helmv2.Snapshot) bool { return s.Version == newest.Version })
	target := release.Previous(older, true)
	if target == nil {
		target = snapshotOf(status.History, newest.Version)
	}
	switch {
	case newest.Status != helmv2.StatusFailed:
		c.setRolledBack(target)
	case !newest.EndedEarly():
		status.Failures++
		c.set(helmv2.ConditionRemediated, metav1.ConditionFalse, helmv2.ReasonRollbackFailed, rollbackFailedMessage(target, newest.Description))
	}
}

// waitForOperation sets Locked, with the Operation that Helm waits for. Other conditions about the
// release stay. An action that is still announced does not run, because its process has died. The
// announcement is removed, because the Operation may wait for its end.
func waitForOperation(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	status := *hr.Status.DeepCopy()
	acknowledge(hr, &status)
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	kind := message.OperationRunning
	if a.For == helmv2.ReasonOperationWaiting {
		kind = message.OperationWaiting
	}
	text := message.Of(kind, message.Facts{Cause: d.Why}).String()
	c.set(helmv2.ConditionLocked, metav1.ConditionTrue, a.For, text)
	if c.index(helmv2.ConditionReady) < 0 {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, text)
	}
	if Announced(status) != "" || hr.Status.ObservedGeneration != hr.Generation {
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
		c.remove(helmv2.ConditionStalled)
	}
	status.Conditions = c.list
	return Report{Status: status}
}
