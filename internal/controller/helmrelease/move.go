// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// stray returns the target and the revisions of an interrupted install whose target neither spec
// nor status still names, if there is one.
func (o *observation) stray(in release.Input) (*release.Target, []release.Revision, error) {
	namespace := in.Recorded.StorageNamespace
	stray, revisions, err := o.helm.Stray(o.ctx, o.rec.conn, namespace, in.Desired.UID)
	if err != nil {
		return nil, nil, o.unread(err, "Could not determine whether an install that was interrupted has left a release in namespace %s", namespace)
	}
	return stray, revisions, nil
}

// target checks whether the release can be installed at the target of the spec. It does not
// wait for a download: the end of a download triggers another reconciliation.
func (o *observation) target(in release.Input) (*release.TargetCheck, error) {
	ctx, rec := o.ctx, o.with(in)
	install := release.Install{Timeout: rec.want.Policy.Install.Timeout}
	want, err := o.inputs.withChart(ctx, rec.hr, rec.want, install)
	if err != nil {
		return nil, err
	}
	rec.want = want
	old, target := release.ObservedTarget(rec.in), rec.want.Target
	found, err := o.helm.CheckTarget(ctx, rec.conn, o.job(rec, install), old)
	if err != nil {
		return nil, o.unread(err, "The release is to move, and is kept until it is known whether it can be installed as %s/%s", target.Namespace, target.Name)
	}
	if release.SameRecords(target, old) {
		// The other HelmReleases that request these records are known.
		return &found, nil
	}
	others, err := o.owners.ofRelease(ctx, rec.hr, target)
	if err != nil {
		return nil, err
	}
	if found.Conflicts, err = withProofs(in.Desired, target, nil, found.Revisions, others, o.proof(target)); err != nil {
		return nil, err
	}
	found.Conflicts, err = o.owners.withMakers(ctx, rec.hr, found.Revisions, found.Conflicts)
	return &found, err
}

// warnOfMove sends an event if the release seems to have stayed in another cluster: it does not
// exist in the present one, and will be installed there, or not uninstalled. An uninstall that was
// not recorded looks the same. So for a HelmRelease that is being deleted, the event is sent only
// if this process has observed the move.
func (o *observer) warnOfMove(rec reconciliation, target release.Target) {
	hr, now := rec.hr, place{name: "the controller's own cluster", host: rec.conn.Host()}
	if hr.Spec.KubeConfig != nil {
		now.name = "the cluster of " + controller.ConnectionReference(hr)
	}
	var before place
	o.memory.With(rec.key(), func(m *memory) { before, m.place = m.place, now })
	if len(rec.in.Observed.Revisions) > 0 || !hr.DeletionTimestamp.IsZero() && before.host == "" {
		return
	}
	if why := leftBehind(&hr.Status, target, hr.Spec.KubeConfig != nil, before, now); why != "" {
		controller.Emit(o.events, hr, status.LeftBehind(why))
	}
}

// leftBehind returns the message about the recorded release that is not stored at target in the
// present cluster; empty if nothing stays behind. Status does not record the cluster: before is
// empty after a restart, and then only a kubeconfig makes another cluster likely.
func leftBehind(status *helmv2.HelmReleaseStatus, target release.Target, remote bool, before, now place) string {
	last := release.Latest(status.History)
	if last == nil || last.Status == helmv2.StatusUninstalled || before.host == now.host ||
		last.Name != target.Name || last.Namespace != target.Namespace || status.StorageNamespace != target.StorageNamespace {
		return ""
	}
	what := fmt.Sprintf("Helm release %s/%s.v%d", last.Namespace, last.Name, last.Version)
	switch {
	case before.name == now.name:
		return fmt.Sprintf("%s stays behind and will not be uninstalled: %s is not the one it was", what, now.name)
	case before.name != "":
		return fmt.Sprintf("%s stays behind in %s and will not be uninstalled: its HelmRelease leads to %s now", what, before.name, now.name)
	case remote:
		return fmt.Sprintf("%s is not in %s: if it was installed in another cluster, it stays behind there and will not be uninstalled", what, now.name)
	}
	return ""
}
