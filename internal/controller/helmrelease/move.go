// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// findStray returns rec with the revisions of an interrupted install whose target neither the spec
// nor status names any more, if there is one. This HelmRelease made the newest of them, so that
// no other one owns the release.
func (o *observer) findStray(ctx context.Context, rec reconciliation) (reconciliation, error) {
	if !release.MustFindStray(rec.in) {
		return rec, nil
	}
	namespace := rec.hr.Status.StorageNamespace
	stray, revisions, err := o.helm.Stray(ctx, rec.conn, namespace, rec.in.Desired.UID)
	if err != nil {
		return rec, release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine whether an install that was interrupted has left a release in namespace %s", namespace)
	}
	if stray != nil {
		have := &rec.in.Observed
		have.Stray, have.Revisions, have.Conflicts = stray, revisions, nil
	}
	return rec, nil
}

// checkTarget checks whether the release can be installed at the target of the spec. It does not
// wait for a download: the end of a download triggers another reconciliation.
func (o *observer) checkTarget(ctx context.Context, rec reconciliation) (*release.TargetCheck, error) {
	install := release.Install{Timeout: rec.want.Policy.Install.Timeout}
	want, err := o.inputs.withChart(ctx, rec.hr, rec.want, install)
	if err != nil {
		return nil, err
	}
	rec.want = want
	old, target := release.ObservedTarget(rec.in), rec.want.Target
	found, err := o.helm.CheckTarget(ctx, rec.conn, o.job(rec, install), old)
	if err != nil {
		return nil, release.BlockedBy(helmv2.ReasonStateError, err,
			"The release is to move, and is kept until it is known whether it can be installed as %s/%s", target.Namespace, target.Name)
	}
	if release.SameRecords(target, old) {
		// The other HelmReleases that ask for these records are known.
		return &found, nil
	}
	if found.Conflicts, err = o.owners.ofRelease(ctx, rec.hr, target); err != nil {
		return nil, err
	}
	found.Conflicts, err = o.owners.withMakers(ctx, rec.hr, found.Revisions, found.Conflicts)
	return &found, err
}
