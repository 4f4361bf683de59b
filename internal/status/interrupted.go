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
	"github.com/pintle-dev/pintle/internal/status/message"
)

// finishInterrupted reports an action that was cancelled or interrupted, which is not a failure of
// the release. It counts no failure, and conditions about the release stay. Of several consecutive
// interruptions, only the first has an event.
func finishInterrupted(r *Report, c *conditions, o release.Outcome) {
	if o.Cancelled {
		c.setCancelled(o.Err)
		return
	}
	if o.ResumedElsewhere() {
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, resumedElsewhereMessage(o))
		return
	}
	if o.PlanVoid {
		message := planVoidMessage(o)
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, message)
		r.Events = append(r.Events, warning(helmv2.EventReasonApprovalVoid, message, desiredMetadata(o.Desired)))
		return
	}
	first := !c.interrupted()
	what, since := outageMessage(*o.Interrupted, c.get(helmv2.ConditionReady), c.now)
	c.cause.Text = what
	message := message.Of(message.Interrupted, message.Facts{
		Cause: what, Remedy: message.Remedy(c.cause.Code), Action: release.Name(o.Action), Interval: message.Duration(release.MaxInterruptedDelay),
	}).String()
	c.set(helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInterrupted, message)
	// The next interruption reads the start of the outage from here.
	c.list[c.index(helmv2.ConditionReady)].LastTransitionTime = since
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, message)
	if first {
		r.Events = append(r.Events, warning(helmv2.ReasonInterrupted, message, desiredMetadata(o.Desired)))
	}
}

// outageMessage returns the message about an outage, and its start. An outage that Ready reports already
// started at the transition time of Ready.
func outageMessage(outage release.Outage, ready metav1.Condition, now metav1.Time) (text string, since metav1.Time) {
	since = ready.LastTransitionTime
	if !sameOutage(ready, outage.Server) {
		if since = seconds(outage.Since); since.IsZero() {
			since = now
		}
	}
	text = unavailableMessage(outage.Server, since)
	if outage.Cause != "" {
		text += ": " + outage.Cause
	}
	return text, since
}

// unavailableMessage returns the prefix of the message of an interruption.
func unavailableMessage(server string, since metav1.Time) string {
	if server == "" {
		server = "a server"
	}
	return fmt.Sprintf("%s has been unavailable since %s", strings.ToUpper(server[:1])+server[1:], since.UTC().Format(time.RFC3339))
}

// resumedElsewhereMessage returns the message about an action that another process has resumed.
func resumedElsewhereMessage(o release.Outcome) string {
	action := interruptedAction(o)
	return strings.ToUpper(action[:1]) + action[1:] + " continues in another process"
}

// planVoidMessage returns the message about an action that would not do what its plan states.
func planVoidMessage(o release.Outcome) string {
	action := interruptedAction(o)
	return strings.ToUpper(action[:1]) + action[1:] + " did not begin, and its approval is void: " + release.ErrPlanVoid.Error()
}

// interruptedAction returns a noun phrase for the action and its release.
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
	case release.Test, release.Rollback, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return fmt.Sprintf("the '%s' action of release %s/%s", release.Name(o.Action), target.Namespace, target.Name)
}

// interrupted reports whether Ready states that the action before was interrupted. Ready stays so
// until an action ends in another way, since each change of Ready can have an event.
func (c *conditions) interrupted() bool {
	return c.get(helmv2.ConditionReady).Reason == helmv2.ReasonInterrupted
}

// interrupted reports the same of a status.
func interrupted(status *helmv2.HelmReleaseStatus) bool {
	c := conditions{list: status.Conditions}
	return c.interrupted()
}

// keepInterrupted sets the generation of Ready and reports true if Ready states that an action was
// interrupted. Otherwise it does nothing and reports false.
func (c *conditions) keepInterrupted() bool {
	i := c.index(helmv2.ConditionReady)
	if i < 0 || !c.interrupted() {
		return false
	}
	c.list[i].ObservedGeneration = c.generation
	return true
}

// endOfInterruption returns the event of an interrupted action whose end was found in storage.
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

// recordable returns the revisions of an outcome that can be recorded in history. A revision that
// the end of the process, an outage or another process has left pending is omitted: the action is
// resumed, or its final update is stored although the answer was lost. The next reconciliation reads
// the revision.
func recordable(o release.Outcome) []release.Revision {
	if !o.EndedEarly() {
		return o.Revisions
	}
	return slices.DeleteFunc(slices.Clone(o.Revisions), func(r release.Revision) bool { return r.Pending() })
}

// setReinstalling reports in Released that an install that ended early is uninstalled and installed
// anew. It does nothing for other uninstalls.
func (c *conditions) setReinstalling(a release.Uninstall, last *helmv2.Snapshot) {
	if a.Reinstall {
		c.set(helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonInstallFailed, reinstallingMessage(last))
	}
}
