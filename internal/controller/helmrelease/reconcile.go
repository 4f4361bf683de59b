// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/debounce"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/helmchart"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/state"
	"github.com/pintle-dev/pintle/internal/controller/lock"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// Reconciler reconciles HelmReleases.
type Reconciler struct {
	*environment
	inputs     *inputReader
	observer   *observer
	comparer   *comparer
	actor      *actor
	publisher  *publisher
	debouncer  *debounce.Debouncer
	dependency *dependency.Subscriptions
	locks      *lock.Locks
}

// parts are the collaborators of a Reconciler beside its environment.
type parts struct {
	resolver   resolver
	detector   driftDetector
	objects    follower
	dependency *dependency.Subscriptions
	// cached reads metadata of ConfigMaps and Secrets from the cache.
	cached client.Reader
	locks  *lock.Locks
	// enqueue triggers a reconciliation of a HelmRelease. It must not block.
	enqueue func(types.NamespacedName)
	options Options
}

// newReconciler returns a Reconciler whose steps share env.
func newReconciler(env *environment, p parts) *Reconciler {
	charts := &helmchart.Maker{Client: env.client, Live: env.live, Events: env.events, NoCrossNamespaceRefs: p.options.NoCrossNamespaceRefs}
	debouncer := &debounce.Debouncer{
		Client: env.client, Cached: p.cached, Live: env.live, Now: env.now, NoConfigWatches: p.options.NoConfigWatches,
		Memory: state.Part(env.memory, func(m *memory) *debounce.State { return &m.debounce }),
	}
	in := &inputReader{environment: env, resolver: p.resolver, charts: charts, dependency: p.dependency, enqueue: p.enqueue}
	compare := &comparer{environment: env, detector: p.detector, objects: p.objects, inputs: in, overriddenManagers: p.options.OverriddenManagers}
	return &Reconciler{
		environment: env,
		inputs:      in,
		observer: &observer{
			environment: env, inputs: in, comparer: compare, owners: owners{client: env.client, live: env.live},
			dependents: dependency.Dependents{Client: env.client, Live: env.live}, debouncer: debouncer,
		},
		comparer:   compare,
		actor:      &actor{environment: env, charts: charts, comparer: compare, debouncer: debouncer},
		publisher:  &publisher{environment: env},
		debouncer:  debouncer,
		dependency: p.dependency,
		locks:      p.locks,
	}
}

// Reconcile brings one HelmRelease one step closer to what it asks for.
//
//	publish  if an action has ended: write its outcome     status
//	inputs   what is wanted?                               inputs
//	observe  what is installed?                            helm, drift
//	decide   what is the next action?                      release
//	act      announce the action, then begin it            attempt, helm, drift
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, hr); err != nil {
		return ctrl.Result{}, r.unread(req.NamespacedName, err)
	}
	defer r.observeDuration(req.NamespacedName, r.now())
	if r.isStale(hr) {
		return r.requeue(req.NamespacedName, release.After(controller.StaleRetry)), nil
	}
	if present, err := r.actor.ensureFinalizer(ctx, hr); !present {
		return r.publisher.unwritten(err)
	}
	r.debouncer.Observe(ctx, hr)
	if result := r.publisher.answered(hr); result != nil {
		return *result, nil
	}
	rec := reconciliation{read: hr, hr: hr}
	// In this order: an action that ends in between counts as ended.
	rec.running = r.attempts.Running(req.NamespacedName)
	if outcome, ended := r.actor.ended(hr); ended {
		return r.publisher.finished(ctx, hr, outcome)
	}
	rec, err := r.read(ctx, rec)
	if err != nil {
		return r.publisher.blocked(ctx, rec, err)
	}
	if left := r.inSync(rec); left > 0 {
		return r.publisher.unchanged(rec, left), nil
	}
	if rec, err = r.observer.observe(ctx, rec); err != nil {
		return r.publisher.blocked(ctx, rec, err)
	}
	rec.decision = release.Decide(rec.in)
	ctrl.LoggerFrom(ctx).Info("decided", "rule", rec.decision.Rule, "action", release.Name(rec.decision.Action), "why", rec.decision.Why)
	if !rec.decision.Acts() {
		return r.settle(ctx, rec)
	}
	return r.act(ctx, rec)
}

