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
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/plans"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/rehearsal"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/operation"
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
	debouncer  *debouncer
	dependency *dependency.Subscriptions
	locks      *controller.Locks
	plans      *plans.Planner
	turns      *attempt.Turns
	// rehearsal reports decisions instead of carrying them out; nil in a process that acts.
	rehearsal *rehearsal.Reporter
	files     *fileWatches
}

// deadline is the time for all reads and dry runs of a reconciliation together.
const deadline = 2 * time.Minute

// Reconcile brings one HelmRelease one step closer to its desired state.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	slot, err := r.turns.Begin(ctx, req.NamespacedName)
	if err != nil {
		// The controller shuts down.
		return ctrl.Result{}, nil
	}
	defer slot.End()
	defer r.rollouts.End(req.NamespacedName, r.rollouts.Begin(req.NamespacedName))
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, hr); err != nil {
		return ctrl.Result{}, r.unread(req.NamespacedName, err)
	}
	defer r.observeDuration(req.NamespacedName, r.now())
	if hr.Spec.KubeConfig != nil {
		if !slot.Remote() {
			return r.requeue(req.NamespacedName, release.After(attempt.TurnRetry)), nil
		}
		ctx = apiretry.Paced(ctx)
	}
	ctx, cancel := apiretry.Within(ctx, deadline)
	defer cancel()
	rec := reconciliation{read: hr, hr: hr}
	if r.rehearsal != nil {
		return r.rehearse(ctx, rec)
	}
	if pause, stale := r.isStale(hr); stale {
		return r.requeue(req.NamespacedName, release.After(pause)), nil
	}
	if present, err := r.actor.ensureFinalizer(ctx, hr); !present {
		return r.publisher.endUnwritten(hr, err)
	}
	r.debouncer.Observe(ctx, hr)
	if result := r.publisher.publishCarriedOut(ctx, hr); result != nil {
		return *result, nil
	}
	return r.advance(ctx, rec)
}

// advance writes the outcome of an action that has ended, or reads the desired and the observed state,
// decides, and starts the action that is decided.
func (r *Reconciler) advance(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	// In this order: an action that ends in between counts as ended.
	rec.running = r.attempts.Running(rec.key())
	if outcome, ended := r.actor.takeOutcome(rec.hr); ended {
		return r.publisher.publishOutcome(ctx, rec.hr, outcome)
	}
	rec, err := r.withDesired(ctx, rec)
	if err != nil {
		return r.block(ctx, rec, err)
	}
	if left := release.CachedFor(rec.in); left > 0 {
		r.rollouts.Read(rec.hr, rec.in, true)
		return r.publisher.skip(rec, left), nil
	}
	if rec, err = r.observer.observe(ctx, rec); err != nil {
		return r.block(ctx, rec, err)
	}
	r.rollouts.Read(rec.hr, rec.in, false)
	rec.decision = release.Decide(rec.in)
	if compute, is := rec.decision.Action.(release.ComputePlan); is {
		if rec, err = r.computePlan(ctx, rec, compute); err != nil {
			return r.block(ctx, rec, err)
		}
		if rec, err = r.observer.takeTurn(ctx, rec); err != nil {
			return r.block(ctx, rec, err)
		}
		rec.decision = release.Decide(rec.in)
	}
	if rec, err = r.followPlan(ctx, rec); err != nil {
		return r.block(ctx, rec, err)
	}
	d := rec.decision
	ctrl.LoggerFrom(ctx).Info("decided", "rule", d.Rule, "action", release.Name(d.Action), "why", d.Why)
	if d.Acts() {
		return r.act(ctx, rec)
	}
	return r.settle(ctx, rec)
}

// withDesired returns rec with the desired state, and with the observed state that needs no reads:
// the last record that was too large, the last time in sync, and the Operations that hold the lock
// or wait for it.
func (r *Reconciler) withDesired(ctx context.Context, rec reconciliation) (reconciliation, error) {
	rec, err := r.inputs.read(ctx, rec)
	if err != nil {
		return rec, err
	}
	r.comparer.follows(rec.key(), rec.want.Desired)
	have := &rec.in.Observed
	have.Denied, have.Baking = status.Denied(rec.hr.Status), status.Baking(rec.hr.Status)
	have.Overridden, have.Replaces = r.plans.Overridden(rec.hr), r.plans.Replaces(rec.hr)
	r.memory.With(rec.key(), func(m *memory) {
		have.Oversized, have.Synced, have.Accepted = m.refusal, m.sync.lastFound(rec.hr), m.accepted
	})
	return rec, r.locks.Observe(ctx, rec.hr, rec.in.Now, have)
}

// publishObstacle publishes an obstacle.
func (r *Reconciler) block(ctx context.Context, rec reconciliation, err error) (ctrl.Result, error) {
	return r.publisher.publishObstacle(ctx, rec, r.explain(rec, err))
}

