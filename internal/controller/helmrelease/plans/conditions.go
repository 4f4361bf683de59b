// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/release"
)

// withConditions returns the status of a plan with the conditions Ready and Approved, and Applied=False
// if the plan was not applied yet. failed is the error of computing it; empty if there was none.
func withConditions(plan *v1alpha1.ReleasePlan, found *release.Plan, at metav1.Time) v1alpha1.ReleasePlanStatus {
	status := *plan.Status.DeepCopy()
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: at, ObservedGeneration: plan.Generation,
		})
	}
	switch {
	case found.Failed != "":
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonFailed, found.Failed)
	case found.Refused != "" || found.Denied != "":
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRefused, cmp.Or(found.Denied, found.Refused))
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonComputed, found.Summary)
	}
	switch {
	case found.Failed == "" && found.Rejected == found.Digest:
		set(v1alpha1.ConditionApproved, metav1.ConditionFalse, v1alpha1.ReasonRejected, "spec.rejected is the digest of this plan")
	case found.Failed == "" && found.Approved == found.Digest:
		set(v1alpha1.ConditionApproved, metav1.ConditionTrue, v1alpha1.ReasonApproved, "approved by "+cmp.Or(found.ApprovedBy, "an unnamed user"))
	case found.Failed == "" && found.Needs == "":
		set(v1alpha1.ConditionApproved, metav1.ConditionTrue, v1alpha1.ReasonNotRequired, "no policy demands approval")
	default:
		set(v1alpha1.ConditionApproved, metav1.ConditionFalse, v1alpha1.ReasonAwaitingApproval, cmp.Or(found.Needs, "the plan is not computed"))
	}
	if status.AppliedAt == nil && meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionApplied) == nil {
		set(v1alpha1.ConditionApplied, metav1.ConditionFalse, v1alpha1.ReasonPending, "the plan was not applied")
	}
	return status
}

// withOutcome returns the status of a plan after the action that carried it out. Of a plan that failed,
// it may be carried out again.
func withOutcome(plan *v1alpha1.ReleasePlan, made *release.Revision, at metav1.Time) v1alpha1.ReleasePlanStatus {
	status := *plan.Status.DeepCopy()
	is, reason, message := metav1.ConditionTrue, v1alpha1.ReasonApplied, fmt.Sprintf("revision %d was made of this plan", made.Version)
	if !made.Worked() {
		is, reason, message = metav1.ConditionFalse, v1alpha1.ReasonFailed, fmt.Sprintf("revision %d, which was made of this plan, failed", made.Version)
	} else {
		status.AppliedAt = &at
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionApplied, Status: is, Reason: reason, Message: message, LastTransitionTime: at, ObservedGeneration: plan.Generation,
	})
	return status
}

// madeOf returns the revision that was made of a plan, and has ended; nil if there is none.
func madeOf(digest string, revisions []release.Revision) *release.Revision {
	i := slices.IndexFunc(revisions, func(r release.Revision) bool {
		return digest != "" && r.Plan == digest && !r.Pending()
	})
	if i < 0 {
		return nil
	}
	return &revisions[i]
}
