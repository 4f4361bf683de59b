// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// Started announces an action. The returned status always differs from the present one. Its write
// with a resourceVersion therefore fails if another process has announced an action since the
// HelmRelease was read.
func Started(hr *helmv2.HelmRelease, d release.Decision, want release.Desired, now time.Time) Report {
	status := *hr.Status.DeepCopy()
	status.StorageNamespace = storageNamespace(d.HelmAction(), want)
	c := conditionsOf(hr, &status, hr.Generation, now)
	var r Report
	message := runningMessage(&c, d.HelmAction(), &status, want)
	switch a := d.HelmAction().(type) {
	case release.Install:
		c.clearDrifted()
		announce(&status, d.HelmAction(), want)
		status.History = nil
		startRelease(&c, message, repeatsRejected(status, want, helmv2.ActionInstall), a.Insist)
	case release.Upgrade:
		c.clearDrifted()
		announce(&status, d.HelmAction(), want)
		startRelease(&c, message, repeatsRejected(status, want, helmv2.ActionUpgrade), a.Insist)
	case release.Test:
		if a.Request == "" {
			recordAttempt(&status, want)
		}
	case release.Rollback:
		if a.Hold {
			holdConditions{&c, want.Hold}.start(&status, a, want, message)
		} else {
			recordAttempt(&status, want)
		}
	case release.Recheck, release.FailBake:
		recordAttempt(&status, want)
	case release.Uninstall:
		if a.Remediation {
			recordAttempt(&status, want)
		}
		c.setReinstalling(a, release.Latest(status.History))
		if isGated(c.get(helmv2.ConditionReady)) {
			c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
		}
	case release.CorrectDrift:
		r.Events = startCorrection(&c, release.Latest(status.History), a, want)
	case release.Unlock:
	}
	if text := overriddenMessage(d.HelmAction()); text != "" {
		r.Events = append(r.Events, normal(helmv2.EventReasonPolicyOverridden, text, desiredMetadata(want)))
	}
	if c.index(helmv2.ConditionReady) < 0 {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
	}
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, message)
	c.touch(helmv2.ConditionReconciling)
	c.setCause(release.Cause{})
	c.remove(helmv2.ConditionStalled, helmv2.ConditionLocked)
	r.Events = append(r.Events, holdConditions{&c, want.Hold}.follow()...)
	status.Conditions = c.list
	r.Status = status
	return r
}

// storageNamespace returns the storage namespace of the release of an action. For a release whose
// target has moved, that is the old one.
func storageNamespace(a release.HelmAction, want release.Desired) string {
	switch a := a.(type) {
	case release.Uninstall:
		return a.Target.StorageNamespace
	case release.Unlock:
		return a.Target.StorageNamespace
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return want.Target.StorageNamespace
}

// announce records an install or upgrade that starts or is resumed.
func announce(status *helmv2.HelmReleaseStatus, a release.HelmAction, want release.Desired) {
	forced := want.Requests.ForceRequested(status) && release.Resumed(a) == 0
	recordAttempt(status, want)
	if forced {
		// A new install or upgrade that is announced while a force is requested is that force.
		status.LastHandledForceAt = want.Requests.Force
	}
	status.LastAttemptedReleaseAction = helmv2.ReleaseAction(release.Name(a))
	if forced || !release.Rejected(*status) {
		status.LastAttemptedReleaseActionDuration = nil
	}
}

// repeatsRejected reports whether an announced action repeats one that was rejected and has no
// retries left.
func repeatsRejected(status helmv2.HelmReleaseStatus, want release.Desired, action helmv2.ReleaseAction) bool {
	return release.Rejected(status) && want.Policy.RetriesExhausted(status, action)
}

// startRelease sets the conditions of an install or upgrade that starts. A failure in Ready stays
// while the same action is retried for the same reason, since Ready would change twice at each
// retry otherwise. A denial stays in Released while the action insists: if the process dies, the
// next one insists, too.
func startRelease(c *conditions, message string, again, insists bool) {
	old := c.get(helmv2.ConditionReady)
	again = again && (old.Reason == helmv2.ReasonInstallFailed || old.Reason == helmv2.ReasonUpgradeFailed) ||
		insists && old.Reason == helmv2.ReasonDryRunDenied
	if !insists && c.get(helmv2.ConditionReleased).Reason == helmv2.ReasonDryRunDenied {
		c.remove(helmv2.ConditionReleased)
	}
	if !c.keepInterrupted() && (!again && old.Reason != helmv2.ReasonObjectsOwned || old.ObservedGeneration != c.generation) {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, message)
	}
	c.remove(helmv2.ConditionTestSuccess, helmv2.ConditionRemediated, helmv2.ConditionBaking)
}