// explain returns an obstacle with what is known about the connection of the release.
func (r *Reconciler) explain(rec reconciliation, err error) error {
	if rec.conn == nil {
		return err
	}
	return r.connections.Explain(rec.hr, rec.conn, err)
}

// rehearse reports the decision or the obstacle. Nothing is stored, so that no release counts as in
// sync without being observed.
func (r *Reconciler) rehearse(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	rec, err := r.withDesired(ctx, rec)
	if err == nil {
		// The controller that leads computes the plan that a user requests.
		rec.in.Desired.Requests.Plan = ""
		rec, err = r.observer.rehearse(ctx, rec)
	}
	var pause time.Duration
	if err != nil {
		r.metrics.Reconciliation(metrics.RuleBlocked)
		pause = r.rehearsal.Blocked(ctx, rec.read, r.explain(rec, err))
	} else {
		d := release.Decide(rec.in)
		r.metrics.Reconciliation(d.Rule)
		pause = r.rehearsal.Decided(ctx, rec.read, rec.in, d)
	}
	return r.requeue(rec.key(), release.Interval(pause)), nil
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
	case release.Settle, release.Stall, release.Forget, release.ComputePlan,
		release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return r.publisher.publishDecision(ctx, rec)
}

// finalize removes the source of spec.chart and the finalizer of the HelmRelease.
func (r *Reconciler) finalize(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	rec, err := r.actor.finalize(ctx, rec)
	if err != nil {
		return r.publisher.publishObstacle(ctx, rec, err)
	}
	r.publisher.emit(rec.hr, status.Finalized(rec.decision, rec.in))
	r.metrics.Reconciliation(rec.decision.Rule)
	return ctrl.Result{}, nil
}

// act announces the action and starts it. The action must not start if the announcement cannot be
// written.
func (r *Reconciler) act(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	want, err := r.inputs.withChart(ctx, rec.hr, rec.want, rec.decision.HelmAction())
	if err != nil {
		return r.publisher.publishObstacle(ctx, rec, err)
	}
	rec.want = want
	if rec.want.Secrets, err = r.inputs.secrets(ctx, rec); err != nil {
		return r.publisher.publishObstacle(ctx, rec, err)
	}
	if rec.skips, err = r.skips(ctx, rec); err != nil {
		return r.publisher.publishObstacle(ctx, rec, err)
	}
	if rec, err = r.actor.accept(ctx, rec); err != nil {
		return r.publisher.endUnwritten(rec.read, err)
	}
	if err := r.publisher.announce(ctx, rec); err != nil {
		return r.publisher.endUnwritten(rec.read, err)
	}
	if !r.actor.start(ctx, rec) {
		// The next reconciliation decides the same again.
		return r.requeue(rec.key(), release.After(controller.StaleRetry)), nil
	}
	return ctrl.Result{}, nil
}

// skips returns the hooks that an upgrade may leave out, because Operations have run them. They are read
// after the version of the HelmRelease that the announcement guards: an Operation that unlocks the
// release later makes the announcement fail. A resumed upgrade has the choice in its record.
func (r *Reconciler) skips(ctx context.Context, rec reconciliation) ([]release.Skip, error) {
	upgrade, upgrades := rec.decision.HelmAction().(release.Upgrade)
	if !upgrades || upgrade.Resume != 0 {
		return nil, nil
	}
	all, err := r.locks.Skipping(ctx, rec.hr)
	if err != nil {
		return nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not read the Operations that have run hooks of the upgrade")
	}
	if len(all) == 0 {
		return nil, nil
	}
	return operation.Skippable(all, rec.hr, plans.InputsOf(rec.hr, rec.in, upgrade), rec.in.Observed.Revisions), nil
}

// isStale reports whether hr is a version that the last write of its status replaced, and when to
// read it again.
func (r *Reconciler) isStale(hr *helmv2.HelmRelease) (pause time.Duration, stale bool) {
	r.memory.With(client.ObjectKeyFromObject(hr), func(m *memory) {
		pause, stale = m.replaced.Pause(r.now()), m.replaced.Is(hr.ResourceVersion)
	})
	return pause, stale
}

// unread ends the reconciliation of a HelmRelease that could not be read. A HelmRelease that no
// longer exists is forgotten. It may also belong to another shard now, whose controller resumes the
// action: an action that runs here stops and leaves everything as it is.
func (r *Reconciler) unread(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	r.attempts.Cancel(key, release.ErrShutdown)
	r.attempts.Forget(key)
	r.backoff.Forget(key)
	r.connections.Forget(key)
	r.dependency.Forget(key)
	r.comparer.forget(key)
	r.metrics.Forget(key)
	if r.rehearsal != nil {
		r.rehearsal.Forget(key)
	}
	r.memory.Forget(key)
	return nil
}

// observeDuration records the duration of a reconciliation.
func (r *Reconciler) observeDuration(key types.NamespacedName, started time.Time) {
	r.metrics.ReconcileDuration(key, r.now().Sub(started))
}
