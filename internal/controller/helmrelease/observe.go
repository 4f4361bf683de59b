// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/debounce"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/release"
)

// observer reads what is installed. It reads each thing only if the decision can depend on it.
type observer struct {
	*environment
	inputs     *inputReader
	comparer   *comparer
	owners     owners
	dependents dependency.Dependents
	debouncer  *debounce.Debouncer
}

// observe returns rec with the complete input of the decision, and with the connection by which
// the release was read. An action uses the same connection.
func (o *observer) observe(ctx context.Context, rec reconciliation) (reconciliation, error) {
	rec.in.Observed.Running = rec.running
	if rec.want.Deleted && rec.running == nil && !rec.want.Suspension.Active {
		rec.in.Observed.Dependents = o.dependents.Of(ctx, rec.hr)
	}
	rec, err := o.release(ctx, rec)
	if err != nil {
		return rec, err
	}
	rec.in.Observed.Debounce = o.debouncer.Burst(ctx, rec.hr, rec.in)
	return rec, nil
}

// release returns rec with what is observed of the release.
func (o *observer) release(ctx context.Context, rec reconciliation) (reconciliation, error) {
	if !release.MustReadHistory(rec.want.Desired, rec.hr.Status, rec.running) {
		return rec, nil
	}
	conn, unreachable, err := o.connections.Find(ctx, rec.hr)
	if err != nil || unreachable != "" {
		rec.in.Observed.Unreachable = unreachable
		return rec, err
	}
	if held, takes := conn.TokenState(); takes {
		o.metrics.TokenRequested(rec.key(), held)
	}
	rec.conn = conn
	if rec, err = o.survey(ctx, rec); err != nil {
		return rec, o.connections.Explain(rec.hr, conn, err)
	}
	return rec, nil
}

// survey returns rec with the revisions of the release and with what depends on them.
func (o *observer) survey(ctx context.Context, rec reconciliation) (reconciliation, error) {
	target := release.StoredTarget(rec.want.Desired, rec.hr.Status)
	rec, err := o.history(ctx, rec, target, o.helm.History)
	if err != nil {
		return rec, err
	}
	if release.MustConfirm(rec.in) {
		if rec, err = o.history(ctx, rec, target, o.helm.LiveHistory); err != nil {
			return rec, err
		}
	}
	o.warnOfMove(rec, target)
	if release.MustCheckTarget(rec.in) {
		rec.in.Observed.Target, err = o.checkTarget(ctx, rec)
		return rec, err
	}
	return o.inspect(ctx, rec)
}

// readHistory reads the revisions of a release.
type readHistory func(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)

// history returns rec with the revisions of a release, and with the other HelmReleases that ask
// for the release or made revisions of it.
func (o *observer) history(ctx context.Context, rec reconciliation, target release.Target, read readHistory) (reconciliation, error) {
	have := &rec.in.Observed
	have.Stray = nil
	var err error
	if have.Conflicts, err = o.owners.ofRelease(ctx, rec.hr, target); err != nil {
		return rec, err
	}
	have.Revisions, err = read(ctx, rec.conn, target, rec.hr.Status.History)
	if err != nil {
		return rec, release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine release state")
	}
	if rec, err = o.findStray(ctx, rec); err != nil {
		return rec, err
	}
	rec.in.Observed.Conflicts, err = o.owners.withMakers(ctx, rec.hr, rec.in.Observed.Revisions, rec.in.Observed.Conflicts)
	return rec, err
}

// inspect returns rec with what only some decisions depend on.
func (o *observer) inspect(ctx context.Context, rec reconciliation) (reconciliation, error) {
	have := &rec.in.Observed
	var err error
	if rec.want.Policy.PreserveValues && len(have.Revisions) > 0 && rec.want.Values != nil {
		have.PreservedDigest, err = o.helm.Preserved(ctx, rec.conn, release.ObservedTarget(rec.in), have.Revisions, rec.want.Values)
		if err != nil {
			return rec, release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine which values are preserved")
		}
	}
	newest := have.Newest()
	if release.MustCompare(rec.in) {
		have.Drift, err = o.comparer.compare(ctx, rec, newest)
		return rec, err
	}
	if !release.MustInspect(rec.in) {
		return rec, nil
	}
	health, err := o.helm.Health(ctx, rec.conn, o.job(rec, release.Recheck{Version: newest.Version}), newest.Version)
	if err != nil {
		return rec, release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine the health of revision %d", newest.Version)
	}
	have.Health = &health
	return rec, nil
}

// inventory returns the objects of the newest revision, which is about to be adopted. The adoption
// does not depend on them: without them, the result is what was observed before.
func (o *observer) inventory(ctx context.Context, rec reconciliation) []release.Object {
	newest := rec.in.Observed.Newest()
	rec.want.Target = release.ObservedTarget(rec.in)
	objects, err := o.helm.Inventory(ctx, rec.conn, o.job(rec, release.Adopt{}), newest.Version)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("the objects of an adopted revision cannot be listed", "revision", newest.Version, "cause", err.Error())
		return rec.in.Observed.Inventory
	}
	return objects
}
