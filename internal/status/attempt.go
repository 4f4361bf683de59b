// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Started announces an action that is about to begin. The status it returns
// always differs from the present one, so that writing it with a
// resourceVersion proves that nobody else acted on the same read.
func Started(hr *helmv2.HelmRelease, d release.Decision, want release.Desired, now time.Time) Report {
	status := *hr.Status.DeepCopy()
	status.StorageNamespace = storageNamespace(d.Action, want)
	c := conditionsOf(hr, &status, hr.Generation, now)
	message := runningMessage(d.Action)
	var r Report
	switch a := d.Action.(type) {
	case release.Install:
		c.undecide()
		announce(&status, want, helmv2.ActionInstall)
		status.History = nil
		startRelease(&c, message, repeatsRejected(status, want, helmv2.ActionInstall))
	case release.Upgrade:
		c.undecide()
		announce(&status, want, helmv2.ActionUpgrade)
		startRelease(&c, message, repeatsRejected(status, want, helmv2.ActionUpgrade))
	case release.Test, release.Rollback, release.Recheck:
		attempted(&status, want)
	case release.Uninstall:
		if a.Remediation {
			attempted(&status, want)
		}
	case release.CorrectDrift:
		r.Events = startCorrection(&c, release.Latest(status.History), a)
	case release.Unlock, release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	if c.index(helmv2.ConditionReady) < 0 {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
	}
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, message)
	c.touch(helmv2.ConditionReconciling)
	c.remove(helmv2.ConditionStalled, helmv2.ConditionSuspended, helmv2.ConditionHeld)
	status.Conditions = c.list
	r.Status = status
	return r
}

