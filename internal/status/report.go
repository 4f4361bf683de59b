// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package status turns what a visit found out into what users see: the next
// status, the events and the moment of the next visit. All three come from the
// same values, so they cannot disagree.
//
// It is pure, and it decides nothing: which rule applied and what came of an
// attempt is given. It is the only room that writes conditions, and it never
// reads one to find out what state a release is in.
package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Report is the end of a visit.
type Report struct {
	// Status to write; equal to the present one if nothing changed.
	Status helmv2.HelmReleaseStatus
	// Events to emit once the status is written.
	Events []Event
	// Retry says when to look again.
	Retry release.Retry
}

// Blocked reports an obstacle. Obstacles of unknown kind are retried with
// back-off.
func Blocked(hr *helmv2.HelmRelease, blocked *release.Blocked, now time.Time) Report {
	if blocked.Brief || blocked.Transient && interrupted(&hr.Status) {
		return Report{Status: hr.Status, Retry: blocked.Retry}
	}
	status := visited(hr)
	if blocked.Progressing {
		// The visit that was asked for is not over.
		status = *hr.Status.DeepCopy()
	}
	c := conditionsOf(hr, &status, hr.Generation, now)
	switch {
	case blocked.Terminal:
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, blocked.Reason, blocked.Message)
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, blocked.Reason, blocked.Message)
		c.remove(helmv2.ConditionReconciling)
		status.ObservedGeneration = hr.Generation
	case blocked.Progressing:
		c.progressing(blocked)
		c.remove(helmv2.ConditionStalled)
	default:
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, blocked.Reason, blocked.Message)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, blocked.Message)
		c.remove(helmv2.ConditionStalled)
	}
	c.remove(helmv2.ConditionSuspended)
	status.Conditions = c.list
	r := Report{Status: status, Retry: blocked.Retry}
	if !blocked.Quiet && c.news() {
		event := warning
		if blocked.Normal {
			event = normal
		}
		r.Events = append(r.Events, event(blocked.Reason, blocked.Message, nil))
	}
	return r
}

// Settled reports a decision that does not change the world. A Finalize needs
// no report: the object is about to go.
func Settled(hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	switch a := d.Action.(type) {
	case release.Settle:
		if in.Desired.Suspended {
			return suspended(hr, in)
		}
		return settled(hr, in)
	case release.Wait:
		if a.For != "" {
			return held(hr, d, a, in)
		}
		if a.Brief {
			return Report{Status: hr.Status, Retry: release.After(a.After)}
		}
		if a.Obstacle != "" {
			return obstructed(hr, d, a, in)
		}
		return waiting(hr, d, a, in)
	case release.Stall:
		return stalled(hr, d, a, in)
	case release.Adopt:
		return adopted(hr, in)
	case release.Forget:
		return forgotten(hr)
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall,
		release.Unlock, release.Recheck, release.CorrectDrift, release.Finalize:
	}
	return Report{Status: hr.Status}
}

// suspended leaves what conditions say about the release: it still holds.
func suspended(hr *helmv2.HelmRelease, in release.Input) Report {
	status := visited(hr)
	status.ObservedGeneration = hr.Generation
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	c.suspension(in.Desired.Suspension)
	c.remove(helmv2.ConditionHeld)
	if Announced(status) != "" {
		// By a process that died. It does not run, and nobody begins it meanwhile.
		c.remove(helmv2.ConditionReconciling)
	}
	if c.index(helmv2.ConditionReady) < 0 {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonSuspended, in.Desired.Suspension.Why)
	}
	status.Conditions = c.list
	r := Report{Status: status, Retry: release.Never()}
	if until := in.Desired.Suspension.Until; !until.IsZero() {
		r.Retry = release.After(until.Sub(in.Now))
	}
	return r
}

// settled is a release that is as it should be, as far as Helm goes.
func settled(hr *helmv2.HelmRelease, in release.Input) Report {
	status := answered(hr)
	attempted(&status, in.Desired)
	rendered(&status, in.Desired)
	status.ObservedGeneration = hr.Generation
	status.History = release.Truncate(refresh(status.History, in.Observed.Revisions))
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	last := release.Latest(status.History)
	released(&c, last)
	c.tested(last, in.Desired)
	c.remove(helmv2.ConditionRemediated, helmv2.ConditionReconciling, helmv2.ConditionStalled, helmv2.ConditionSuspended, helmv2.ConditionHeld)
	c.summarize(&status, in.Desired)
	r := Report{Retry: release.Interval(in.Desired.Policy.Interval)}
	compared(&r, &c, last, in)
	status.Conditions = c.list
	r.Status = status
	return r
}

