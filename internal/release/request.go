// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import helmv2 "github.com/pintle-dev/pintle/api/v2"

// Requests are what a user asks for by annotation. Each is a token, an empty one
// asking for nothing: a value that was answered is remembered in status and asks
// for nothing any more. Force and Reset count only together with a Visit of the
// same value that is not answered either.
type Requests struct {
	// Visit asks to be looked at.
	Reconcile string
	// Force asks for one install or upgrade, whatever the state.
	Force string
	// Reset asks to forget earlier failures.
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

// ForceAsked reports whether an install or upgrade is asked for that no decision
// has dealt with.
func (r Requests) ForceRequested(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Force, status) && r.Force != status.LastHandledForceAt
}

// ForceBegun reports whether an install or upgrade was announced that was asked
// for by the present token, and its end is not recorded. If nothing runs, the
// process died, or was ended, in between. The announcement records the force and
// the end records the visit, so that one token without the other tells; the
// duration, which is there once an attempt has ended, keeps a token that was
// answered long ago and comes back from being taken for one that is under way.
// If it comes back when another attempt has been cut off, it is taken for that
// one, which is to be made again anyway.
func (r Requests) ForceBegun(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Force, status) && r.Force == status.LastHandledForceAt &&
		status.LastAttemptedReleaseActionDuration == nil
}

// ResetAsked reports whether failures are to be forgotten at the request of
// somebody whom no decision has answered.
func (r Requests) ResetRequested(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Reset, status) && r.Reset != status.LastHandledResetAt
}

// Open reports whether there is more to answer than the request for a visit.
func (r Requests) Open(status *helmv2.HelmReleaseStatus) bool {
	return r.ForceRequested(status) || r.ForceBegun(status) || r.ResetRequested(status)
}

func (r Requests) requested(token string, status *helmv2.HelmReleaseStatus) bool {
	return token != "" && token == r.Reconcile && token != status.LastHandledReconcileAt
}
