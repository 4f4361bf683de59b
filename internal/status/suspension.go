// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// WithSuspension adds a suspension to the report of a reconciliation: condition Suspended, and an
// event if the HelmRelease was suspended or resumed since its last report. bySpec is the value of
// spec.suspend at that report, nil if this process has made none.
//
// A suspended release has handled no request for a reconciliation, whatever else the report is about:
// the flux CLI would report success.
//
// Only a suspension by annotation has a condition. helm-controller keeps conditions that it does not
// know, so that a condition about spec.suspend would stay True for ever after a change to
// helm-controller and a resumption.
func WithSuspension(r Report, hr *helmv2.HelmRelease, s release.Suspension, bySpec *bool, now time.Time) Report {
	before := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionSuspended)
	was := before != nil && before.Status == metav1.ConditionTrue || wasBySpec(hr, bySpec)
	text := SuspensionMessage(hr, s)
	r.Status.Conditions = slices.Clone(r.Status.Conditions)
	if s.Active {
		r.Status.LastHandledReconcileAt = hr.Status.LastHandledReconcileAt
	}
	switch {
	case s.BySpec:
		apimeta.RemoveStatusCondition(&r.Status.Conditions, helmv2.ConditionSuspended)
		if !was {
			r.Events = append(r.Events, normal(helmv2.ReasonSuspended, text, nil))
		}
	case s.Active:
		set(&r.Status.Conditions, metav1.ConditionTrue, helmv2.ReasonSuspended, text, hr.Generation, now)
		if before == nil || before.Message != text {
			r.Events = append(r.Events, normal(helmv2.ReasonSuspended, text, nil))
		}
	case !s.Over.IsZero():
		set(&r.Status.Conditions, metav1.ConditionFalse, helmv2.ReasonSuspensionExpired, text, hr.Generation, now)
		if before == nil || before.Message != text {
			r.Events = append(r.Events, warning(helmv2.ReasonSuspensionExpired, text, nil))
		}
	default:
		apimeta.RemoveStatusCondition(&r.Status.Conditions, helmv2.ConditionSuspended)
		if was {
			r.Events = append(r.Events, normal(helmv2.EventReasonResumed, "The release is resumed: it is not suspended any more, and is reconciled from now on", nil))
		}
	}
	return r
}

// wasBySpec reports whether spec.suspend was set at the last report. After a start of the process,
// it returns spec.suspend if the status is about the present spec.
func wasBySpec(hr *helmv2.HelmRelease, bySpec *bool) bool {
	if bySpec != nil {
		return *bySpec
	}
	return hr.Spec.Suspend && hr.Status.ObservedGeneration == hr.Generation
}

// SuspensionMessage returns the message about a suspension, empty without one.
func SuspensionMessage(hr *helmv2.HelmRelease, s release.Suspension) string {
	facts := message.Facts{
		Cause:  s.Why,
		Object: fmt.Sprintf("%s -n %s", hr.Name, hr.Namespace),
	}
	switch {
	case s.BySpec:
		return message.Of(message.SuspendedBySpec, facts).String()
	case s.Active && s.Until.IsZero():
		return message.Of(message.Suspended, facts).String()
	case s.Active:
		facts.Until = s.Until.UTC().Format(time.RFC3339)
		return message.Of(message.SuspendedUntil, facts).String()
	case !s.Over.IsZero():
		facts.Until = s.Over.UTC().Format(time.RFC3339)
		return message.Of(message.SuspensionExpired, facts).String()
	}
	return ""
}

func set(all *[]metav1.Condition, is metav1.ConditionStatus, reason, message string, generation int64, now time.Time) {
	apimeta.SetStatusCondition(all, metav1.Condition{
		Type: helmv2.ConditionSuspended, Status: is, Reason: reason, Message: message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}
