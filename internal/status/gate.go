// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// isGated reports whether condition Ready states that a policy holds an action.
func isGated(ready metav1.Condition) bool {
	switch ready.Reason {
	case helmv2.ReasonPolicyUnavailable, helmv2.ReasonPolicyRefused, helmv2.ReasonFrozen, helmv2.ReasonAwaitingWindow, helmv2.ReasonAwaitingApproval, helmv2.ReasonAwaitingRollout, helmv2.ReasonRejected, helmv2.ReasonPlanFailed:
		return true
	}
	return false
}

// gated reports an action that a policy holds, with the reason of conditions, and the pause until the
// policy is read again. The installed release does not change, and nothing counts as failed. Ready is
// Unknown: the desired state is not deployed, and that is no failure. If the plan was rejected, Ready is
// False and the release stalled, since nothing follows until an input changes.
func gated(hr *helmv2.HelmRelease, d release.Decision, reason string, after time.Duration, in release.Input) Report {
	status := withRequestsHandled(hr)
	status.ObservedGeneration = hr.Generation
	status.History = updateSuperseded(status.History, in.Observed.Revisions)
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	text := gateMessage(d, reason, after, in.Observed.Plan)
	is, doing, others, report := metav1.ConditionUnknown, helmv2.ConditionReconciling, helmv2.ConditionStalled, normal
	if reason == helmv2.ReasonRejected {
		is, doing, others, report = metav1.ConditionFalse, helmv2.ConditionStalled, helmv2.ConditionReconciling, warning
	}
	c.set(helmv2.ConditionReady, is, reason, text)
	c.set(doing, metav1.ConditionTrue, reason, text)
	c.remove(others, helmv2.ConditionLocked)
	var r Report
	if in.Desired.Hold.Active && !in.Desired.Deleted {
		// The rollback is held.
		c.set(helmv2.ConditionRolledBack, is, reason, text)
	}
	status.Conditions = c.list
	r.Status = status
	if c.changed(helmv2.ConditionReady) {
		r.Events = append(r.Events, report(reason, text, desiredMetadata(in.Desired)))
	}
	return r
}

// gateMessage returns the message of an action that a policy holds.
func gateMessage(d release.Decision, reason string, after time.Duration, plan *release.Plan) string {
	kind, f := message.AwaitingApproval, message.Facts{Cause: d.Why, Interval: message.Duration(after)}
	if plan != nil && plan.Digest != "" && (reason == helmv2.ReasonAwaitingApproval || reason == helmv2.ReasonRejected) {
		// Another plan with equal numbers of changes is news.
		f.Details = "Plan " + plan.Digest
	}
	switch {
	case reason == helmv2.ReasonFrozen:
		kind = message.Frozen
	case reason == helmv2.ReasonAwaitingWindow:
		kind = message.AwaitingWindow
	case reason == helmv2.ReasonAwaitingRollout:
		kind = message.AwaitingRollout
	case reason == helmv2.ReasonPolicyUnavailable:
		kind = message.PolicyUnavailable
	case reason == helmv2.ReasonRejected:
		kind = message.ChangeRejected
	case plan != nil && plan.Refused != "":
		kind = message.ChangeRefused
	}
	return message.Of(kind, f).String()
}

// keepGate keeps Reconciling or Stalled while Ready reports that a policy holds an action or
// refuses the chart. Other actions end meanwhile.
func (c *conditions) keepGate() {
	ready := c.get(helmv2.ConditionReady)
	switch {
	case ready.Status == metav1.ConditionFalse && (ready.Reason == helmv2.ReasonPolicyRefused || ready.Reason == helmv2.ReasonRejected):
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, ready.Reason, ready.Message)
		c.remove(helmv2.ConditionReconciling)
	case ready.Status == metav1.ConditionUnknown && isGated(ready):
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, ready.Reason, ready.Message)
	}
}

// PlanAssessed returns the status of a plan with the conditions Ready and Approved, and Applied=False
// if the plan was not applied yet. at is the time of the transitions.
func PlanAssessed(plan *v1alpha1.ReleasePlan, found *release.Plan, at metav1.Time) v1alpha1.ReleasePlanStatus {
	status := *plan.Status.DeepCopy()
	set := func(kind string, is metav1.ConditionStatus, reason, text string) {
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: text, LastTransitionTime: at, ObservedGeneration: plan.Generation,
		})
	}
	switch {
	case found.Failed != "":
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonFailed, planMessage(message.PlanFailed, found.Failed))
	case found.Refused != "" || found.Denied != "":
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRefused, planMessage(message.PlanRefused, cmp.Or(found.Denied, found.Refused)))
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonComputed, found.Summary)
	}
	switch {
	case found.Failed == "" && found.Rejected == found.Digest:
		set(v1alpha1.ConditionApproved, metav1.ConditionFalse, v1alpha1.ReasonRejected, planMessage(message.PlanRejected, "rejected"+found.Rejection))
	case found.Failed == "" && found.Approved == found.Digest:
		set(v1alpha1.ConditionApproved, metav1.ConditionTrue, v1alpha1.ReasonApproved, "approved by "+cmp.Or(found.ApprovedBy, "an unnamed user"))
	case found.Failed == "" && found.Needs == "":
		set(v1alpha1.ConditionApproved, metav1.ConditionTrue, v1alpha1.ReasonNotRequired, "no policy demands approval")
	default:
		set(v1alpha1.ConditionApproved, metav1.ConditionFalse, v1alpha1.ReasonAwaitingApproval, planMessage(message.PlanAwaitsApproval, cmp.Or(found.Needs, "the plan is not computed")))
	}
	if status.AppliedAt == nil && apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionApplied) == nil {
		set(v1alpha1.ConditionApplied, metav1.ConditionFalse, v1alpha1.ReasonPending, planMessage(message.PlanNotApplied, ""))
	}
	return status
}

func planMessage(kind message.Kind, cause string) string {
	return message.Of(kind, message.Facts{Cause: cause}).String()
}

// PlanCarriedOut returns the status of a plan after the action that carried it out. Of a plan that failed,
// it may be carried out again. The override of the plan is used by then.
func PlanCarriedOut(plan *v1alpha1.ReleasePlan, made *release.Revision, at metav1.Time) v1alpha1.ReleasePlanStatus {
	status := *plan.Status.DeepCopy()
	if o := plan.Spec.Override; o != nil && o.Digest == status.Digest {
		status.Overridden = o.DeepCopy()
	}
	is, reason, text := metav1.ConditionTrue, v1alpha1.ReasonApplied, fmt.Sprintf("revision %d was made of this plan", made.Version)
	if !made.Worked() {
		is, reason = metav1.ConditionFalse, v1alpha1.ReasonFailed
		text = message.Of(message.PlanActionFailed, message.Facts{Revision: strconv.Itoa(made.Version)}).String()
	} else {
		status.AppliedAt = &at
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionApplied, Status: is, Reason: reason, Message: text, LastTransitionTime: at, ObservedGeneration: plan.Generation,
	})
	return status
}