// Finished reports an action that has ended.
func Finished(hr *helmv2.HelmRelease, o release.Outcome, now time.Time) Report {
	// The attempt may have made the first revision that holds claims.
	o.Desired.Policy = o.Desired.Policy.KeepingClaims(o.Revisions)
	r := Report{Status: *hr.Status.DeepCopy()}
	c := conditionsOf(hr, &r.Status, o.Desired.Generation, now)
	c.cause = causeOf(o)
	switch a := o.Action.(type) {
	case release.Install:
		finishRelease(&r, &c, o, helmv2.ActionInstall)
	case release.Upgrade:
		if a.TakeOver && o.Stored() {
			// A take-over that stored no revision has replaced nothing.
			r.Status.History = takenOver(o)
		}
		finishRelease(&r, &c, o, helmv2.ActionUpgrade)
	case release.Test:
		if a.Request != "" {
			finishRequestedTest(&r, &c, o)
		} else {
			finishTest(&r, &c, o)
		}
	case release.Rollback:
		if a.Hold {
			finishHold(&r, &c, o, a)
		} else {
			finishRollback(&r, &c, o, a)
		}
	case release.Recheck:
		finishRecheck(&r, &c, o)
	case release.FailBake:
		finishBake(&r, &c, o)
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
	}
	c.keepGate()
	c.setCause(c.cause)
	r.Events = append(r.Events, furtherEvents(o)...)
	aboutEnded(o.Action, r.Events)
	r.Status.Conditions = c.list
	acknowledge(hr, &r.Status)
	r.Retry = release.RetryAfter(&o, hr.Generation, release.RequestsOf(hr.Annotations), &r.Status)
	return r
}

// furtherEvents returns the events about objects and the record, which follow the event of the
// result.
func furtherEvents(o release.Outcome) []Event {
	var all []Event
	if o.Unlisted != nil && o.Interrupted == nil {
		message := fmt.Sprintf("The objects of the release cannot be listed: %s", o.Unlisted)
		all = append(all, warning(helmv2.EventReasonInventoryBuildFailed, message, desiredMetadata(o.Desired)))
	}
	if len(o.Adopted) > 0 {
		all = append(all, normal(helmv2.EventReasonObjectsAdopted, adoptedMessage(o), desiredMetadata(o.Desired)))
	}
	if len(o.Kept) > 0 && !o.EndedEarly() {
		all = append(all, warning(helmv2.EventReasonObjectsKept, "Helm "+release.Name(o.Action)+" "+keptMessage(o), desiredMetadata(o.Desired)))
	}
	if len(o.Skipped) > 0 && !o.EndedEarly() {
		all = append(all, warning(helmv2.EventReasonObjectsSkipped, skippedMessage(o), desiredMetadata(o.Desired)))
	}
	if o.Outdated {
		message := fmt.Sprintf("The wait for readiness after the %s was cancelled, because the desired state has changed", release.Name(o.Action))
		all = append(all, normal(helmv2.ReasonHealthCheckCanceled, message, desiredMetadata(o.Desired)))
	}
	return append(all, nearlyTooLarge(o)...)
}

