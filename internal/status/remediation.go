// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// finishRollback records the return to an earlier revision.
func finishRollback(r *Report, c *conditions, o release.Outcome, a release.Rollback) {
	status := &r.Status
	target := snapshotOf(status.History, a.Version)
	if o.Err == nil {
		undone(status, o.Desired)
	}
	status.History = merge(status.History, recordable(o), maker{o.Desired.UID, helmv2.ActionRollback, ""})
	if o.Inventory != nil {
		status.Inventory = inventory(o.Inventory)
	}
	if o.EndedEarly() {
		cutOff(r, c, o)
		return
	}
	if o.Oversized() {
		refused(r, c, o)
		return
	}
	if o.Err == nil {
		c.rolledBack(target)
		r.Events = append(r.Events, normal(helmv2.ReasonRollbackSucceeded, rolledBackMessage(target), withLogs(rollbackMetadata(target, o.Desired), containerLogs(o.HookLogs))))
	} else {
		message := led(o, rollbackFailedMessage(target, o.Err.Error()))
		status.Failures++
		c.set(helmv2.ConditionRemediated, metav1.ConditionFalse, helmv2.ReasonRollbackFailed, message)
		r.Retry = release.Backoff()
		r.Events = append(r.Events, warning(helmv2.ReasonRollbackFailed, message, withDiagnosis(rollbackMetadata(target, o.Desired), o)))
	}
	c.remediated(status, o.Desired)
}

// undone says of a revision that worked, but for its tests, that its manifests are
// not there any more. A release that never had anything changed in them is spared
// the upgrade that this may cost.
func undone(status *helmv2.HelmReleaseStatus, want release.Desired) {
	last := release.Latest(status.History)
	changed := want.Rendering != (release.Rendering{}) || status.ObservedPostRenderersDigest+status.ObservedCommonMetadataDigest != ""
	if last != nil && last.Status == helmv2.StatusDeployed && changed {
		unrendered(status)
	}
}

// rolledBack says that a failed release was returned to an earlier revision.
func (c *conditions) rolledBack(target *helmv2.Snapshot) {
	c.set(helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonRollbackSucceeded, rolledBackMessage(target))
}

// remedied returns the reason and the message of Ready after a remediation. The message begins
// with the failure, for the remedy does not say why there had to be one. The reason is that of the
// failure where the remedy is to uninstall, and that of the remedy otherwise, as with
// helm-controller.
func remedied(remedy, failure metav1.Condition) (reason, message string) {
	reason, message = remedy.Reason, remedy.Message
	if failure.Type == "" {
		return reason, message
	}
	message = failure.Message + "; " + remedy.Message
	switch remedy.Reason {
	case helmv2.ReasonUninstallSucceeded:
		return failure.Reason, failure.Message
	case helmv2.ReasonUninstallFailed:
		return failure.Reason, message
	}
	return reason, message
}

// remediated makes Ready say what the remedy came to. Whether there will be
// another attempt the next visit decides.
func (c *conditions) remediated(status *helmv2.HelmReleaseStatus, want release.Desired) {
	c.summarize(status, want)
	ready := c.get(helmv2.ConditionReady)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, ready.Message)
}

// finishRemediation records the removal of a release that failed. Its snapshot
// stays: it tells what was removed, and why.
func finishRemediation(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	status.History = renew(status.History, o.Revisions)
	last := release.Latest(status.History)
	if o.EndedEarly() {
		cutOff(r, c, o)
		return
	}
	if last == nil {
		return
	}
	if o.Err == nil {
		// Without a kept history storage has nothing left to show this.
		last.Status, last.Action = helmv2.StatusUninstalled, helmv2.ActionUninstallRemediation
		if last.Deleted.IsZero() {
			last.Deleted = seconds(o.Ended)
		}
		message := remediatedMessage(last)
		c.set(helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonUninstallSucceeded, message)
		r.Events = append(r.Events, normal(helmv2.ReasonUninstallSucceeded, message, snapshotMetadata(last)))
	} else {
		message := led(o, remediationFailedMessage(last, o.Err.Error()))
		status.Failures++
		c.set(helmv2.ConditionRemediated, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, message)
		r.Retry = release.Backoff()
		r.Events = append(r.Events, warning(helmv2.ReasonUninstallFailed, message, withDiagnosis(snapshotMetadata(last), o)))
	}
	c.remediated(status, o.Desired)
}

// finishHeal records another look at a revision that had failed by waiting. A
// look that found it not ready is one more failure of the action that made it.
func finishHeal(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	status.History = renew(status.History, o.Revisions)
	last := release.Latest(status.History)
	if o.EndedEarly() {
		cutOff(r, c, o)
		return
	}
	if last == nil {
		return
	}
	if o.Err == nil {
		status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
		rendered(status, o.Desired)
		released(c, last)
		c.tested(last, o.Desired)
		c.summarize(status, o.Desired)
		c.remove(helmv2.ConditionReconciling)
		done := c.get(helmv2.ConditionReleased)
		r.Events = append(r.Events, normal(done.Reason, done.Message, snapshotMetadata(last)))
		return
	}
	action, _ := failedAction(last)
	reason, message := failedMessage(action, o.Desired, o.Err)
	message = led(o, message)
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, reason, message)
	c.summarize(status, o.Desired)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	count(status, status.LastAttemptedReleaseAction)
	r.Events = append(r.Events, warning(reason, message, withDiagnosis(snapshotMetadata(last), o)))
}

// snapshotOf returns the snapshot of a revision. One that is not recorded is
// known by its number alone.
func snapshotOf(history helmv2.Snapshots, version int) *helmv2.Snapshot {
	for _, s := range history {
		if s != nil && s.Version == version {
			return s
		}
	}
	s := &helmv2.Snapshot{Version: version}
	if last := release.Latest(history); last != nil {
		s.Namespace, s.Name = last.Namespace, last.Name
	}
	return s
}

// rollbackMetadata names what is there again, and the values of the attempt that
// was rolled back.
func rollbackMetadata(target *helmv2.Snapshot, want release.Desired) map[string]string {
	return metadata(target.ChartVersion, want.ConfigDigest, target.AppVersion, target.OCIDigest)
}
