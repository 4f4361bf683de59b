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
}

// deadline is the time for all reads and dry runs of a reconciliation together.
const deadline = 2 * time.Minute

// Reconcile brings one HelmRelease one step closer to its desired state. release.Reconcile calls
// the steps:
//
//	Record   writes the outcome of an action that has ended  status
//	Inputs   reads the desired state                         inputs
//	Observe  reads the installed state                       helm, drift
//	Decide   returns the next action                         release
//	Act      announces the action, then begins it            attempt, helm, drift
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	slot, err := r.turns.Begin(ctx, req.NamespacedName)
	if err != nil {
		// The controller shuts down.
		return ctrl.Result{}, nil
	}
	defer slot.End()
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
	if r.rehearsal != nil {
		return release.Reconcile(&rehearsedSteps{r.steps(ctx, hr)})
	}
	if pause, stale := r.isStale(hr); stale {
		return r.requeue(req.NamespacedName, release.After(pause)), nil
	}
	if present, err := r.actor.ensureFinalizer(ctx, hr); !present {
		return r.publisher.unwritten(hr, err)
	}
	r.debouncer.Observe(ctx, hr)
	if result := r.publisher.answered(ctx, hr); result != nil {
		return *result, nil
	}
	return release.Reconcile(r.steps(ctx, hr))
}

// steps are the steps of one reconciliation.
type steps struct {
	observation
	r *Reconciler
}

var _ release.Reconciler[ctrl.Result] = (*steps)(nil)

func (r *Reconciler) steps(ctx context.Context, hr *helmv2.HelmRelease) *steps {
	return &steps{r: r, observation: observation{observer: r.observer, ctx: ctx, rec: reconciliation{read: hr, hr: hr}}}
}

// Record publishes the outcome of an action.
func (s *steps) Record() (ctrl.Result, bool, error) {
	// In this order: an action that ends in between counts as ended.
	s.rec.running = s.r.attempts.Running(s.rec.key())
	outcome, ended := s.r.actor.ended(s.rec.hr)
	if !ended {
		return ctrl.Result{}, false, nil
	}
	result, err := s.r.publisher.finished(s.ctx, s.rec.hr, outcome)
	return result, true, err
}

// Inputs returns the desired state, and the observed state that needs no reads: the last record
// that was too large, the last time in sync, and the Operations that hold the lock or wait for it.
func (s *steps) Inputs() (release.Input, error) {
	var err error
	if s.rec, err = s.r.inputs.read(s.ctx, s.rec); err != nil {
		return s.rec.in, err
	}
	s.r.comparer.follows(s.rec.key(), s.rec.want.Desired)
	have := &s.rec.in.Observed
	have.Denied = status.Denied(s.rec.hr.Status)
	s.r.memory.With(s.rec.key(), func(m *memory) {
		have.Oversized, have.Synced, have.Accepted = m.refusal, m.sync.lastFound(s.rec.hr), m.accepted
	})
	return s.rec.in, s.r.locks.Observe(s.ctx, s.rec.hr, s.rec.in.Now, have)
}

// Cached ends the reconciliation of a release that was found in sync and has not changed since.
func (s *steps) Cached(in release.Input, left time.Duration) (ctrl.Result, error) {
	return s.r.publisher.unchanged(s.with(in), left), nil
}

// Blocked publishes an obstacle.
func (s *steps) Blocked(err error) (ctrl.Result, error) {
	if s.rec.conn != nil {
		err = s.r.connections.Explain(s.rec.hr, s.rec.conn, err)
	}
	return s.r.publisher.blocked(s.ctx, s.rec, err)
}

// decided returns the reconciliation with its decision.
func (s *steps) decided(in release.Input, d release.Decision) reconciliation {
	s.rec.decision = d
	ctrl.LoggerFrom(s.ctx).Info("decided", "rule", d.Rule, "action", release.Name(d.Action), "why", d.Why)
	return s.with(in)
}

// Settle ends a reconciliation whose decision is no action of Helm.
func (s *steps) Settle(in release.Input, d release.Decision) (ctrl.Result, error) {
	if err := s.followPlan(in, d); err != nil {
		return s.Blocked(err)
	}
	return s.r.settle(s.ctx, s.decided(in, d))
}

// Act announces the action and begins it.
func (s *steps) Act(in release.Input, d release.Decision) (ctrl.Result, error) {
	if err := s.followPlan(in, d); err != nil {
		return s.Blocked(err)
	}
	return s.r.act(s.ctx, s.decided(in, d))
}