// waiting changes next to nothing while an attempt of ours runs: its announcement
// says all there is to say, and its end wakes us.
func waiting(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	if a.After == 0 {
		status := *hr.Status.DeepCopy()
		acknowledge(hr, &status)
		if in.Desired.Suspended {
			c := conditionsOf(hr, &status, hr.Generation, in.Now)
			c.suspension(in.Desired.Suspension)
			status.Conditions = c.list
		}
		return Report{Status: status, Retry: release.Never()}
	}
	status := answered(hr)
	if a.Retrying {
		attempted(&status, in.Desired)
		status.ObservedGeneration = hr.Generation
	}
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	retry := release.After(a.After)
	if a.Retrying {
		if newest := in.Observed.Newest(); newest.Status == helmv2.StatusFailed {
			stillFailed(&c, release.Latest(status.History), newest)
		}
		c.summarize(&status, in.Desired)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, d.Why)
		retry = release.Interval(a.After)
	} else {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, d.Why)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, d.Why)
	}
	c.remove(helmv2.ConditionStalled, helmv2.ConditionSuspended, helmv2.ConditionHeld)
	status.Conditions = c.list
	return Report{Status: status, Retry: retry}
}

// obstructed reports an action that is not begun for an obstacle. What is installed
// stays as it is.
func obstructed(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	free := hr.DeepCopy()
	free.Status.Conditions = slices.DeleteFunc(free.Status.Conditions, func(c metav1.Condition) bool { return c.Type == helmv2.ConditionHeld })
	return Blocked(free, &release.Blocked{Reason: a.Obstacle, Message: d.Why, Retry: release.Backoff()}, in.Now)
}

// stalled keeps looking at the interval: somebody may mend the release by hand,
// and its objects may become ready after all.
func stalled(hr *helmv2.HelmRelease, d release.Decision, a release.Stall, in release.Input) Report {
	status := answered(hr)
	status.ObservedGeneration = hr.Generation
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	r := Report{Retry: release.Interval(in.Desired.Policy.Interval)}
	if a.Reason == helmv2.ReasonContested {
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, a.Reason, d.Why)
		if c.news() {
			r.Events = append(r.Events, warning(a.Reason, d.Why, nil))
		}
	} else {
		attempted(&status, in.Desired)
		status.History = refresh(status.History, in.Observed.Revisions)
		last, newest := release.Latest(status.History), in.Observed.Newest()
		switch {
		case a.Reason == helmv2.ReasonReleaseTooLarge:
			// Whatever failed before it: this is what keeps it so.
			c.tooLarge(in.Observed.Oversized.Action, in.Observed.Oversized.Message)
		case newest != nil && newest.Status == helmv2.StatusFailed && !newest.Rollback:
			stillFailed(&c, last, newest)
		}
		c.summarize(&status, in.Desired)
		if c.get(helmv2.ConditionReady).Status != metav1.ConditionFalse {
			// Nothing has failed visibly, but something is in the way.
			c.set(helmv2.ConditionReady, metav1.ConditionFalse, a.Reason, d.Why)
		}
	}
	c.set(helmv2.ConditionStalled, metav1.ConditionTrue, a.Reason, d.Why)
	c.remove(helmv2.ConditionReconciling, helmv2.ConditionSuspended, helmv2.ConditionHeld)
	status.Conditions = c.list
	r.Status = status
	return r
}

// Finalized returns the events of letting a HelmRelease go. What stays behind
// without anybody to look after it deserves a warning.
func Finalized(d release.Decision, in release.Input) []Event {
	last := release.Latest(in.Recorded.History)
	stays := in.Desired.Suspended || in.Desired.Deletion.Orphan || in.Observed.Unreachable != ""
	if last == nil || !stays {
		return nil
	}
	message := fmt.Sprintf("Helm release %s with chart %s and its objects stay behind: %s",
		last.FullReleaseName(), last.VersionedChartName(), d.Why)
	return []Event{warning(helmv2.EventReasonOrphaned, message, snapshotMetadata(last))}
}

// forgotten drops the record of a release that is somebody else's by now. What
// the conditions say the visit that follows says anew.
func forgotten(hr *helmv2.HelmRelease) Report {
	status := *hr.Status.DeepCopy()
	drop(&status)
	return Report{Status: status, Retry: release.Now()}
}

// drop forgets a release: nothing is left that a failure could be counted
// against, or that would have to be looked for.
func drop(status *helmv2.HelmReleaseStatus) {
	status.History, status.Inventory, status.StorageNamespace = nil, nil, ""
	status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
}