// storageNamespace is where the action finds its release: that of a release that
// has moved is still where it was.
func storageNamespace(a release.Action, want release.Desired) string {
	switch a := a.(type) {
	case release.Uninstall:
		return a.Target.StorageNamespace
	case release.Unlock:
		return a.Target.StorageNamespace
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Recheck, release.CorrectDrift,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	return want.Target.StorageNamespace
}

func announce(status *helmv2.HelmReleaseStatus, want release.Desired, action helmv2.ReleaseAction) {
	forced := want.Requests.ForceRequested(status)
	attempted(status, want)
	if forced {
		// Whatever announces an install or upgrade while a force is asked for is
		// that force.
		status.LastHandledForceAt = want.Requests.Force
	}
	status.LastAttemptedReleaseAction = action
	if forced || !release.Rejected(*status) {
		status.LastAttemptedReleaseActionDuration = nil
	}
}

// attempted writes down what a decision was made for, which is what failures are
// counted against.
func attempted(status *helmv2.HelmReleaseStatus, want release.Desired) {
	*status = release.ResetCounters(*status, want)
	if want.Requests.Reset != "" {
		status.LastHandledResetAt = want.Requests.Reset
	}
	status.LastAttemptedGeneration = want.Generation
	status.LastAttemptedRevision = want.Chart.Version
	status.LastAttemptedRevisionDigest = want.Chart.OCIDigest
	status.LastAttemptedConfigDigest = want.ConfigDigest
	// Both were superseded long ago and are only ever cleared.
	status.LastAttemptedValuesChecksum, status.LastReleaseRevision = "", 0 //nolint:staticcheck // deprecated, and cleared for that reason
}

// rendered writes down what was changed in the manifests of a revision that
// worked. It holds until the next one works, or until it is rolled back.
func rendered(status *helmv2.HelmReleaseStatus, want release.Desired) {
	status.ObservedPostRenderersDigest = want.Rendering.PostRenderers
	status.ObservedCommonMetadataDigest = want.Rendering.CommonMetadata
}

// unrendered writes down that it is not known what was changed in the manifests of
// the newest revision, so that what is wanted is made in any case.
func unrendered(status *helmv2.HelmReleaseStatus) {
	const unknown = "unknown"
	status.ObservedPostRenderersDigest, status.ObservedCommonMetadataDigest = unknown, unknown
}

// repeatsRejected reports whether an announced action repeats one that was rejected and has no retries
// left.
func repeatsRejected(status helmv2.HelmReleaseStatus, want release.Desired, action helmv2.ReleaseAction) bool {
	return release.Rejected(status) && want.Policy.RetriesExhausted(status, action)
}

func startRelease(c *conditions, message string, again bool) {
	// Where it is tried whether what was in the way still is, to take that back at every
	// try would be news each time.
	old := c.get(helmv2.ConditionReady)
	again = again && (old.Reason == helmv2.ReasonInstallFailed || old.Reason == helmv2.ReasonUpgradeFailed)
	if !c.stillInterrupted() && (!again && old.Reason != helmv2.ReasonObjectsOwned || old.ObservedGeneration != c.generation) {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
	}
	c.remove(helmv2.ConditionTestSuccess, helmv2.ConditionRemediated)
}

// Finished records an attempt that has ended.
func Finished(hr *helmv2.HelmRelease, o release.Outcome, now time.Time) Report {
	r := Report{Status: *hr.Status.DeepCopy(), Retry: release.Now()}
	c := conditionsOf(hr, &r.Status, o.Desired.Generation, now)
	switch a := o.Action.(type) {
	case release.Install:
		finishRelease(&r, &c, o, helmv2.ActionInstall)
	case release.Upgrade:
		if a.TakeOver && o.Stored() {
			// Only now: a take-over that Helm refused to begin has replaced nothing.
			r.Status.History = takenOver(o)
		}
		finishRelease(&r, &c, o, helmv2.ActionUpgrade)
	case release.Test:
		finishTest(&r, &c, o)
	case release.Rollback:
		finishRollback(&r, &c, o, a)
	case release.Recheck:
		finishHeal(&r, &c, o)
	case release.CorrectDrift:
		finishCorrection(&r, &c, o, a)
	case release.Uninstall:
		if a.Remediation {
			finishRemediation(&r, &c, o)
		} else {
			finishUninstall(&r, &c, o)
		}
	case release.Unlock:
		finishUnlock(&r, &c, o)
	case release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	if o.Unlisted != nil && o.Interrupted == nil {
		message := fmt.Sprintf("The objects of the release cannot be listed: %s", o.Unlisted)
		r.Events = append(r.Events, warning(helmv2.EventReasonInventoryBuildFailed, message, desiredMetadata(o.Desired)))
	}
	if len(o.Adopted) > 0 {
		r.Events = append(r.Events, normal(helmv2.EventReasonObjectsAdopted, adoptedMessage(o), desiredMetadata(o.Desired)))
	}
	if o.Outdated {
		message := fmt.Sprintf("Waiting for the %s to become ready was given up: something newer is wanted", release.Name(o.Action))
		r.Events = append(r.Events, normal(helmv2.ReasonHealthCheckCanceled, message, desiredMetadata(o.Desired)))
	}
	r.Events = append(r.Events, nearlyTooLarge(o)...)
	r.Status.Conditions = c.list
	acknowledge(hr, &r.Status)
	switch {
	case o.Cancelled:
	case o.Interrupted != nil:
		r.Retry = retryInterrupted(hr, o, &r.Status)
	case o.Err != nil && !o.Stored() && !askedForMore(hr, o, &r.Status):
		// The same would fail the same way; something else need not wait.
		r.Retry = retryUnstored(o)
	}
	return r
}

// retryUnstored says when to repeat what failed before it changed anything, also while the release
// is stalled. What is too large is not repeated, but looked at as whatever has stalled is.
func retryUnstored(o release.Outcome) release.Retry {
	if o.Oversized() {
		return release.Interval(o.Desired.Policy.Interval)
	}
	var p release.ActionPolicy
	switch o.Action.(type) {
	case release.Install:
		p = o.Desired.Policy.Install
	case release.Upgrade:
		p = o.Desired.Policy.Upgrade
	case release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.CorrectDrift,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	if p.Retry {
		return release.Interval(p.RetryInterval)
	}
	return release.Backoff()
}

// takenOver is the history of a release that somebody else began: the revision
// that was found, which can be returned to if it ever worked.
func takenOver(o release.Outcome) helmv2.Snapshots {
	if o.TakenOver == nil {
		return nil
	}
	return helmv2.Snapshots{snapshot(*o.TakenOver)}
}

// askedForMore reports whether the next visit has another task than an attempt
// had that failed. An unlock comes before any other, whatever is asked for.
func askedForMore(hr *helmv2.HelmRelease, o release.Outcome, status *helmv2.HelmReleaseStatus) bool {
	if hr.Generation != o.Desired.Generation {
		return true
	}
	_, unlocking := o.Action.(release.Unlock)
	return !unlocking && release.RequestsOf(hr.Annotations).Open(status)
}

func finishRelease(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	status := &r.Status
	if !o.EndedEarly() {
		status.LastAttemptedReleaseActionDuration = release.AttemptDuration(o.Ended.Sub(o.Started), o.Err != nil && !o.Stored())
	}
	status.History = merge(status.History, recordable(o), maker{o.Desired.UID, action, o.Desired.Chart.OCIDigest})
	if o.Inventory != nil {
		status.Inventory = inventory(o.Inventory)
	}
	switch {
	case o.Err == nil:
		rendered(status, o.Desired)
		last := release.Latest(status.History)
		if policyOf(action, o.Desired).Retry {
			status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
		}
		released(c, last)
		c.tested(last, o.Desired)
		c.applied(o)
		c.summarize(status, o.Desired)
		c.remove(helmv2.ConditionReconciling, helmv2.ConditionStalled)
		status.ObservedGeneration = o.Desired.Generation
		done := c.get(helmv2.ConditionReleased)
		r.Events = append(r.Events, normal(done.Reason, done.Message, withLogs(snapshotMetadata(last), containerLogs(o.HookLogs))))
	case o.EndedEarly():
		cutOff(r, c, o)
	case o.Oversized():
		refused(r, c, o)
	case len(o.Owners) > 0:
		awaitOwners(r, c, o, action)
	default:
		failRelease(r, c, o, action)
	}
}

// failRelease records an install or upgrade that failed. One that was rejected is never
// remediated, and repeated for as long as it is: what is beyond the retries is not counted, and
// makes an event only if it failed in another way than before.
func failRelease(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	status := &r.Status
	c.remove(helmv2.ConditionDrifted)
	reason, message := failedMessage(action, o.Desired, o.Err)
	message = led(o, message)
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, reason, message)
	c.summarize(status, o.Desired)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	news := o.Stored() || !o.Desired.Policy.RetriesExhausted(*status, action)
	if news {
		count(status, action)
	}
	if !o.Stored() && o.Desired.Policy.RetriesExhausted(*status, action) {
		c.remove(helmv2.ConditionReconciling)
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded,
			release.RetriesExceededMessage(action, release.Failures(*status, action)))
		status.ObservedGeneration = o.Desired.Generation
	}
	if news || c.anew(helmv2.ConditionReleased) {
		r.Events = append(r.Events, warning(reason, message, withDiagnosis(desiredMetadata(o.Desired), o)))
	}
}

// awaitOwners says that the action waits until others let go of objects. What is
// installed is as it was.
func awaitOwners(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	message := awaitOwnersMessage(action, o.Desired, o.Err)
	c.set(helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonObjectsOwned, message)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	if c.news() {
		r.Events = append(r.Events, warning(helmv2.ReasonObjectsOwned, message, desiredMetadata(o.Desired)))
	}
}

func policyOf(action helmv2.ReleaseAction, want release.Desired) release.ActionPolicy {
	if action == helmv2.ActionInstall {
		return want.Policy.Install
	}
	return want.Policy.Upgrade
}

func finishUninstall(r *Report, c *conditions, o release.Outcome) {
	status, last := &r.Status, release.Latest(r.Status.History)
	if o.Err == nil {
		c.remove(helmv2.ConditionDrifted)
		message := uninstalledMessage(last)
		c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUninstallSucceeded, message)
		c.asReleased()
		r.Events = append(r.Events, normal(helmv2.ReasonUninstallSucceeded, message, withLogs(snapshotMetadata(last), containerLogs(o.HookLogs))))
		drop(status)
		c.remove(helmv2.ConditionTestSuccess, helmv2.ConditionRemediated)
		return
	}
	status.History = renew(status.History, o.Revisions)
	if o.EndedEarly() {
		cutOff(r, c, o)
		return
	}
	message := led(o, uninstallFailedMessage(last, o.Err))
	status.Failures++
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, message)
	c.asReleased()
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	// Even an uninstall that stored something is tried again with back-off: the
	// next visit would decide the same, at once, and for ever.
	r.Retry = release.Backoff()
	r.Events = append(r.Events, warning(helmv2.ReasonUninstallFailed, message, withDiagnosis(snapshotMetadata(last), o)))
}

func finishUnlock(r *Report, c *conditions, o release.Outcome) {
	unlock, _ := o.Action.(release.Unlock)
	if o.Err == nil && len(o.Revisions) > 0 {
		by := lastMaker(o.Desired.UID, &r.Status)
		if unlock.Status == helmv2.StatusPendingRollback {
			by.action, by.ociDigest = helmv2.ActionRollback, ""
		}
		r.Status.History = merge(r.Status.History, o.Revisions, by)
		if c.stillInterrupted() {
			// The revision is pending because of the interruption, which has been reported.
			return
		}
		message := unlockedMessage(&o.Revisions[0], unlock.Status)
		c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonPendingRelease, message)
		c.asReleased()
		r.Events = append(r.Events, normal(helmv2.ReasonPendingRelease, message, revisionMetadata(&o.Revisions[0])))
		return
	}
	if o.Err == nil {
		return
	}
	if o.EndedEarly() {
		cutOff(r, c, o)
		return
	}
	message := unlockFailedMessage(unlock, o.Err)
	r.Status.Failures++
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonPendingRelease, message)
	c.asReleased()
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	r.Events = append(r.Events, warning(helmv2.ReasonPendingRelease, message, nil))
}
