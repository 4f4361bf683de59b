// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// hookReader reads what Helm's storage says of hooks.
type hookReader interface {
	Hooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (helm.Stored, error)
}

// valueReader reads which values of a HelmRelease are secret.
type valueReader interface {
	Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error)
}

// delegation finds who acts for a HelmRelease, or for the controller itself if
// that is nil.
type delegation interface {
	as(ctx context.Context, hr *helmv2.HelmRelease) (*deputy, error)
}

// OperationReconciler runs hooks of charts.
type OperationReconciler struct {
	// client reads through the cache and writes as the controller: Operations, and the
	// annotation that is the lock. Everything else is the identity's of the release.
	client client.Client
	// live reads past the cache, as the controller.
	live      client.Reader
	events    record.EventRecorder
	metrics   *metrics.Metrics
	hooks     hookReader
	values    valueReader
	delegates delegation
	holders   *holders
	// wake visits a HelmRelease.
	wake      func(types.NamespacedName)
	timeout   time.Duration
	clusterID string
	now       func() time.Time
	// written and locked are what our last writes replaced, of Operations and of
	// HelmReleases; resumed of the Jobs that were let run. One that still looks
	// suspended would be taken for one that has not run.
	written, locked, resumed writes
}

// errStale ends a visit that the cache is too old for.
var errStale = errors.New("the cache is behind")

// Reconcile brings one Operation one step closer to its end.
//
//	observe  target, Jobs, pods, the record of the release    helm, hookjob
//	decide   what is the one thing to do?                     operation
//	record   write it down, and tell everyone                 report
//	act      do it
func (r *OperationReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	op := &opsv1alpha1.Operation{}
	if err := r.client.Get(ctx, req.NamespacedName, op); err != nil {
		if apierrors.IsNotFound(err) {
			r.written.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, err
	}
	if r.written.outdated(op) {
		return operationResult(release.After(staleRetry)), nil
	}
	if op.Status.Phase.Final() && !controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer) {
		// It was tidied up when the finalizer went, and nothing ever follows.
		return ctrl.Result{}, nil
	}
	v, err := r.observe(ctx, op)
	if errors.Is(err, errStale) {
		return operationResult(release.After(staleRetry)), nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	d := operation.Decide(v.in)
	ctrl.LoggerFrom(ctx).Info("decided", "rule", d.Rule, "action", operation.Name(d.Action), "phase", d.Phase, "reason", d.Reason, "why", d.Why)
	return r.publish(ctx, v, d, status.Operation(d, v.in))
}
