// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// publish ends a reconciliation: it writes status, which proves that the read was not stale, then
// sends the events, and only then performs the action.
func (r *Reconciler) publish(ctx context.Context, rec reconciliation, d operation.Decision, rep status.OperationReport) (ctrl.Result, error) {
	written, err := r.writeStatus(ctx, rec.op, rep.Status)
	if err != nil {
		return unwritten(err)
	}
	controller.Emit(r.events, written, rep.Events...)
	controller.LogChange(ctrl.LoggerFrom(ctx), message.ChangeOf(message.Operation, rec.op.Status.Conditions, rep.Status.Conditions))
	if rep.Ended {
		r.count(rec, d, rep.Status)
	}
	if err := r.actor.perform(ctx, rec, written, d.Action); err != nil {
		return unwritten(err)
	}
	r.queue(rec, d)
	return result(rep.Retry), nil
}

// writeStatus is the only writer of an Operation's status.
func (r *Reconciler) writeStatus(ctx context.Context, before *opsv1alpha1.Operation, status opsv1alpha1.OperationStatus) (*opsv1alpha1.Operation, error) {
	after := before.DeepCopy()
	after.Status = status
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return after, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, after, patch, controller.FieldOwner); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	r.written.record(before)
	return after, nil
}

// count adds an Operation that has ended to the metrics.
func (r *Reconciler) count(rec reconciliation, d operation.Decision, status opsv1alpha1.OperationStatus) {
	var took time.Duration
	if status.StartedAt != nil && status.CompletionTime != nil {
		took = max(0, status.CompletionTime.Sub(status.StartedAt.Time))
	}
	r.metrics.Operation(string(rec.op.Spec.Engine), string(status.Phase), d.Reason, took, operation.WaitDuration(rec.op.CreationTimestamp.Time, status))
}

// queue reserves the release for an Operation that waits for Helm. Otherwise Helm could start
// another action before the Operation has the lock.
func (r *Reconciler) queue(rec reconciliation, d operation.Decision) {
	t := rec.in.Target
	if d.Rule == operation.RuleSetFinalizer || d.Rule == operation.RuleAwaitLock && (t.Action != "" || t.Pending != "") && !d.Phase.Final() {
		r.locks.Wait(rec.op.UID, rec.op.Name, client.ObjectKey{Namespace: rec.op.Namespace, Name: t.HelmRelease}, rec.in.Now)
		return
	}
	if hr, waited := r.locks.Leave(rec.op.UID); waited {
		r.enqueue(hr)
	}
}

// unwritten ends a reconciliation whose write failed. A conflict is no error: the read was stale.
func unwritten(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	return ctrl.Result{}, err
}

// result is the only place that decides when an Operation is requeued.
func result(retry release.Retry) ctrl.Result {
	if retry.IsNow() {
		// The cache must catch up first.
		return ctrl.Result{RequeueAfter: controller.StaleRetry}
	}
	delay, _ := retry.Delay()
	return ctrl.Result{RequeueAfter: delay}
}
