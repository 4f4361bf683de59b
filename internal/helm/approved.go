// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// errOtherAction is the error of a job with the plan of another action.
func errOtherAction() error {
	return fmt.Errorf("%w: the plan is about another action", release.ErrPlanVoid)
}

// readPlan reads the approved plan of the job, whose text is applied in place of the rendered chart.
func (c *creation) readPlan(ctx context.Context) error {
	content, err := approvedPlan(ctx, c.run)
	if err != nil {
		return err
	}
	action := v1alpha1.PlanUpgrade
	if c.installs {
		action = v1alpha1.PlanInstall
	}
	if content.Text == nil || content.Action != action && !(content.Action == v1alpha1.PlanReinstall && c.installs) {
		return errOtherAction()
	}
	c.approved, c.rendered = content, content.Text.Rendered()
	c.chart = remote.Chart{Name: c.job.Desired.Chart.Name, Version: c.job.Desired.Chart.Version, Values: content.Text.Values}
	c.files = remote.CRDs{Files: content.Text.Files()}
	return nil
}

// approvedPlan returns the approved plan of a job.
func approvedPlan(ctx context.Context, r *run) (*planning.Content, error) {
	store, err := planning.Open(r.getter, r.job.planTarget())
	if err != nil {
		return nil, err
	}
	return store.Read(ctx, r.job.plan().Digest)
}

// checkPlan returns release.ErrPlanVoid if the action would change anything else than the approved
// plan states. After the uninstall of a reinstall, only the text counts: the objects are gone.
func (c *creation) checkPlan(ctx context.Context) error {
	if c.approved.Action == v1alpha1.PlanReinstall {
		return nil
	}
	if err := c.readBase(nil); err != nil {
		return err
	}
	found, err := c.forecast(ctx, c.approved.Text, nil, nil)
	if err != nil {
		return err
	}
	return comparePlan(c.approved, c.job.plan().Digest, c.gate.Newest, found)
}

// comparePlan returns release.ErrPlanVoid if the changes, or the base revision, are not those of the
// plan with a digest.
func comparePlan(p *planning.Content, digest string, base int, found *planning.Changes) error {
	if plan.Digest(p.Inputs, base, p.Text.Digest(), plan.ChangesDigest(found.Objects, found.CRDs)) != digest {
		return release.ErrPlanVoid
	}
	return nil
}

// checkRemoval is checkPlan for an uninstall. An uninstall that has begun goes on, and one that has
// ended has nothing to change.
func checkRemoval(ctx context.Context, r *run) error {
	digest := r.job.plan().Digest
	if digest == "" {
		return nil
	}
	before, err := removalOf(r)
	if err != nil || before.release == nil {
		return err
	}
	begun, err := r.store.AttemptOn(before.release.Version)
	if err != nil || begun != nil && begun.Action == helmv2.ActionUninstall && begun.Plan == digest {
		return err
	}
	content, err := approvedPlan(ctx, r)
	if err != nil {
		return err
	}
	found := before.changes
	switch content.Action {
	case v1alpha1.PlanUninstall:
	case v1alpha1.PlanReinstall:
		if found, err = reinstalled(ctx, r, content.Text, before); err != nil {
			return err
		}
	case v1alpha1.PlanInstall, v1alpha1.PlanUpgrade, v1alpha1.PlanRollback:
		return errOtherAction()
	}
	return comparePlan(content, digest, before.release.Version, found)
}

// reinstalled returns the changes of the uninstall of a job and of the install that follows.
func reinstalled(ctx context.Context, r *run, text *planning.Text, before *removal) (*planning.Changes, error) {
	next, err := r.runner.prepare(ctx, r.getter, r.job.creating(), r.redact)
	if err != nil {
		return nil, err
	}
	defer next.client.Close()
	c := creationOf(ctx, next)
	if err := c.readBase(before); err != nil {
		return nil, err
	}
	return c.forecast(ctx, text, before, nil)
}
