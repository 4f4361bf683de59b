// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// ApplyPlan requests a plan of a HelmRelease. Unlike other requests, it has an effect on suspended
// releases, and causes nothing else.
func ApplyPlan(hr *helmv2.HelmRelease, token string) {
	if hr.Annotations == nil {
		hr.Annotations = map[string]string{}
	}
	hr.Annotations[v1alpha1.AnnotationPlan] = token
}

// PlanProgress returns how far the request of a plan is. It has no text when the plan is computed.
func PlanProgress(hr *helmv2.HelmRelease, plan *v1alpha1.ReleasePlan, token string, now time.Time) Progress {
	switch {
	case plan.Status.LastHandledPlanAt == token && apimeta.FindStatusCondition(plan.Status.Conditions, v1alpha1.ConditionReady) != nil:
		return Progress{Done: true}
	case hr.Annotations[v1alpha1.AnnotationPlan] != token:
		return Progress{Done: true, Failed: true, Text: "another request for a plan has replaced this one"}
	}
	none := func(string, string) *helmv2.HelmRelease { return nil }
	r := view.ReleaseOf(hr, none, now)
	unanswered := Progress{Text: "waiting for the controller", Unanswered: true}
	switch r.State {
	case view.Ready, view.Suspended, view.Held, view.Rejected:
		return unanswered
	case view.Waiting:
		if wait := view.WaitOf(hr, &r); wait == view.WaitForApproval || wait == view.WaitForFreeze {
			return unanswered
		}
	case view.Stalled, view.Failing, view.Deleting, view.Progressing:
	}
	if r.Message == "" {
		return unanswered
	}
	return Progress{Text: "waiting for the plan: " + r.Message}
}