// read returns rec with what the HelmRelease asks for, and with what is known of the release without
// looking at it: its last refusal, and the Operations that hold it or wait for it.
func (r *Reconciler) read(ctx context.Context, rec reconciliation) (reconciliation, error) {
	rec, err := r.inputs.read(ctx, rec)
	if err != nil {
		return rec, err
	}
	r.comparer.follows(rec.key(), rec.want.Desired)
	r.memory.With(rec.key(), func(m *memory) { rec.in.Observed.Oversized = m.refusal })
	return rec, r.locks.Observe(ctx, rec.hr, rec.in.Now, &rec.in.Observed)
}

// settle ends a reconciliation whose decision is no action of Helm.
func (r *Reconciler) settle(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	switch a := rec.decision.Action.(type) {
	case release.Finalize:
		return r.finalize(ctx, rec)
	case release.Wait:
		r.actor.cancel(rec.key(), a)
	case release.Adopt:
		rec.in.Observed.Inventory = r.observer.inventory(ctx, rec)
	case release.Settle, release.Stall, release.Forget,
		release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.CorrectDrift:
	}
	return r.publisher.settled(ctx, rec)
}

// finalize removes the HelmChart and the finalizer of the HelmRelease.
func (r *Reconciler) finalize(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	rec, err := r.actor.finalize(ctx, rec)
	if err != nil {
		return r.publisher.blocked(ctx, rec, err)
	}
	r.publisher.emit(rec.hr, status.Finalized(rec.decision, rec.in))
	r.metrics.Reconciliation(rec.decision.Rule)
	return ctrl.Result{}, nil
}

// act announces the action and begins it. Nothing begins if the announcement cannot be written.
func (r *Reconciler) act(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	want, err := r.inputs.withChart(ctx, rec.hr, rec.want, rec.decision.Action)
	if err != nil {
		return r.publisher.blocked(ctx, rec, err)
	}
	rec.want = want
	if err := r.publisher.announce(ctx, rec); err != nil {
		return r.publisher.unwritten(err)
	}
	if !r.actor.begin(ctx, rec) {
		// The next reconciliation decides the same again.
		return r.requeue(rec.key(), release.After(controller.StaleRetry)), nil
	}
	return ctrl.Result{}, nil
}

// inSync returns how long the release counts as in sync without another look at it; zero if
// anything has changed since the last one.
func (r *Reconciler) inSync(rec reconciliation) (left time.Duration) {
	r.memory.With(rec.key(), func(m *memory) { left = m.sync.left(rec.hr, rec.want.Desired, rec.in.Now) })
	if rec.running != nil || rec.in.Observed.LockHolder != nil || rec.in.Observed.WaitingOperation != nil {
		return 0
	}
	return left
}

// isStale reports whether hr is a version that the last write of its status replaced. The cache
// may return that version for a moment, and a reconciliation of it could not write its result.
func (r *Reconciler) isStale(hr *helmv2.HelmRelease) (stale bool) {
	r.memory.With(client.ObjectKeyFromObject(hr), func(m *memory) { stale = m.replaced == hr.ResourceVersion })
	return stale
}

// unread ends the reconciliation of a HelmRelease that could not be read. One that does not exist
// any more is forgotten. It may also be the HelmRelease of another shard now, whose controller is
// about to act: an action that runs here is cancelled.
func (r *Reconciler) unread(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	r.attempts.Cancel(key, context.Canceled)
	r.attempts.Forget(key)
	r.backoff.Forget(key)
	r.connections.Forget(key)
	r.dependency.Forget(key)
	r.comparer.forget(key)
	r.metrics.Forget(key)
	r.memory.Forget(key)
	return nil
}

// observeDuration records the duration of a reconciliation that began at a time.
func (r *Reconciler) observeDuration(key types.NamespacedName, begun time.Time) {
	r.metrics.ReconcileDuration(key, r.now().Sub(begun))
}
