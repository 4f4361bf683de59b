// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/release"
)

// causeOf returns the cause of a failed action; zero if the action has not failed.
func causeOf(o release.Outcome) release.Cause {
	switch {
	case o.Err == nil:
		return release.Cause{}
	case o.Interrupted != nil && o.Interrupted.Webhook:
		return release.Cause{Code: helmv2.FailureWebhookUnavailable, Text: o.Err.Error()}
	case o.Interrupted != nil:
		return release.Cause{Code: helmv2.ReasonInterrupted, Text: o.Err.Error()}
	case o.EndedEarly():
		return release.Cause{}
	case len(o.Owners) > 0:
		return release.Cause{Code: helmv2.ReasonObjectsOwned, Text: o.Err.Error()}
	case o.Oversized():
		return release.Cause{Code: helmv2.ReasonReleaseTooLarge, Text: sizeOf(o.Record)}
	}
	if d := o.Diagnosis; d != nil {
		return release.Cause{Code: d.Code, Text: d.Summary}
	}
	return release.Cause{Code: cmp.Or(o.Cause.Code, helmv2.FailureFailed), Text: cmp.Or(o.Cause.Text, o.Err.Error())}
}

// maxCause is the maximum length of the message of Failing in bytes.
const maxCause = 1024

// causeOfDecision returns the cause that a decision without an action has found: why the release is
// stalled, if that is not the failure of its last action, or the error in the record of a failed revision
// that is adopted.
func causeOfDecision(d release.Decision, newest *release.Revision) release.Cause {
	if _, adopts := d.Action.(release.Adopt); adopts && newest.Status == helmv2.StatusFailed {
		return release.Cause{Code: helmv2.FailureFailed, Text: storedCause(newest)}
	}
	switch a, _ := d.Action.(release.Stall); a.Reason {
	case helmv2.ReasonContested, helmv2.ReasonPolicyRefused, helmv2.ReasonRejected, helmv2.ReasonRollbackRefused:
		return release.Cause{Code: a.Reason, Text: d.Why}
	}
	return release.Cause{}
}

// causeOfObstacle returns the cause of an obstacle; zero for work of the controller and for regular waits.
func causeOfObstacle(b *release.Blocked) release.Cause {
	switch {
	case b.Failing:
		return release.Cause{Code: helmv2.FailureSource, Text: b.Message}
	case b.Progressing, isRegularWait(b.Reason):
		return release.Cause{}
	}
	return release.Cause{Code: b.Reason, Text: b.Message}
}

// setCause brings condition Failing up to date with Ready. A cause stays while Ready is False, until
// another one is found: it belongs to the last action, and a later reconciliation finds none. A failure
// whose cause is not known, such as one that another process recorded, has the message of Ready.
func (c *conditions) setCause(found release.Cause) {
	ready := c.get(helmv2.ConditionReady)
	switch {
	case ready.Status != metav1.ConditionFalse:
		c.remove(helmv2.ConditionFailing)
	case found != release.Cause{}:
		c.set(helmv2.ConditionFailing, metav1.ConditionTrue, found.Code, brief.Cut(brief.Line(found.Text), maxCause))
	case isRegularWait(ready.Reason):
		c.remove(helmv2.ConditionFailing)
	case c.index(helmv2.ConditionFailing) < 0 && isFailure(ready.Reason):
		c.set(helmv2.ConditionFailing, metav1.ConditionTrue, ready.Reason, c.unknownCause())
	}
}

// unknownCause returns the message of Failing for a failure whose cause is not known: the message of the
// condition with the failure that an action has recorded, or else of Ready.
func (c *conditions) unknownCause() string {
	recorded := c.get(helmv2.ConditionReady)
	for _, kind := range []string{helmv2.ConditionRemediated, helmv2.ConditionReleased, helmv2.ConditionTestSuccess, helmv2.ConditionRolledBack} {
		if r := c.get(kind); r.Status == metav1.ConditionFalse {
			recorded = r
			break
		}
	}
	return brief.Cut(brief.Line(recorded.Message), maxCause)
}

// isFailure reports whether a reason of Ready=False is the failure of an action.
func isFailure(reason string) bool {
	switch reason {
	case helmv2.ReasonInstallFailed, helmv2.ReasonUpgradeFailed, helmv2.ReasonTestFailed, helmv2.ReasonRollbackFailed,
		helmv2.ReasonUninstallFailed, helmv2.ReasonRetriesExceeded, helmv2.ReasonMissingRollbackTarget, helmv2.ReasonClaimsKept:
		return true
	}
	return false
}

// isRegularWait reports whether a reason of Ready=False means that nothing has failed.
func isRegularWait(reason string) bool {
	return reason == helmv2.ReasonDependencyNotReady || reason == helmv2.ReasonSourceNotReady
}
