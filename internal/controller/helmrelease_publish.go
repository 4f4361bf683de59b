// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

const (
	fieldOwner = client.FieldOwner(helmv2.FieldManager)

	// staleRetry is how long to wait for the cache after a conflict, and soon
	// stands for at once: a zero RequeueAfter would mean never.
	staleRetry = 20 * time.Millisecond
	soon       = time.Millisecond
)

// publishFinished records an attempt. Its outcome is forgotten only once it is
// written down.
func (r *HelmReleaseReconciler) publishFinished(ctx context.Context, before *helmv2.HelmRelease, o release.Outcome) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(before)
	log := ctrl.LoggerFrom(ctx).WithValues("action", release.Name(o.Action), "took", o.Ended.Sub(o.Started).String())
	switch {
	case o.Interrupted != nil:
		log.Info("action interrupted", "server", o.Interrupted.Server, "since", o.Interrupted.Since, "cause", o.Err.Error(), "cancelled", o.Cancelled)
	case o.Err != nil:
		if o.Diagnosis != nil {
			log = log.WithValues("failure", o.Diagnosis.Code)
		}
		log.Info("action failed", "cause", o.Err.Error(), "cancelled", o.Cancelled)
	default:
		log.Info("action succeeded")
	}
	// Before the write: what wakes for it from then on is not missed.
	r.standoffs.note(before, o.Owners)
	finished := status.Finished(before, o, r.now())
	result, err := r.publish(ctx, before, finished)
	if err != nil {
		r.unanswered.note(before, sentStatus{Report: finished, outcome: &o}, err)
		return r.unwritten(err)
	}
	r.recorded(key, o)
	return result, nil
}

// published ends the reconciliation of a HelmRelease whose status proves that a write was
// carried out that the API server did not answer.
func (r *HelmReleaseReconciler) published(hr *helmv2.HelmRelease, sent sentStatus) ctrl.Result {
	r.emit(hr, sent.Events)
	if sent.outcome != nil {
		r.recorded(client.ObjectKeyFromObject(hr), *sent.outcome)
	}
	return r.result(client.ObjectKeyFromObject(hr), release.Now())
}

// recorded updates what the controller remembers once an outcome is part of status.
func (r *HelmReleaseReconciler) recorded(key types.NamespacedName, o release.Outcome) {
	r.attempts.Forget(key)
	r.refusals.note(key, o)
	r.rest.disturb(key)
	if ends(o) {
		r.backoff.Forget(key)
	}
	r.metrics.Reconciliation(metrics.RuleFinished)
	r.metrics.Attempt(o)
	r.metrics.ReconcileDuration(key, o.Ended.Sub(o.Started))
}

