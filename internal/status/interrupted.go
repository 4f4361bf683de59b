// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// longestPause limits the back-off after an outage. An attempt retries its own requests,
// so that a server that answers again is noticed by the next attempt.
const longestPause = time.Minute

// cutOff records an attempt that ended early through no fault of the release. It counts
// nothing, and leaves the conditions about the release as they were. Only the first of
// several interruptions in a row makes an event.
func cutOff(r *Report, c *conditions, o release.Outcome) {
	if o.Cancelled {
		c.cancelled(o.Err)
		return
	}
	first := !c.interrupted()
	message, since := interruptedMessage(o, c.get(helmv2.ConditionReady), c.now)
	c.set(helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInterrupted, message)
	// The beginning of the outage, where the next interruption finds it.
	c.list[c.index(helmv2.ConditionReady)].LastTransitionTime = since
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	if first {
		r.Events = append(r.Events, warning(helmv2.ReasonInterrupted, message, desiredMetadata(o.Desired)))
	}
}

// interruptedMessage returns the message of an interruption and the beginning of the
// outage. If the present Ready condition is about the same server, the outage began when
// that condition says.
func interruptedMessage(o release.Outcome, ready metav1.Condition, now metav1.Time) (message string, since metav1.Time) {
	outage := *o.Interrupted
	since = ready.LastTransitionTime
	if ready.Reason != helmv2.ReasonInterrupted || !strings.HasPrefix(ready.Message, unavailable(outage.Server, since)) {
		if since = seconds(outage.Since); since.IsZero() {
			since = now
		}
	}
	message = unavailable(outage.Server, since)
	if outage.Cause != "" {
		message += ": " + outage.Cause
	}
	return message + "; " + interruptedAction(o) + " was interrupted and will be tried again", since
}

// unavailable begins the message of an interruption.
func unavailable(server string, since metav1.Time) string {
	if server == "" {
		server = "a server"
	}
	return fmt.Sprintf("%s has been unavailable since %s", strings.ToUpper(server[:1])+server[1:], since.UTC().Format(time.RFC3339))
}

// interruptedAction names the action and its release.
func interruptedAction(o release.Outcome) string {
	target := o.Desired.Target
	switch a := o.Action.(type) {
	case release.Install, release.Upgrade:
		return fmt.Sprintf("the '%s' action of release %s/%s with chart %s", release.Name(a),
			target.Namespace, target.Name, chartName(o.Desired.Chart.Name, o.Desired.Chart.Version))
	case release.Uninstall:
		target = a.Target
	case release.Unlock:
		target = a.Target
	case release.Test, release.Rollback, release.Recheck, release.CorrectDrift,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	return fmt.Sprintf("the '%s' action of release %s/%s", release.Name(o.Action), target.Namespace, target.Name)
}

// interrupted reports whether Ready says that the action before was interrupted. Until an
// action ends in another way, that stays so: a change at every retry would be an event at
// every retry.
func (c *conditions) interrupted() bool {
	return c.get(helmv2.ConditionReady).Reason == helmv2.ReasonInterrupted
}

// interrupted reports the same of a status.
func interrupted(status *helmv2.HelmReleaseStatus) bool {
	c := conditions{list: status.Conditions}
	return c.interrupted()
}

// stillInterrupted keeps Ready as it is, for the present generation. It reports false if
// Ready does not say that an action was interrupted.
func (c *conditions) stillInterrupted() bool {
	i := c.index(helmv2.ConditionReady)
	if i < 0 || !c.interrupted() {
		return false
	}
	c.list[i].ObservedGeneration = c.generation
	return true
}

// endOfInterruption returns the event of an action whose end was found in storage.
func (c *conditions) endOfInterruption(rollback bool, last *helmv2.Snapshot) Event {
	done := c.get(helmv2.ConditionReleased)
	if rollback {
		done = c.get(helmv2.ConditionRemediated)
	}
	if done.Status != metav1.ConditionTrue {
		return warning(done.Reason, done.Message, snapshotMetadata(last))
	}
	return normal(done.Reason, done.Message, snapshotMetadata(last))
}

// recordable returns the revisions whose state history can take over. A revision that an
// interruption left pending is none: its final update may have been stored although the
// answer was lost. The next reconciliation reads it, as after a crash, and records it.
func recordable(o release.Outcome) []release.Revision {
	if o.Interrupted == nil {
		return o.Revisions
	}
	return slices.DeleteFunc(slices.Clone(o.Revisions), func(r release.Revision) bool { return r.Pending() })
}

// retryInterrupted says when an interrupted action is tried again: with back-off, unless
// something else is wanted by now.
func retryInterrupted(hr *helmv2.HelmRelease, o release.Outcome, status *helmv2.HelmReleaseStatus) release.Retry {
	if requests := release.RequestsOf(hr.Annotations); !requests.ForceBegun(status) && askedForMore(hr, o, status) {
		return release.Now()
	}
	return release.BackoffUpTo(longestPause)
}
