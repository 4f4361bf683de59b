// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/plans"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// planQuery returns the question for the plan of an action of rec.
func (e *environment) planQuery(rec reconciliation, action release.HelmAction) plans.Query {
	q := plans.Query{HR: rec.hr, In: rec.in, Action: action}
	e.memory.With(rec.key(), func(m *memory) { q.Void = m.void })
	if _, requested := release.PlanRequested(rec.in); requested {
		q.Token = rec.in.Desired.Requests.Plan
	}
	return q
}

// computePlan computes the plan of an action and stores it, and returns rec with the plan.
func (r *Reconciler) computePlan(ctx context.Context, rec reconciliation, do release.ComputePlan) (reconciliation, error) {
	compute := func(ctx context.Context, of v1alpha1.PlanAction, inputs string) (found plan.Plan, err error) {
		rec := rec
		if of != v1alpha1.PlanUninstall && of != v1alpha1.PlanRollback {
			if rec.want, err = r.inputs.withChart(ctx, rec.hr, rec.want, release.Install{}); err != nil {
				return found, err
			}
		}
		// The Secrets of a release that is deleted or suspended have not been read.
		if rec.want.Secrets, err = r.inputs.secrets(ctx, rec); err != nil {
			return found, err
		}
		return r.helm.Plan(ctx, rec.conn, r.job(rec, do.Of), helm.PlanRequest{Action: of, Inputs: inputs})
	}
	stored, found, err := r.plans.Compute(ctx, r.planQuery(rec, do.Of), rec.plan, compute)
	if err == nil {
		rec.plan, rec.in.Observed.Plan = stored, found
	}
	return rec, err
}

// followPlan brings the ReleasePlan up to date with the decision, and records a request for it as
// handled. It returns rec with a connection if it needed one.
func (r *Reconciler) followPlan(ctx context.Context, rec reconciliation) (reconciliation, error) {
	rec, err := r.assessPlan(ctx, rec)
	if err != nil {
		return rec, err
	}
	in := rec.in
	err = r.plans.Follow(ctx, rec.hr, in, rec.decision, func(ctx context.Context) (err error) {
		if rec.conn == nil && !in.Desired.Suspension.Active && !in.Desired.Deletion.Orphan {
			// Nothing was read after the uninstall. The text stays if the access is gone meanwhile.
			if rec.conn, _, err = r.connect(ctx, rec); controller.IsTransient(err) {
				return err
			}
		}
		if rec.conn == nil {
			return nil
		}
		return r.helm.DeletePlan(ctx, rec.conn, in.Desired.Target)
	})
	if err == nil {
		return rec, nil
	}
	return rec, release.BlockedBy(helmv2.ReasonStateError, err, "Could not update the ReleasePlan")
}

// assessPlan writes what policies and users make of the plan that the decision depends on.
func (r *Reconciler) assessPlan(ctx context.Context, rec reconciliation) (reconciliation, error) {
	found := rec.in.Observed.Plan
	if found == nil {
		return rec, nil
	}
	if err := r.plans.Assess(ctx, rec.plan, found); err != nil {
		return rec, err
	}
	r.memory.With(rec.key(), func(m *memory) {
		if m.void != found.Digest {
			m.void = ""
		}
	})
	if _, requested := release.PlanRequested(rec.in); !requested {
		return rec, nil
	}
	return r.markHandled(ctx, rec, v1alpha1.AnnotationPlan, rec.in.Desired.Requests.Plan)
}
