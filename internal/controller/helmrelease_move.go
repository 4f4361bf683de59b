// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// findStray replaces the revisions in in by those of an install that was begun, and
// whose place neither the spec nor status names any more, if there is one. The newest
// of them is of this HelmRelease, so that no other one owns the release.
func (r *HelmReleaseReconciler) findStray(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, in *release.Input) error {
	if !release.MustFindStray(*in) {
		return nil
	}
	have, namespace := &in.Observed, hr.Status.StorageNamespace
	stray, revisions, err := r.helm.Stray(ctx, way, namespace, in.Desired.UID)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine whether an install that was interrupted has left a release in namespace %s", namespace)
	}
	if stray == nil {
		return nil
	}
	have.Stray, have.Revisions, have.Conflicts = stray, revisions, nil
	return nil
}

// checkTarget checks whether the release can be installed where the spec wants it by
// now. It waits for no download: the end of one triggers another reconciliation.
func (r *HelmReleaseReconciler) checkTarget(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, in *release.Input) (*release.TargetCheck, error) {
	install := release.Install{Timeout: want.Policy.Install.Timeout}
	held, err := r.hold(ctx, hr, want, install)
	if err != nil {
		return nil, err
	}
	old := release.ObservedTarget(*in)
	found, err := r.helm.CheckTarget(ctx, way, r.job(hr, held, install), old)
	if err != nil {
		return nil, release.BlockedBy(helmv2.ReasonStateError, err,
			"The release is to move, and is kept until it is known whether it can be installed as %s/%s", want.Target.Namespace, want.Target.Name)
	}
	if release.SameRecords(want.Target, old) {
		// Who else asks for these is known already.
		return &found, nil
	}
	if found.Conflicts, err = r.rivals(ctx, hr, want.Target); err != nil {
		return nil, err
	}
	return &found, r.addMakers(ctx, hr, found.Revisions, &found.Conflicts)
}
