// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// finishRollback reports the end of a rollback.
func finishRollback(r *Report, c *conditions, o release.Outcome, a release.Rollback) {
	status := &r.Status
	before, target := release.Latest(status.History), snapshotOf(status.History, a.Version)
	if o.Err == nil {
		renderingRolledBack(status, o.Desired)
	}
	status.History = merge(status.History, recordable(o), origin{o.Desired.UID, helmv2.ActionRollback, ""})
	if o.Inventory != nil {
		status.Inventory = inventory(o.Inventory)
	}
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	if o.Oversized() {
		finishTooLarge(r, c, o)
		return
	}
	if o.Err == nil {
		message := join(rolledBackMessage(target), "; ", keptMessage(o))
		c.set(helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonRollbackSucceeded, message)
		message = changedMessage(message, o, before, release.Latest(status.History))
		r.Events = append(r.Events, normal(helmv2.ReasonRollbackSucceeded, message, withLogs(rollbackMetadata(target, o.Desired), o.HookLogs, nil)))
	} else {
		status.Failures++
		c.set(helmv2.ConditionRemediated, metav1.ConditionFalse, helmv2.ReasonRollbackFailed, rollbackFailedMessage(target, o.Err.Error()))
	}
	text := c.setRemediated(status, o.Desired)
	if o.Err != nil {
		r.Events = append(r.Events, warning(helmv2.ReasonRollbackFailed, text, withDiagnosis(rollbackMetadata(target, o.Desired), o)))
	}
}

// renderingRolledBack records that the manifests of a deployed revision are no longer applied, as
// after a rollback for failed tests. It does nothing for a release without post-renderers and
// common metadata, because the next upgrade would be unnecessary.
func renderingRolledBack(status *helmv2.HelmReleaseStatus, want release.Desired) {
	last := release.Latest(status.History)
	changed := want.Rendering != (release.Rendering{}) || status.ObservedPostRenderersDigest+status.ObservedCommonMetadataDigest != ""
	if last != nil && last.Status == helmv2.StatusDeployed && changed {
		setRenderingUnknown(status)
	}
}

// setRolledBack reports that a failed release was rolled back to an earlier revision.
func (c *conditions) setRolledBack(target *helmv2.Snapshot) {
	c.set(helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonRollbackSucceeded, rolledBackMessage(target))
}

// summaryOf returns a remediation with the reason and the message of Ready. The message starts with the
// failure that was remediated. After an uninstall, the reason is the reason of the failure, otherwise the
// reason of the remediation, as in helm-controller.
func summaryOf(remedy, failure metav1.Condition) metav1.Condition {
	summary := remedy
	if failure.Type == "" {
		return summary
	}
	summary.Message = failure.Message + "\n" + remedy.Message
	switch remedy.Reason {
	case helmv2.ReasonUninstallSucceeded:
		summary.Reason, summary.Message = failure.Reason, failure.Message
	case helmv2.ReasonUninstallFailed:
		summary.Reason = failure.Reason
	}
	return summary
}

// setRemediated sets Ready and Reconciling to the result of a remediation, and returns their message. The
// next reconciliation decides about another attempt.
func (c *conditions) setRemediated(status *helmv2.HelmReleaseStatus, want release.Desired) string {
	c.summarize(status, want)
	ready := c.get(helmv2.ConditionReady)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, ready.Message)
	return ready.Message
}

// finishRemediation reports the uninstall of a failed release. Its snapshot stays in history.
func finishRemediation(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	status.History = update(status.History, o.Revisions)
	last := release.Latest(status.History)
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	if last == nil {
		return
	}
	if o.Err == nil {
		// Unless Helm keeps the history, storage has no record of the uninstall.
		last.Status, last.Action = helmv2.StatusUninstalled, helmv2.ActionUninstallRemediation
		if last.Deleted.IsZero() {
			last.Deleted = seconds(o.Ended)
		}
		message := remediatedMessage(last)
		c.set(helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonUninstallSucceeded, message)
		r.Events = append(r.Events, normal(helmv2.ReasonUninstallSucceeded, changedMessage(message, o, nil, nil), snapshotMetadata(last)))
	} else {
		status.Failures++
		c.set(helmv2.ConditionRemediated, metav1.ConditionFalse, helmv2.ReasonUninstallFailed, remediationFailedMessage(last, o.Err.Error()))
	}
	text := c.setRemediated(status, o.Desired)
	if o.Err != nil {
		r.Events = append(r.Events, warning(helmv2.ReasonUninstallFailed, text, withDiagnosis(snapshotMetadata(last), o)))
	}
}

// finishRecheck reports a recheck of a revision whose objects had not become ready in time. If
// they are not ready again, that is one more failure of the action that created the revision.
func finishRecheck(r *Report, c *conditions, o release.Outcome) {
	status := &r.Status
	status.History = update(status.History, o.Revisions)
	last := release.Latest(status.History)
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	if last == nil {
		return
	}
	if o.Err == nil {
		release.ResetFailures(status)
		recordRendering(status, o.Desired)
		setReleased(c, last)
		c.setTested(last, o.Desired)
		c.summarize(status, o.Desired)
		c.remove(helmv2.ConditionReconciling)
		c.startBaking(o)
		done := c.get(helmv2.ConditionReleased)
		r.Events = append(r.Events, normal(done.Reason, done.Message, snapshotMetadata(last)))
		return
	}
	failRecorded(r, c, o, last)
}

// failRecorded reports that the newest revision has failed, although its action had succeeded or failed
// before: one more failure of that action.
func failRecorded(r *Report, c *conditions, o release.Outcome, last *helmv2.Snapshot) {
	status := &r.Status
	action, _ := failedAction(last)
	reason, what := failedMessage(action, o.Desired, o.Err)
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, reason, what)
	countFailure(status, status.LastAttemptedReleaseAction)
	c.summarize(status, o.Desired)
	text := explain(c, c.get(helmv2.ConditionReleased), status, o.Desired)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, text)
	r.Events = append(r.Events, warning(reason, explainResult(c, c.get(helmv2.ConditionReleased), status, o.Desired, true), withDiagnosis(snapshotMetadata(last), o)))
}

// snapshotOf returns the snapshot of a revision. For a revision that is not recorded, it returns a
// snapshot with only the version and the release.
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

// rollbackMetadata returns the annotations of an event about a rollback: the chart of the target,
// and the values digest of the action that was rolled back.
func rollbackMetadata(target *helmv2.Snapshot, want release.Desired) map[string]string {
	return metadata(target.ChartVersion, want.ConfigDigest, target.AppVersion, target.OCIDigest)
}
