// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// observe reads what is installed into in, each thing only if the decision can
// depend on it. It returns the way it took, which is the one for an action too.
func (r *HelmReleaseReconciler) observe(ctx context.Context, hr *helmv2.HelmRelease, want inputs.Want, running *release.Running, in *release.Input) (*cluster.Connection, error) {
	have := &in.Observed
	have.Running = running
	if want.Deleted && running == nil && !want.Suspended {
		have.Dependents = r.dependentsOf(ctx, hr)
	}
	if !release.MustReadHistory(want.Desired, hr.Status, running) {
		return nil, nil //nolint:nilnil // nothing is to be read, and nothing to be done that would need a way
	}
	var way *cluster.Connection
	var err error
	if way, have.Unreachable, err = r.where.reach(ctx, hr); err != nil || have.Unreachable != "" {
		return nil, err
	}
	if held, takes := way.TokenState(); takes {
		r.metrics.TokenRequested(client.ObjectKeyFromObject(hr), held)
	}
	if err = r.survey(ctx, hr, way, want, in); err != nil {
		return nil, r.where.explain(hr, way, err)
	}
	return way, nil
}

// survey reads what is stored, and what else the decision can depend on.
func (r *HelmReleaseReconciler) survey(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, in *release.Input) error {
	have := &in.Observed
	target := release.StoredTarget(want.Desired, hr.Status)
	if err := r.stored(ctx, hr, way, target, in, r.helm.History); err != nil {
		return err
	}
	if release.MustConfirm(*in) {
		if err := r.stored(ctx, hr, way, target, in, r.helm.LiveHistory); err != nil {
			return err
		}
	}
	r.warnOfMove(hr, way, target, *have)
	if release.MustCheckTarget(*in) {
		var err error
		have.Target, err = r.checkTarget(ctx, hr, way, want, in)
		return err
	}
	return r.inspect(ctx, hr, way, want, in)
}

// historyOf reads the revisions of a release.
type historyOf func(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)

// stored reads the revisions of a release, and which other HelmReleases ask for it or made
// them.
func (r *HelmReleaseReconciler) stored(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, target release.Target, in *release.Input, read historyOf) error {
	have := &in.Observed
	have.Stray = nil
	var err error
	if have.Conflicts, err = r.rivals(ctx, hr, target); err != nil {
		return err
	}
	have.Revisions, err = read(ctx, way, target, hr.Status.History)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine release state")
	}
	if err := r.findStray(ctx, hr, way, in); err != nil {
		return err
	}
	return r.addMakers(ctx, hr, have.Revisions, &have.Conflicts)
}

// list reads the objects of a revision that is about to be adopted. That it is
// adopted matters more than that they are known.
func (r *HelmReleaseReconciler) list(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, in *release.Input) {
	newest := in.Observed.Newest()
	want.Target = release.ObservedTarget(*in)
	objects, err := r.helm.Inventory(ctx, way, r.job(hr, want, release.Adopt{}), newest.Version)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("the objects of an adopted revision cannot be listed", "revision", newest.Version, "cause", err.Error())
		return
	}
	in.Observed.Inventory = objects
}

// inspect reads what only some decisions depend on.
func (r *HelmReleaseReconciler) inspect(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, in *release.Input) error {
	have := &in.Observed
	if want.Policy.PreserveValues && len(have.Revisions) > 0 && want.Values != nil {
		var err error
		have.PreservedDigest, err = r.helm.Preserved(ctx, way, release.ObservedTarget(*in), have.Revisions, want.Values)
		if err != nil {
			return release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine which values are preserved")
		}
	}
	newest := have.Newest()
	if release.MustCompare(*in) {
		var err error
		have.Drift, err = r.compare(ctx, hr, way, want, newest)
		return err
	}
	if !release.MustInspect(*in) {
		return nil
	}
	health, err := r.helm.Health(ctx, way, r.job(hr, want, release.Recheck{Version: newest.Version}), newest.Version)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine the health of revision %d", newest.Version)
	}
	have.Health = &health
	return nil
}
