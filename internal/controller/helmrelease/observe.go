// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/plans"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

// observer reads the observed state of releases.
type observer struct {
	*environment
	inputs     *inputReader
	comparer   *comparer
	owners     owners
	dependents dependency.Dependents
	debouncer  *debouncer
	plans      *plans.Planner
}

// observation reads the facts of one release. rec gets the connection by which the release is read. An
// action uses the same connection.
type observation struct {
	*observer
	ctx context.Context //nolint:containedctx // it lives as long as one reconciliation
	rec reconciliation
}

// observe returns rec with the observed state. An error comes with what was known before, and with
// the connection if there is one.
func (o *observer) observe(ctx context.Context, rec reconciliation) (reconciliation, error) {
	run := &observation{observer: o, ctx: ctx, rec: rec}
	return run.observe(run.read)
}

// takeTurn returns rec with its turn in the rollouts of its policies, if the decision depends on that
// with the plan that was computed meanwhile.
func (o *observer) takeTurn(ctx context.Context, rec reconciliation) (reconciliation, error) {
	run := &observation{observer: o, ctx: ctx, rec: rec}
	in, err := release.ObserveAfter(rec.in, release.FactPlan, run.read)
	rec.in = in
	return rec, err
}

// rehearse observes as observe does, for a process that changes nothing: a comparison of live objects
// sends dry runs, which are writes.
func (o *observer) rehearse(ctx context.Context, rec reconciliation) (reconciliation, error) {
	run := &observation{observer: o, ctx: ctx, rec: rec}
	return run.observe(func(in release.Input, fact release.Fact) (release.Input, error) {
		if fact == release.FactDrift {
			return in, nil
		}
		return run.read(in, fact)
	})
}

func (o *observation) observe(read func(release.Input, release.Fact) (release.Input, error)) (reconciliation, error) {
	in, err := release.Observe(o.rec.in, read)
	if err != nil {
		return o.rec, err
	}
	return o.with(in), nil
}

// with returns the reconciliation with the present input.
func (o *observation) with(in release.Input) reconciliation {
	o.rec.in = in
	return o.rec
}

// read returns in with one fact.
func (o *observation) read(in release.Input, fact release.Fact) (release.Input, error) {
	have := &in.Observed
	var err error
	switch fact {
	case release.FactDependents:
		have.Dependents = o.dependents.Of(o.ctx, o.rec.hr)
	case release.FactConnection:
		o.rec.conn, have.Unreachable, err = o.connect(o.ctx, o.rec)
	case release.FactRevisions:
		return o.revisions(in, false)
	case release.FactConfirmation:
		return o.revisions(in, true)
	case release.FactRevision:
		return o.revision(in)
	case release.FactTarget:
		have.Target, err = o.target(in)
	case release.FactPreserved:
		have.PreservedDigest, err = o.preservedDigest(in)
	case release.FactHealth:
		have.Health, err = o.health(in)
	case release.FactBake:
		have.Bake, err = o.bake(in)
	case release.FactDrift:
		have.Renderings = o.comparer.renderings(o.with(in), have.Newest(), in.Now)
		have.Drift, err = o.comparer.compare(o.ctx, o.with(in), have.Newest())
	case release.FactDebounce:
		have.Debounce = o.debouncer.Burst(o.ctx, o.rec.hr, in)
	case release.FactNamespace:
		have.Terminating = o.dependents.IsTerminating(o.ctx, o.rec.hr.Namespace)
	case release.FactPlan:
		o.rec.plan, have.Plan, err = o.plans.Find(o.ctx, o.planQuery(o.with(in), release.PlannedAction(in)))
	case release.FactTurn:
		have.Turn, err = o.rollouts.Turn(o.ctx, o.rec.hr, in)
	}
	return in, err
}

// connect opens the connection to the cluster of a release. unreachable states why the cluster can
// never be reached again; it is empty otherwise.
func (e *environment) connect(ctx context.Context, rec reconciliation) (conn *cluster.Connection, unreachable string, err error) {
	conn, unreachable, err = e.connections.Find(ctx, rec.hr)
	if err != nil || unreachable != "" {
		return nil, unreachable, err
	}
	if held, takes := conn.TokenState(); takes {
		e.metrics.TokenRequested(rec.key(), held)
	}
	return conn, "", nil
}

// unread returns the obstacle for the error of a read by the connection of the release.
func (o *observation) unread(err error, format string, args ...any) error {
	return o.connections.ExplainDenial(o.ctx, o.rec.hr, release.BlockedBy(helmv2.ReasonStateError, err, format, args...))
}

