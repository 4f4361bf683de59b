// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/plans"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/plan"
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

// observation is one run of release.Observe. rec gets the connection by which the release is read.
// An action uses the same connection.
type observation struct {
	*observer
	ctx context.Context //nolint:containedctx // it lives as long as one reconciliation
	rec reconciliation
	// live is true if the revisions were read from the API server.
	live bool
}

var _ release.Observer = (*observation)(nil)

// with returns the reconciliation with the present input.
func (o *observation) with(in release.Input) reconciliation {
	o.rec.in = in
	return o.rec
}

func (o *observation) Dependents() []release.Dependent { return o.dependents.Of(o.ctx, o.rec.hr) }

func (o *observation) Connect() (unreachable string, err error) {
	conn, unreachable, err := o.connections.Find(o.ctx, o.rec.hr)
	if err != nil || unreachable != "" {
		return unreachable, err
	}
	if held, takes := conn.TokenState(); takes {
		o.metrics.TokenRequested(o.rec.key(), held)
	}
	o.rec.conn = conn
	return "", nil
}

// unread returns the obstacle for the error of a read by the connection of the release.
func (o *observation) unread(err error, format string, args ...any) error {
	return o.connections.Denied(o.ctx, o.rec.hr, release.BlockedBy(helmv2.ReasonStateError, err, format, args...))
}

func (o *observation) History(in release.Input, live bool) ([]release.Revision, []release.Conflict, error) {
	o.live = live
	target, read := release.StoredTarget(in.Desired, in.Recorded), o.helm.History
	if live {
		read = o.helm.LiveHistory
	}
	others, err := o.owners.ofRelease(o.ctx, o.rec.hr, target)
	if err != nil {
		return nil, nil, err
	}
	revisions, err := read(o.ctx, o.rec.conn, target, in.Recorded.History)
	if err != nil {
		return nil, nil, o.unread(err, "Could not determine release state")
	}
	revisions = release.BelieveAll(revisions, in.Desired.UID, in.Recorded.History)
	conflicts, err := withProofs(in.Desired, target, in.Recorded.History, revisions, others, o.proof(target))
	return revisions, conflicts, err
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

func (o *observation) Revision(in release.Input, version int) (*release.Revision, error) {
	found, err := o.helm.Revision(o.ctx, o.rec.conn, release.ObservedTarget(in), version, in.Recorded.History)
	if err != nil {
		return nil, o.unread(err, "Could not read revision %d", version)
	}
	return found, nil
}

func (o *observation) Makers(in release.Input) ([]release.Conflict, error) {
	conflicts, err := o.owners.withMakers(o.ctx, o.rec.hr, in.Observed.Revisions, in.Observed.Conflicts)
	if in.Observed.Conflicts = conflicts; err == nil && (o.live || !release.MustConfirm(in)) {
		o.warnOfMove(o.with(in), release.StoredTarget(in.Desired, in.Recorded))
	}
	return conflicts, err
}

func (o *observation) PreservedDigest(in release.Input) (string, error) {
	values := o.rec.want.Values
	if values == nil {
		return "", nil
	}
	digest, err := o.helm.Preserved(o.ctx, o.rec.conn, in, values)
	if err != nil {
		return "", o.unread(err, "Could not determine which values are preserved")
	}
	return digest, nil
}

func (o *observation) Renderings(in release.Input) release.Renderings {
	return o.comparer.renderings(o.with(in), in.Observed.Newest(), in.Now)
}

func (o *observation) Drift(in release.Input) (*release.Drift, error) {
	return o.comparer.compare(o.ctx, o.with(in), in.Observed.Newest())
}

func (o *observation) Health(in release.Input) (*release.Health, error) {
	version := in.Observed.Newest().Version
	health, err := o.helm.Health(o.ctx, o.rec.conn, o.readRequest(o.with(in), version))
	if err != nil {
		return nil, o.unread(err, "Could not determine the health of revision %d", version)
	}
	return &health, nil
}

func (o *observation) Debounce(in release.Input) *release.Debounce {
	return o.debouncer.Burst(o.ctx, o.rec.hr, in)
}

func (o *observation) Terminating() bool {
	return o.dependents.IsTerminating(o.ctx, o.rec.hr.Namespace)
}

func (o *observation) Plan(in release.Input, action release.HelmAction) (*release.Plan, error) {
	rec := o.with(in)
	q := plans.Query{HR: rec.hr, In: in, Action: action}
	o.memory.With(rec.key(), func(m *memory) { q.Void = m.void })
	if _, requested := release.PlanRequested(in); requested {
		q.Token = in.Desired.Requests.Plan
	}
	q.Compute = func(ctx context.Context, of v1alpha1.PlanAction, inputs string) (plan.Plan, error) {
		return o.compute(ctx, rec, action, helm.PlanRequest{Action: of, Inputs: inputs})
	}
	found, err := o.plans.Plan(o.ctx, q)
	if err != nil {
		return nil, err
	}
	o.memory.With(rec.key(), func(m *memory) {
		if m.void != found.Digest {
			m.void = ""
		}
	})
	if q.Token != "" {
		o.rec, err = o.handled(o.ctx, o.rec, v1alpha1.AnnotationPlan, q.Token)
	}
	return found, err
}

// compute computes the plan of an action. The secrets of a release that is deleted or suspended have
// not been read.
func (o *observation) compute(ctx context.Context, rec reconciliation, action release.HelmAction, q helm.PlanRequest) (found plan.Plan, err error) {
	if q.Action != v1alpha1.PlanUninstall && q.Action != v1alpha1.PlanRollback {
		if rec.want, err = o.inputs.withChart(ctx, rec.hr, rec.want, release.Install{}); err != nil {
			return found, err
		}
		if rec.want.Layers != nil {
			q.Layers = rec.want.Layers()
		}
	}
	if rec.want.Secrets, err = o.inputs.secrets(ctx, rec); err != nil {
		return found, err
	}
	return o.helm.Plan(ctx, rec.conn, o.job(rec, action), q)
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