// ends reports whether an outcome ends a row of failures. A remedy that succeeds
// does not: what it remedied is going to be tried again.
func ends(o release.Outcome) bool {
	switch o.Action.(type) {
	case release.Install, release.Upgrade, release.Recheck, release.CorrectDrift:
		return o.Err == nil && len(o.Failed) == 0
	case release.Test, release.Rollback, release.Uninstall, release.Unlock,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	return false
}

func (r *HelmReleaseReconciler) publishBlocked(ctx context.Context, before, hr *helmv2.HelmRelease, cause error) (ctrl.Result, error) {
	if result, stale := conflict(cause); stale {
		return result, nil
	}
	blocked := r.outages.weigh(client.ObjectKeyFromObject(hr), cause, r.now())
	ctrl.LoggerFrom(ctx).Info("blocked", "reason", blocked.Reason, "why", blocked.Message)
	result, err := r.publish(ctx, before, status.Blocked(hr, blocked, r.now()))
	if err != nil {
		return r.unwritten(err)
	}
	r.metrics.Reconciliation(metrics.RuleBlocked)
	return result, nil
}

func (r *HelmReleaseReconciler) publishSettled(ctx context.Context, before, hr *helmv2.HelmRelease, d release.Decision, in release.Input) (ctrl.Result, error) {
	r.outages.over(client.ObjectKeyFromObject(hr))
	settled := status.Settled(hr, d, in)
	result, err := r.publish(ctx, before, settled)
	if err != nil {
		return r.unwritten(err)
	}
	repeat := in.Observed.Drift != nil && in.Observed.Drift.Repeat
	if d.State == release.StateInSync && result.RequeueAfter > 0 && !repeat {
		if !r.rest.met(client.ObjectKeyFromObject(hr)) {
			result.RequeueAfter = r.stagger(result.RequeueAfter)
		}
		r.rest.note(hr, in.Desired, settled.Status, r.now().Add(result.RequeueAfter))
	}
	if d.State == release.StateInSync && !in.Desired.Suspended {
		r.metrics.Succeeded(client.ObjectKeyFromObject(hr), in.Now)
	}
	r.metrics.Suspended(client.ObjectKeyFromObject(hr).String(), in.Desired.Suspended)
	r.noteDrift(ctx, hr, d, in, settled)
	if _, settled := d.Action.(release.Settle); settled && !repeat {
		r.backoff.Forget(client.ObjectKeyFromObject(hr))
	}
	r.metrics.Reconciliation(d.Rule)
	return result, nil
}

// publish ends a visit: it writes the status if it differs, then emits events,
// and says when to come back. A visit that changes nothing writes nothing.
func (r *HelmReleaseReconciler) publish(ctx context.Context, before *helmv2.HelmRelease, rep status.Report) (ctrl.Result, error) {
	written, err := r.writeStatus(ctx, before, rep.Status)
	if apierrors.IsNotFound(err) {
		// The object does not exist any more. Its events still have readers.
		written, err = before, nil
	}
	if err != nil {
		r.unanswered.note(before, sentStatus{Report: rep}, err)
		return ctrl.Result{}, err
	}
	r.emit(written, rep.Events)
	return r.result(client.ObjectKeyFromObject(before), rep.Retry), nil
}

func (r *HelmReleaseReconciler) emit(hr *helmv2.HelmRelease, events []status.Event) {
	for _, e := range events {
		r.events.AnnotatedEventf(hr, e.Metadata, e.Type, e.Reason, "%s", e.Message)
	}
}

// writeStatus is the one place that writes a HelmRelease's status. The
// resourceVersion guards against writing what a stale read led to: an object that was
// deleted and created again under the same name has another one.
func (r *HelmReleaseReconciler) writeStatus(ctx context.Context, before *helmv2.HelmRelease, status helmv2.HelmReleaseStatus) (*helmv2.HelmRelease, error) {
	after := before.DeepCopy()
	after.Status = status
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return before, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, after, patch, fieldOwner)
	if err == nil {
		r.written.note(before)
		r.unanswered.forget(client.ObjectKeyFromObject(before))
		r.noteHold(before.Status.Conditions, status.Conditions)
	}
	return after, err
}

// unwritten ends a reconciliation whose write failed. If the object does not exist any
// more, nothing is left to do; its deletion triggers the reconciliation that forgets it.
func (r *HelmReleaseReconciler) unwritten(err error) (ctrl.Result, error) {
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	if result, stale := conflict(err); stale {
		return result, nil
	}
	return ctrl.Result{}, err
}

// conflict reports whether a write failed only because our read was older than
// somebody's write, which is no error, and how to end the visit then.
func conflict(err error) (ctrl.Result, bool) {
	return ctrl.Result{RequeueAfter: staleRetry}, apierrors.IsConflict(err)
}

// result is the one place that decides when a visit is repeated.
func (r *HelmReleaseReconciler) result(key types.NamespacedName, retry release.Retry) ctrl.Result {
	switch {
	case retry.IsNever():
		return ctrl.Result{}
	case retry.IsNow():
		return ctrl.Result{RequeueAfter: soon}
	case retry.IsBackoff():
		delay := r.backoff.When(key)
		if limit := retry.Limit(); limit > 0 {
			delay = min(delay, limit)
		}
		return ctrl.Result{RequeueAfter: delay}
	}
	delay, spread := retry.Delay()
	if delay <= 0 {
		// An interval of zero is how users ask not to be visited.
		return ctrl.Result{}
	}
	if spread {
		return yielding(ctrl.Result{RequeueAfter: r.spread(delay)})
	}
	return ctrl.Result{RequeueAfter: delay}
}

// yielding lets the next visit come after those that somebody waits for: nobody
// does if only time has passed. Whatever wakes the release meanwhile raises it
// again.
func yielding(result ctrl.Result) ctrl.Result {
	low := handler.LowPriority
	result.Priority = &low
	return result
}
