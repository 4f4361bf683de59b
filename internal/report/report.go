// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package report turns what a visit found out into what users see: the next
// status, the events and the moment of the next visit. All three come from the
// same values, so they cannot disagree.
//
// It is pure, and it decides nothing: which rule applied and what came of an
// attempt is given. It is the only room that writes conditions, and it never
// reads one to find out what state a release is in.
package report

import (
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
	status := visited(hr)
	c := conditionsOf(hr, &status, hr.Generation, now)
	c.set(helmv2.ConditionReady, metav1.ConditionFalse, blocked.Reason, blocked.Message)
	if blocked.Terminal {
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, blocked.Reason, blocked.Message)
		c.remove(helmv2.ConditionReconciling)
		status.ObservedGeneration = hr.Generation
	} else {
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, blocked.Message)
		c.remove(helmv2.ConditionStalled)
	}
	status.Conditions = c.list
	r := Report{Status: status, Retry: blocked.Retry}
	if !blocked.Quiet && c.changed(helmv2.ConditionReady) {
		r.Events = append(r.Events, warning(blocked.Reason, blocked.Message, nil))
	}
	return r
}

// Settled reports a decision that does not change the world. A Finalize needs
// no report: the object is about to go.
func Settled(hr *helmv2.HelmRelease, d release.Decision, in release.Input) Report {
	switch a := d.Action.(type) {
	case release.Settle:
		if in.Desired.Suspended {
			return suspended(hr)
		}
		return inSync(hr, in)
	case release.Wait:
		return waiting(hr, d, a, in.Now)
	case release.Stall:
		return stalled(hr, d, a, in)
	case release.Adopt:
		return adopted(hr, in)
	case release.Install, release.Upgrade, release.Uninstall, release.Unlock, release.Finalize:
	}
	return Report{Status: hr.Status}
}

// suspended leaves every condition as it was: there is none for suspension, and
// what they say about the release still holds.
func suspended(hr *helmv2.HelmRelease) Report {
	status := visited(hr)
	status.ObservedGeneration = hr.Generation
	return Report{Status: status, Retry: release.Never()}
}

func inSync(hr *helmv2.HelmRelease, in release.Input) Report {
	status := answered(hr)
	status.ObservedGeneration = hr.Generation
	status.History = release.Truncate(refresh(status.History, in.Observed.Revisions))
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	released(&c, release.Latest(status.History))
	c.readyAsReleased()
	c.remove(helmv2.ConditionReconciling, helmv2.ConditionStalled)
	status.Conditions = c.list
	return Report{Status: status, Retry: release.Interval(in.Desired.Policy.Interval)}
}

// waiting changes nothing while an attempt of ours runs: its announcement says
// all there is to say, and its end wakes us.
func waiting(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, now time.Time) Report {
	if a.After == 0 {
		status := *hr.Status.DeepCopy()
		acknowledge(hr, &status)
		return Report{Status: status, Retry: release.Never()}
	}
	status := answered(hr)
	c := conditionsOf(hr, &status, hr.Generation, now)
	c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, d.Why)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, d.Why)
	c.remove(helmv2.ConditionStalled)
	status.Conditions = c.list
	return Report{Status: status, Retry: release.After(a.After)}
}

// stalled keeps looking at the interval: somebody may mend the release by hand.
func stalled(hr *helmv2.HelmRelease, d release.Decision, a release.Stall, in release.Input) Report {
	status := answered(hr)
	status.ObservedGeneration = hr.Generation
	status.History = refresh(status.History, in.Observed.Revisions)
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	if newest := in.Observed.Newest(); newest != nil && newest.Status == helmv2.StatusFailed {
		stillFailed(&c, release.Latest(status.History), newest)
		c.readyAsReleased()
	} else {
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, a.Reason, d.Why)
	}
	c.set(helmv2.ConditionStalled, metav1.ConditionTrue, a.Reason, d.Why)
	c.remove(helmv2.ConditionReconciling)
	status.Conditions = c.list
	return Report{Status: status, Retry: release.Interval(in.Desired.Policy.Interval)}
}

// adopted writes down what an earlier process did and could not record.
func adopted(hr *helmv2.HelmRelease, in release.Input) Report {
	status := *hr.Status.DeepCopy()
	var made []release.Revision
	last := release.Latest(status.History)
	for _, r := range in.Observed.Revisions {
		if r.Owner == in.Desired.UID && (last == nil || r.Version > last.Version) {
			made = append(made, r)
		}
	}
	status.History = merge(refresh(status.History, in.Observed.Revisions), made, lastMaker(in.Desired.UID, &status))
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	newest := in.Observed.Newest()
	if newest.Status == helmv2.StatusFailed {
		releaseFailed(&c, release.Latest(status.History), newest)
		if !newest.Interrupted {
			count(&status, status.LastAttemptedReleaseAction)
		}
	} else {
		released(&c, release.Latest(status.History))
	}
	c.readyAsReleased()
	c.remove(helmv2.ConditionStalled)
	status.Conditions = c.list
	if !newest.Interrupted {
		// As near as Helm's record comes to when the attempt began and ended.
		took := max(0, newest.Touched().Sub(newest.LastDeployed))
		status.LastAttemptedReleaseActionDuration = &metav1.Duration{Duration: took}
	}
	acknowledge(hr, &status)
	return Report{Status: status, Retry: release.Now()}
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