// revisions returns in with the stored revisions and the other HelmReleases that request or created the
// release. live requires data from the API server instead of a cache.
func (o *observation) revisions(in release.Input, live bool) (release.Input, error) {
	target, history := release.StoredTarget(in.Desired, in.Recorded), o.helm.History
	if live {
		history = o.helm.LiveHistory
	}
	others, err := o.owners.ofRelease(o.ctx, o.rec.hr, target)
	if err != nil {
		return in, err
	}
	stored, err := history(o.ctx, o.rec.conn, target, in.Recorded.History)
	if err != nil {
		return in, o.unread(err, "Could not determine release state")
	}
	in = in.WithRevisions(stored, nil)
	if in.Observed.Conflicts, err = withProofs(in.Desired, target, in.Recorded.History, in.Observed.Revisions, others, o.proof(target)); err != nil {
		return in, err
	}
	if release.MustFindStray(in) {
		stray, stored, err := o.stray(in)
		if err != nil {
			return in, err
		}
		if stray != nil {
			in = in.WithStray(stray, stored)
		}
	}
	in.Observed.Conflicts, err = o.owners.withMakers(o.ctx, o.rec.hr, in.Observed.Revisions, in.Observed.Conflicts)
	if err == nil && (live || !release.MustConfirm(in)) {
		o.warnOfMove(o.with(in), target)
	}
	return in, err
}

// proof returns a function that reads a stored revision to verify the history of another
// HelmRelease.
func (o *observation) proof(target release.Target) func(int, helmv2.Snapshots) (*release.Revision, error) {
	return func(version int, history helmv2.Snapshots) (*release.Revision, error) {
		found, err := o.helm.Revision(o.ctx, o.rec.conn, target, version, history)
		if err != nil {
			return nil, o.unread(err, "Could not determine the owner of the release")
		}
		return found, nil
	}
}

func (o *observation) revision(in release.Input) (release.Input, error) {
	version := release.MustReadRevision(in)
	found, err := o.helm.Revision(o.ctx, o.rec.conn, release.ObservedTarget(in), version, in.Recorded.History)
	if err != nil {
		return in, o.unread(err, "Could not read revision %d", version)
	}
	return in.WithRevision(version, found), nil
}

func (o *observation) preservedDigest(in release.Input) (digest string, err error) {
	values := o.rec.want.Values
	if values == nil {
		return "", nil
	}
	if digest, err = o.helm.PreservedDigest(o.ctx, o.rec.conn, in, values); err != nil {
		return "", o.unread(err, "Could not determine which values are preserved")
	}
	return digest, nil
}

func (o *observation) health(in release.Input) (*release.Health, error) {
	version := in.Observed.Newest().Version
	health, err := o.helm.Health(o.ctx, o.rec.conn, o.readRequest(o.with(in), version))
	if err != nil {
		return nil, o.unread(err, "Could not determine the health of revision %d", version)
	}
	return &health, nil
}

// bake looks at the objects of a release that is watched. The time since which objects are not ready is in
// the memory of the process.
func (o *observation) bake(in release.Input) (*release.Bake, error) {
	newest := in.Observed.Newest()
	pods, err := evidence.New(o.rec.conn)
	if err != nil {
		return nil, err
	}
	found, err := o.helm.LookAtBake(o.ctx, o.rec.conn, o.readRequest(o.with(in), newest.Version), helm.BakeLook{
		Exprs: in.Desired.Demands.Bake().Exprs, Since: release.BakeStart(newest), Pods: pods,
	})
	if expr, is := errors.AsType[*helm.BakeExprError](err); is {
		return nil, release.BlockedBy(helmv2.ReasonPolicyUnavailable, expr, "The expressions of a policy cannot be evaluated")
	}
	if err != nil {
		return nil, o.unread(err, "Could not determine the state of the objects of revision %d", newest.Version)
	}
	o.memory.With(o.rec.key(), func(m *memory) {
		if len(found.Waiting) == 0 || m.unreadyRevision != newest.Version {
			m.unreadySince, m.unreadyRevision = time.Time{}, newest.Version
		}
		if len(found.Waiting) > 0 && m.unreadySince.IsZero() {
			m.unreadySince = in.Now
		}
		found.UnreadySince = m.unreadySince
	})
	return &found, nil
}

// inventory returns the objects of the newest revision, which is about to be adopted. The adoption
// does not depend on them: without them, the result is the inventory that was observed before.
func (o *observer) inventory(ctx context.Context, rec reconciliation) []release.Object {
	newest := rec.in.Observed.Newest()
	rec.want.Target = release.ObservedTarget(rec.in)
	objects, err := o.helm.Inventory(ctx, rec.conn, o.readRequest(rec, newest.Version))
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("the objects of an adopted revision cannot be listed", "revision", newest.Version, "cause", err.Error())
		return rec.in.Observed.Inventory
	}
	return objects
}
