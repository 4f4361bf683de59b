// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// publish ends a visit: the status is written, which proves that the read was
// fresh, then events are emitted, and only then something is done.
func (r *OperationReconciler) publish(ctx context.Context, v *view, d operation.Decision, rep status.OperationReport) (ctrl.Result, error) {
	written, err := r.writeStatus(ctx, v.op, rep.Status)
	if err != nil {
		return operationUnwritten(err)
	}
	for _, e := range rep.Events {
		r.events.Event(written, e.Type, e.Reason, e.Message)
	}
	if rep.Ended {
		r.count(v, d, rep.Status)
		for i := range v.jobs {
			r.resumed.forget(client.ObjectKeyFromObject(&v.jobs[i]))
		}
	}
	if err := r.perform(ctx, v, written, d.Action); err != nil {
		return operationUnwritten(err)
	}
	r.queue(v, d)
	return operationResult(rep.Retry), nil
}

// writeStatus is the one place that writes an Operation's status.
func (r *OperationReconciler) writeStatus(ctx context.Context, before *opsv1alpha1.Operation, status opsv1alpha1.OperationStatus) (*opsv1alpha1.Operation, error) {
	after := before.DeepCopy()
	after.Status = status
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return after, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, after, patch, fieldOwner); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	r.written.note(before)
	return after, nil
}

// count adds an Operation that has come to its end to the metrics.
func (r *OperationReconciler) count(v *view, d operation.Decision, status opsv1alpha1.OperationStatus) {
	var took time.Duration
	if status.StartedAt != nil && status.CompletionTime != nil {
		took = max(0, status.CompletionTime.Sub(status.StartedAt.Time))
	}
	r.metrics.Operation(string(v.op.Spec.Engine), string(status.Phase), d.Reason, took, operation.WaitDuration(v.op.CreationTimestamp.Time, status))
}

// queue lets an Operation that waits for Helm have the next turn, until the release
// is locked: Helm would begin again otherwise before that.
func (r *OperationReconciler) queue(v *view, d operation.Decision) {
	t := v.in.Target
	if d.Rule == "SetFinalizer" || d.Rule == "AwaitLock" && (t.Action != "" || t.Pending != "") && !d.Phase.Final() {
		r.holders.turns.wait(v.op.UID, v.op.Name, client.ObjectKey{Namespace: v.op.Namespace, Name: t.HelmRelease}, v.in.Now)
		return
	}
	if hr, waited := r.holders.turns.leave(v.op.UID); waited {
		r.wake(hr)
	}
}

// operationUnwritten ends a visit whose write failed.
func operationUnwritten(err error) (ctrl.Result, error) {
	if result, stale := conflict(err); stale {
		return result, nil
	}
	return ctrl.Result{}, err
}

// operationResult is the one place that decides when a visit to an Operation is
// repeated.
func operationResult(retry release.Retry) ctrl.Result {
	if retry.IsNow() {
		// As long as the cache takes, or the visit would be in vain.
		return ctrl.Result{RequeueAfter: staleRetry}
	}
	delay, _ := retry.Delay()
	return ctrl.Result{RequeueAfter: delay}
}
