// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestWith: a suspension and its end have one event each, also across a restart, and only the
// annotation has a condition.
func TestWith(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	bySpec := release.Suspension{Active: true, BySpec: true, Why: "spec.suspend is set"}
	byAnnotation := release.Suspension{Active: true, Why: "annotation pintle.dev/suspend: x"}
	longer := byAnnotation
	longer.Why, longer.Until = longer.Why+" (until 2026-01-01T12:00:00Z)", end
	expired := release.Suspension{Why: "annotation pintle.dev/suspend: x", Over: end}
	for name, tc := range map[string]struct {
		// before is the suspension in the condition, processed whether the spec was, and bySpec the
		// memory of the process.
		before     release.Suspension
		processed  bool
		bySpec     *bool
		suspension release.Suspension
		event      string
		condition  metav1.ConditionStatus
	}{
		"Nothing":                   {processed: true},
		"NothingKnown":              {processed: true, bySpec: new(false)},
		"Spec":                      {suspension: bySpec, bySpec: new(false), processed: true, event: "Normal Suspended"},
		"SpecAfterStart":            {suspension: bySpec, event: "Normal Suspended"},
		"SpecAgain":                 {suspension: bySpec, bySpec: new(true), processed: true},
		"SpecAgainAfterStart":       {suspension: bySpec, processed: true},
		"SpecChangedMeanwhile":      {suspension: bySpec, bySpec: new(true)},
		"SpecResumed":               {bySpec: new(true), event: "Normal Resumed"},
		"Annotation":                {suspension: byAnnotation, bySpec: new(false), processed: true, event: "Normal Suspended", condition: metav1.ConditionTrue},
		"AnnotationAgain":           {suspension: byAnnotation, before: byAnnotation, bySpec: new(false), processed: true, condition: metav1.ConditionTrue},
		"AnnotationAgainAfterStart": {suspension: byAnnotation, before: byAnnotation, condition: metav1.ConditionTrue},
		"AnnotationChanged":         {suspension: longer, before: byAnnotation, bySpec: new(false), event: "Normal Suspended", condition: metav1.ConditionTrue},
		"AnnotationRemoved":         {before: byAnnotation, event: "Normal Resumed"},
		"AnnotationToSpec":          {suspension: bySpec, before: byAnnotation, bySpec: new(false)},
		"SpecToAnnotation":          {suspension: byAnnotation, bySpec: new(true), event: "Normal Suspended", condition: metav1.ConditionTrue},
		"Expired":                   {suspension: expired, before: longer, event: "Warning SuspensionExpired", condition: metav1.ConditionFalse},
		"ExpiredFromTheStart":       {suspension: expired, event: "Warning SuspensionExpired", condition: metav1.ConditionFalse},
		"ExpiredAgain":              {suspension: expired, before: expired, condition: metav1.ConditionFalse},
		"ExpiredRemoved":            {before: expired},
		"ExpiredRenewed":            {suspension: longer, before: expired, event: "Normal Suspended", condition: metav1.ConditionTrue},
	} {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 3}}
		hr.Spec.Suspend = tc.suspension.BySpec
		if hr.Status.ObservedGeneration = 2; tc.processed {
			hr.Status.ObservedGeneration = 3
		}
		if (tc.before != release.Suspension{}) {
			hr.Status.Conditions = WithSuspension(Report{}, hr, tc.before, nil, end).Status.Conditions
		}
		r := WithSuspension(Report{Status: hr.Status}, hr, tc.suspension, tc.bySpec, end)
		var event string
		for _, e := range r.Events {
			event += e.Type + " " + e.Reason
		}
		condition := apimeta.FindStatusCondition(r.Status.Conditions, helmv2.ConditionSuspended)
		if event != tc.event || (condition == nil) != (tc.condition == "") || condition != nil && condition.Status != tc.condition {
			t.Errorf("%s: event %q, condition %v", name, event, condition)
		}
	}
}

// TestSuspendedRequest: a suspended release handles no request for a reconciliation, whatever is reported.
func TestSuspendedRequest(t *testing.T) {
	t.Parallel()
	for name, report := range reports() {
		for _, s := range []release.Suspension{{Active: true, Why: "why"}, {Active: true, BySpec: true}} {
			hr := requesting("", "")
			if got := WithSuspension(report(hr), hr, s, nil, testNow).Status.LastHandledReconcileAt; got != "old" {
				t.Errorf("%s: %q is handled", name, got)
			}
		}
	}
}
