// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// Reconciler reconciles Operations.
type Reconciler struct {
	// client reads through the cache and writes as the controller: Operations, and the annotation
	// that is the lock. All other writes use the impersonated identity.
	client   client.Client
	events   controller.EventRecorder
	metrics  *metrics.Metrics
	locks    *controller.Locks
	observer *observer
	actor    *actor
	// enqueue triggers a reconciliation of a HelmRelease.
	enqueue func(types.NamespacedName)
	now     func() time.Time
	// written are the writes of Operations.
	written *writes
}

// errStale ends a reconciliation because the cache is stale.
var errStale = errors.New("the cache is behind")

// Reconcile brings one Operation one step closer to its end.
//
//	observe  the target, Jobs, Pods, the record of the release   helm, hookjob
//	decide   the next action                                     operation
//	publish  write status, then events                           status
//	act      perform the action
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	op := &opsv1alpha1.Operation{}
	if err := r.client.Get(ctx, req.NamespacedName, op); err != nil {
		if apierrors.IsNotFound(err) {
			r.observer.watches.Forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, err
	}
	if r.written.isStale(op) {
		return result(release.After(controller.StaleRetry)), nil
	}
	// The finalizer was removed at the end: nothing is left but the Operation itself.
	over := op.Status.Phase.Final() && !controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer)
	if over && op.Spec.TTLSecondsAfterFinished == nil {
		return ctrl.Result{}, nil
	}
	rec, err := r.observer.observe(ctx, op, over)
	if errors.Is(err, errStale) {
		return result(release.After(controller.StaleRetry)), nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	d := operation.Decide(rec.in)
	ctrl.LoggerFrom(ctx).Info("decided", "rule", d.Rule, "action", operation.Name(d.Action), "phase", d.Phase, "reason", d.Reason, "why", d.Why)
	return r.publish(ctx, rec, d, status.Operation(d, rec.in))
}
