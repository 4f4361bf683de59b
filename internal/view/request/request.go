// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"strconv"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Request is a change of a HelmRelease that requests something of the controller.
type Request struct {
	// Set are annotations to set, and Remove annotations to remove.
	Set    map[string]string
	Remove []string
	// Suspend is the value of spec.suspend; nil leaves it.
	Suspend *bool
	// done returns the progress. hr has answered the token.
	done func(hr *helmv2.HelmRelease, now time.Time) Progress
	// token identifies the request. It triggers a reconciliation, whose answer shows that the controller
	// has seen the change. A suspension has none: a suspended release answers no request.
	token string
}

// Apply changes a HelmRelease as the request demands.
func (r Request) Apply(hr *helmv2.HelmRelease) {
	if hr.Annotations == nil {
		hr.Annotations = map[string]string{}
	}
	for key, value := range r.Set {
		hr.Annotations[key] = value
	}
	if r.token != "" {
		hr.Annotations[helmv2.AnnotationReconcileRequest] = r.token
	}
	for _, key := range r.Remove {
		delete(hr.Annotations, key)
	}
	if r.Suspend != nil {
		hr.Spec.Suspend = *r.Suspend
	}
}

// Token returns the token of a request at a time.
func Token(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }

// ReconcileOptions are the options of Reconcile.
type ReconcileOptions struct {
	// Force requests an install or upgrade in any state, and Reset the reset of failure counters.
	Force, Reset bool
}

// Reconcile requests a reconciliation. It fails for a suspended release, which would not be
// reconciled.
func Reconcile(hr *helmv2.HelmRelease, o ReconcileOptions, now time.Time) (Request, error) {
	if s := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now); s.Active {
		return Request{}, fmt.Errorf("%s/%s is suspended (%s): nothing was requested; resume it first", hr.Namespace, hr.Name, s.Why)
	}
	token := Token(now)
	r := Request{token: token, Set: map[string]string{}}
	if o.Force {
		r.Set[helmv2.AnnotationForceRequest] = token
	}
	if o.Reset {
		r.Set[helmv2.AnnotationResetRequest] = token
	}
	r.done = func(hr *helmv2.HelmRelease, now time.Time) Progress {
		p := stateProgress(hr, now)
		if p.Done && (o.Force && hr.Status.LastHandledForceAt != token || o.Reset && hr.Status.LastHandledResetAt != token) {
			p.Failed = true
			p.Text += " The request to force or reset was not carried out, because the release was blocked or suspended: repeat it."
		}
		return p
	}
	return r, nil
}

// Suspend requests a suspension by annotation, with a reason and an optional end, or by spec.suspend.
func Suspend(reason string, until time.Time, spec bool) Request {
	r := Request{Set: map[string]string{}}
	if spec {
		yes := true
		r.Suspend = &yes
	} else {
		r.Set[helmv2.AnnotationSuspend] = reason
		if until.IsZero() {
			r.Remove = []string{helmv2.AnnotationSuspendUntil}
		} else {
			r.Set[helmv2.AnnotationSuspendUntil] = until.UTC().Format(time.RFC3339)
		}
	}
	r.done = suspensionProgress
	return r
}

// Resume ends a suspension of any kind.
func Resume(hr *helmv2.HelmRelease, now time.Time) Request {
	r := Request{token: Token(now), Remove: []string{helmv2.AnnotationSuspend, helmv2.AnnotationSuspendUntil}, done: stateProgress}
	if hr.Spec.Suspend {
		no := false
		r.Suspend = &no
	}
	return r
}

// Rollback requests a rollback to a revision, and that the release is held there until a time, for a
// reason; zero for no end, and empty for no reason.
func Rollback(revision int, until time.Time, reason string, now time.Time) Request {
	r := Request{token: Token(now), Set: map[string]string{helmv2.AnnotationRollbackTo: strconv.Itoa(revision)}, done: rollbackProgress}
	if until.IsZero() {
		r.Remove = append(r.Remove, helmv2.AnnotationRollbackUntil)
	} else {
		r.Set[helmv2.AnnotationRollbackUntil] = until.UTC().Format(time.RFC3339)
	}
	if reason == "" {
		r.Remove = append(r.Remove, helmv2.AnnotationRollbackReason)
	} else {
		r.Set[helmv2.AnnotationRollbackReason] = reason
	}
	return r
}

// Unhold ends the hold of a rollback.
func Unhold(now time.Time) Request {
	return Request{token: Token(now), Remove: []string{helmv2.AnnotationRollbackTo, helmv2.AnnotationRollbackUntil, helmv2.AnnotationRollbackReason}, done: stateProgress}
}

// Test requests one run of the tests of the chart. before is the HelmRelease at that time.
func Test(before *helmv2.HelmRelease, now time.Time) Request {
	token := Token(now)
	r := Request{token: token, Set: map[string]string{helmv2.AnnotationTestAt: token}}
	r.done = func(hr *helmv2.HelmRelease, _ time.Time) Progress { return testProgress(before, hr, token) }
	return r
}
