// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Requests are the tokens of the request annotations. An empty token requests nothing. A token that
// status has recorded as handled is not handled again. Force and Reset count only with an unhandled
// Reconcile token of the same value.
type Requests struct {
	// Reconcile requests a reconciliation.
	Reconcile string
	// Force requests one install or upgrade in any state.
	Force string
	// Reset requests that the failure counters are reset.
	Reset string
}

// RequestsOf reads the annotations of a HelmRelease.
func RequestsOf(annotations map[string]string) Requests {
	return Requests{
		Reconcile: annotations[helmv2.AnnotationReconcileRequest],
		Force:     annotations[helmv2.AnnotationForceRequest],
		Reset:     annotations[helmv2.AnnotationResetRequest],
	}
}

// ForceRequested reports whether an install or upgrade is requested and no decision has handled the
// request.
func (r Requests) ForceRequested(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Force, status) && r.Force != status.LastHandledForceAt
}

// ForceBegun reports whether the install or upgrade for the present token was announced and its end
// is not recorded. If no attempt runs, the attempt was interrupted. The announcement records the
// Force token and the end records the Reconcile token, so the attempt is in progress if only the
// first is recorded. Every ended attempt has a duration, which excludes a token that was handled
// before and is set again. A repeated token during an interrupted attempt counts as that attempt,
// which must be repeated anyway.
func (r Requests) ForceBegun(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Force, status) && r.Force == status.LastHandledForceAt &&
		status.LastAttemptedReleaseActionDuration == nil
}

// ResetRequested reports whether a reset of the failure counters is requested and no decision has
// handled the request.
func (r Requests) ResetRequested(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Reset, status) && r.Reset != status.LastHandledResetAt
}

// Open reports whether a request other than Reconcile is unhandled.
func (r Requests) Open(status *helmv2.HelmReleaseStatus) bool {
	return r.ForceRequested(status) || r.ForceBegun(status) || r.ResetRequested(status)
}

// requested reports whether a token is unhandled and equals the Reconcile token.
func (r Requests) requested(token string, status *helmv2.HelmReleaseStatus) bool {
	return token != "" && token == r.Reconcile && token != status.LastHandledReconcileAt
}

// Suspension states whether a HelmRelease is suspended, why, and until when.
type Suspension struct {
	// Active is true if the HelmRelease is suspended.
	Active bool
	// Why is a sentence for users. It is empty unless Active.
	Why string
	// Until is the end of the suspension; zero if it has none.
	Until time.Time
}

// SuspensionOf returns the suspension by spec.suspend, whose value is spec, or by annotation. The
// annotation is for users who must not change the spec. An end that cannot be parsed counts as no
// end, and Why names the error: the release stays suspended.
func SuspensionOf(spec bool, annotations map[string]string, now time.Time) Suspension {
	if spec {
		return Suspension{Active: true, Why: "spec.suspend is set"}
	}
	reason, set := annotations[helmv2.AnnotationSuspend]
	if !set {
		return Suspension{}
	}
	s := Suspension{Active: true, Why: fmt.Sprintf("annotation %s: %s", helmv2.AnnotationSuspend, reason)}
	end, bounded := annotations[helmv2.AnnotationSuspendUntil]
	if !bounded {
		return s
	}
	until, err := time.Parse(time.RFC3339, end)
	if err != nil {
		s.Why += fmt.Sprintf(" (without end: %s is %q, which is no RFC 3339 time)", helmv2.AnnotationSuspendUntil, end)
		return s
	}
	if !now.Before(until) {
		return Suspension{}
	}
	s.Until = until
	s.Why += fmt.Sprintf(" (until %s)", until.UTC().Format(time.RFC3339))
	return s
}