// followPlan brings the plan of the release up to date with a decision.
func (s *steps) followPlan(in release.Input, d release.Decision) error {
	err := s.r.plans.Follow(s.ctx, s.rec.hr, in, d, func(ctx context.Context) error {
		if s.rec.conn == nil && !in.Desired.Suspension.Active && !in.Desired.Deletion.Orphan {
			// Nothing was read after the uninstall. The text stays if the access is gone meanwhile.
			if _, err := s.Connect(); controller.IsTransient(err) {
				return err
			}
		}
		if s.rec.conn == nil {
			return nil
		}
		return s.r.helm.DeletePlan(ctx, s.rec.conn, in.Desired.Target)
	})
	if err == nil {
		return nil
	}
	return release.BlockedBy(helmv2.ReasonStateError, err, "Could not update the ReleasePlan")
}

// rehearsedSteps are the steps of a process that only observes. They report the decision or the
// obstacle. Nothing is stored, so that no release counts as in sync without being observed.
type rehearsedSteps struct{ *steps }

// Record returns false: no action runs in this process.
func (s *rehearsedSteps) Record() (ctrl.Result, bool, error) { return ctrl.Result{}, false, nil }

// Drift returns nil: the comparison would send dry runs, which are writes. The controller that leads
// corrects drift, too.
func (s *rehearsedSteps) Drift(release.Input) (*release.Drift, error) {
	return nil, nil //nolint:nilnil // drift is optional, as for a release without drift detection
}

// Plan returns nil: a plan would be stored.
func (s *rehearsedSteps) Plan(release.Input, release.HelmAction) (*release.Plan, error) {
	return nil, nil //nolint:nilnil // a plan is optional, as for an action that no policy holds
}

// Blocked reports an obstacle.
func (s *rehearsedSteps) Blocked(err error) (ctrl.Result, error) {
	if s.rec.conn != nil {
		err = s.r.connections.Explain(s.rec.hr, s.rec.conn, err)
	}
	s.r.metrics.Reconciliation(metrics.RuleBlocked)
	return s.r.requeue(s.rec.key(), release.Interval(s.r.rehearsal.Blocked(s.ctx, s.rec.read, err))), nil
}

// Settle reports a decision that runs no action.
func (s *rehearsedSteps) Settle(in release.Input, d release.Decision) (ctrl.Result, error) {
	s.r.metrics.Reconciliation(d.Rule)
	return s.r.requeue(s.rec.key(), release.Interval(s.r.rehearsal.Decided(s.ctx, s.rec.read, in, d))), nil
}

// Act reports a decision that would run an action.
func (s *rehearsedSteps) Act(in release.Input, d release.Decision) (ctrl.Result, error) {
	return s.Settle(in, d)
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
	want, err := r.inputs.withChart(ctx, rec.hr, rec.want, rec.decision.HelmAction())
	if err != nil {
		return r.publisher.blocked(ctx, rec, err)
	}
	rec.want = want
	if rec.want.Secrets, err = r.inputs.secrets(ctx, rec); err != nil {
		return r.publisher.blocked(ctx, rec, err)
	}
	if rec, err = r.actor.accept(ctx, rec); err != nil {
		return r.publisher.unwritten(rec.read, err)
	}
	if err := r.publisher.announce(ctx, rec); err != nil {
		return r.publisher.unwritten(rec.read, err)
	}
	if !r.actor.begin(ctx, rec) {
		// The next reconciliation decides the same again.
		return r.requeue(rec.key(), release.After(controller.StaleRetry)), nil
	}
	return ctrl.Result{}, nil
}

// isStale reports whether hr is a version that the last write of its status replaced, and when to
// read it again.
func (r *Reconciler) isStale(hr *helmv2.HelmRelease) (pause time.Duration, stale bool) {
	r.memory.With(client.ObjectKeyFromObject(hr), func(m *memory) {
		pause, stale = m.replaced.Pause(r.now()), m.replaced.Is(hr.ResourceVersion)
	})
	return pause, stale
}

// unread ends the reconciliation of a HelmRelease that could not be read. One that does not exist
// any more is forgotten. It may also be the HelmRelease of another shard now, whose controller
// resumes the action: one that runs here stops and leaves everything as it is.
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

// observeDuration records the duration of a reconciliation that began at a time.
func (r *Reconciler) observeDuration(key types.NamespacedName, begun time.Time) {
	r.metrics.ReconcileDuration(key, r.now().Sub(begun))
}