// adopted writes down what an earlier process did and could not record.
func adopted(hr *helmv2.HelmRelease, in release.Input) Report {
	status := *hr.Status.DeepCopy()
	newest, by := in.Observed.Newest(), lastMaker(in.Desired.UID, &status)
	if before := release.Latest(status.History); before != nil && before.Version == newest.Version && newest.Status == helmv2.StatusDeployed {
		// It was healed, which ends the row of failures.
		status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
	}
	if newest.Rollback {
		by.action, by.ociDigest = helmv2.ActionRollback, ""
		if newest.Status != helmv2.StatusFailed {
			undone(&status, in.Desired)
		}
	}
	status.History = merge(known(status.History, in), unrecorded(status.History, in), by)
	last := release.Latest(status.History)
	if in.Observed.Inventory != nil {
		status.Inventory = inventory(in.Observed.Inventory)
	}
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	interrupted := c.interrupted()
	switch {
	case newest.Rollback:
		adoptRollback(&c, &status, newest)
	case newest.Status == helmv2.StatusFailed:
		releaseFailed(&c, last, newest)
		if !newest.EndedEarly() {
			count(&status, status.LastAttemptedReleaseAction)
		}
	default:
		released(&c, last)
		c.tested(last, in.Desired)
		if rendered(&status, in.Desired); status.LastAttemptedGeneration != in.Desired.Generation {
			unrendered(&status)
		}
	}
	if !newest.EndedEarly() || !c.stillInterrupted() {
		c.summarize(&status, in.Desired)
	}
	c.remove(helmv2.ConditionStalled, helmv2.ConditionSuspended, helmv2.ConditionHeld)
	status.Conditions = c.list
	if !newest.EndedEarly() && !newest.Rollback {
		// As near as Helm's record comes to when the attempt began and ended.
		took := max(0, newest.LastWritten().Sub(newest.LastDeployed))
		status.LastAttemptedReleaseActionDuration = release.AttemptDuration(took, false)
	}
	acknowledge(hr, &status)
	r := Report{Status: status, Retry: release.Now()}
	if interrupted && !c.interrupted() {
		// The interruption was an event, so that its end is one, too.
		r.Events = append(r.Events, c.endOfInterruption(newest.Rollback, last))
	}
	return r
}

// known is the part of a history that the newest revision follows from. If its
// latest snapshot is not what is stored, a release was taken over; of that one
// the newest revision that worked is kept, to be returned to.
func known(history helmv2.Snapshots, in release.Input) helmv2.Snapshots {
	refreshed := renew(refresh(history, in.Observed.Revisions), in.Observed.Revisions[:1])
	if last := release.Latest(history); last != nil {
		for i := range in.Observed.Revisions {
			r := &in.Observed.Revisions[i]
			if r.Version == last.Version && r.Name == last.Name && r.Namespace == last.Namespace {
				return refreshed
			}
		}
	}
	for _, r := range in.Observed.Revisions[1:] {
		if r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusSuperseded {
			return helmv2.Snapshots{snapshot(r)}
		}
	}
	return refreshed
}

// unrecorded returns the revisions of ours that are newer than a history.
func unrecorded(history helmv2.Snapshots, in release.Input) []release.Revision {
	var made []release.Revision
	last := release.Latest(history)
	for _, r := range in.Observed.Revisions {
		if r.Owner == in.Desired.UID && (last == nil || r.Version > last.Version) {
			made = append(made, r)
		}
	}
	return made
}

// adoptRollback says what came of a rollback. Which revision it returned to is
// the one that would be chosen now, the rollback left aside.
func adoptRollback(c *conditions, status *helmv2.HelmReleaseStatus, newest *release.Revision) {
	older := slices.DeleteFunc(slices.Clone(status.History), func(s *helmv2.Snapshot) bool { return s.Version == newest.Version })
	target := release.Previous(older, true)
	if target == nil {
		target = snapshotOf(status.History, newest.Version)
	}
	switch {
	case newest.Status != helmv2.StatusFailed:
		c.rolledBack(target)
	case !newest.EndedEarly():
		status.Failures++
		c.set(helmv2.ConditionRemediated, metav1.ConditionFalse, helmv2.ReasonRollbackFailed, rollbackFailedMessage(target, newest.Description))
	}
}

// count adds a failure of an action to the counters.
func count(status *helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) {
	status.Failures++
	if action == helmv2.ActionInstall {
		status.InstallFailures++
	}
	if action == helmv2.ActionUpgrade {
		status.UpgradeFailures++
	}
}