// takenOver returns the history of a release that was taken over: the revision that the upgrade
// found, as a rollback target, and none if that was never deployed.
func takenOver(o release.Outcome) helmv2.Snapshots {
	if o.TakenOver == nil {
		return nil
	}
	return helmv2.Snapshots{snapshot(*o.TakenOver)}
}

// finishRelease reports the end of an install or upgrade.
func finishRelease(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	status := &r.Status
	if !o.EndedEarly() && !o.Deferred() {
		status.LastAttemptedReleaseActionDuration = release.AttemptDuration(o.Ended.Sub(o.Started), o.Err != nil && !o.Stored())
	}
	before := replacedSnapshot(status.History, action)
	status.History = merge(status.History, recordable(o), origin{o.Desired.UID, action, o.Desired.Chart.OCIDigest})
	if o.Inventory != nil {
		status.Inventory = inventory(o.Inventory)
	}
	switch {
	case o.Err == nil:
		recordRendering(status, o.Desired)
		last := release.Latest(status.History)
		if policyOf(action, o.Desired).Retry {
			release.ResetFailures(status)
		}
		setReleased(c, last)
		c.setTested(last, o.Desired)
		c.setNotDrifted(o)
		c.summarize(status, o.Desired)
		c.remove(helmv2.ConditionReconciling, helmv2.ConditionStalled)
		c.startBaking(o)
		status.ObservedGeneration = o.Desired.Generation
		done := c.get(helmv2.ConditionReleased)
		message := changedMessage(done.Message, o, before, last)
		r.Events = append(r.Events, normal(done.Reason, message, withLogs(snapshotMetadata(last), o.HookLogs, nil)))
	case o.EndedEarly():
		finishInterrupted(r, c, o)
	case o.Oversized():
		finishTooLarge(r, c, o)
	case len(o.Owners) > 0:
		awaitOwners(r, c, o, action)
	case o.Deferred():
		deferRelease(r, c, o, action)
	default:
		failRelease(r, c, o, action)
	}
}

// replacedSnapshot returns the snapshot of the revision that an install or upgrade replaces: as
// with Helm, the deployed one, or else the newest. It returns nil for an install.
func replacedSnapshot(history helmv2.Snapshots, action helmv2.ReleaseAction) *helmv2.Snapshot {
	if action == helmv2.ActionInstall {
		return nil
	}
	for _, s := range history {
		if s != nil && s.Status == helmv2.StatusDeployed {
			return s
		}
	}
	return release.Latest(history)
}

// failRelease reports an install or upgrade that failed. A rejected one, which stored no revision,
// is never remediated, and is repeated even after its retries are exhausted. Those repetitions are
// not counted. The event of a rejection that equals the last one is repeated, which raises its
// count and is not notified again.
func failRelease(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	status := &r.Status
	c.remove(helmv2.ConditionDrifted)
	reason, what := failedMessage(action, o.Desired, o.Err)
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, reason, what)
	counted := o.Stored() || !o.Desired.Policy.RetriesExhausted(*status, action)
	again := !o.Stored() && status.Failures > 0 && !c.changed(helmv2.ConditionReleased)
	if counted {
		countFailure(status, action)
	}
	c.summarize(status, o.Desired)
	text := explain(c, c.get(helmv2.ConditionReleased), status, o.Desired)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	if !o.Stored() && o.Desired.Policy.RetriesExhausted(*status, action) {
		c.remove(helmv2.ConditionReconciling)
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded,
			c.exceeded(release.RetriesExceededMessage(action, release.Failures(*status, action))))
		if again {
			// Stalled was removed while the action ran: it is the same failure since Ready changed.
			c.list[c.index(helmv2.ConditionStalled)].LastTransitionTime = c.get(helmv2.ConditionReady).LastTransitionTime
		}
		status.ObservedGeneration = o.Desired.Generation
	}
	event := warning(reason, explainResult(c, c.get(helmv2.ConditionReleased), status, o.Desired, true), withDiagnosis(desiredMetadata(o.Desired), o))
	event.Repeated = again
	r.Events = append(r.Events, event)
}

// awaitOwners reports an action that waits until other releases no longer own its objects. The
// installed release does not change.
func awaitOwners(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	facts := c.facts(message.SubjectOf(action, o.Desired.Chart.Name, o.Desired.Chart.Version), awaitOwnersMessage(action, o.Desired, o.Err))
	text := message.Of(message.ObjectsOwned, facts).String()
	c.set(helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonObjectsOwned, text)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	if c.changed(helmv2.ConditionReady) {
		r.Events = append(r.Events, warning(helmv2.ReasonObjectsOwned, text, desiredMetadata(o.Desired)))
	}
}

// deferRelease reports an action that dry runs have denied, and that is tried nevertheless. Released
// records that, see Denied.
func deferRelease(r *Report, c *conditions, o release.Outcome, action helmv2.ReleaseAction) {
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonDryRunDenied, deniedMessage(action, o.Desired, o.Err))
	c.summarize(&r.Status, o.Desired)
	text := c.get(helmv2.ConditionReady).Message
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	if c.changed(helmv2.ConditionReleased) {
		r.Events = append(r.Events, warning(helmv2.ReasonDryRunDenied, text, withDiagnosis(desiredMetadata(o.Desired), o)))
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
		event := changedMessage(message, o, nil, nil)
		if a, _ := o.Action.(release.Uninstall); a.Reinstall {
			message = reinstalledMessage(last)
			event = join(message, "; ", changesOf(o, nil, nil))
		}
		c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUninstallSucceeded, message)
		c.copyReleased("", "")
		r.Events = append(r.Events, normal(helmv2.ReasonUninstallSucceeded, event, withLogs(snapshotMetadata(last), o.HookLogs, nil)))
		clearRelease(status)
		c.remove(helmv2.ConditionTestSuccess, helmv2.ConditionRemediated)
		return
	}
	status.History = update(status.History, o.Revisions)
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	status.Failures++
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, uninstallFailedMessage(last, o.Err))
	text := c.copyReleased(message.UninstallFailed, subjectOfUninstall(last))
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	r.Events = append(r.Events, warning(helmv2.ReasonUninstallFailed, text, withDiagnosis(snapshotMetadata(last), o)))
}

func subjectOfUninstall(last *helmv2.Snapshot) string {
	if last == nil {
		return "Uninstall"
	}
	return message.SubjectOf(helmv2.ActionUninstall, last.ChartName, last.ChartVersion)
}

func finishUnlock(r *Report, c *conditions, o release.Outcome) {
	unlock, _ := o.Action.(release.Unlock)
	if o.Err == nil && len(o.Revisions) > 0 {
		by := lastOrigin(o.Desired.UID, &r.Status)
		if unlock.Status == helmv2.StatusPendingRollback {
			by.action, by.ociDigest = helmv2.ActionRollback, ""
		}
		r.Status.History = merge(r.Status.History, o.Revisions, by)
		if c.keepInterrupted() {
			// The revision is pending because of the interruption, which has been reported.
			return
		}
		what := unlockedMessage(&o.Revisions[0], unlock.Status)
		c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonPendingRelease, what)
		text := c.copyReleased(message.Unlocked, "")
		r.Events = append(r.Events, normal(helmv2.ReasonPendingRelease, text, revisionMetadata(&o.Revisions[0])))
		return
	}
	if o.Err == nil {
		return
	}
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	r.Status.Failures++
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonPendingRelease, unlockFailedMessage(unlock, o.Err))
	text := c.copyReleased(message.UnlockFailed, "")
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	r.Events = append(r.Events, warning(helmv2.ReasonPendingRelease, text, nil))
}
