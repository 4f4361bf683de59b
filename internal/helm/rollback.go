// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// rollback rolls the release back to a stored revision.
func (r *run) rollback(ctx context.Context, a release.Rollback) error {
	target := r.job.Desired.Target
	if a.Resume == 0 && a.Plan.Digest != "" {
		if err := checkRollbackPlan(ctx, r, a); err != nil {
			return err
		}
	}
	if err := checkRollback(r.config.Releases, target, a.Version); err != nil {
		return err
	}
	if !r.store.Proven(a.Version) {
		return r.errChanged(a.Version)
	}
	spec := r.job.Spec.GetRollback()
	if spec.Recreate { //nolint:staticcheck // the deprecated field gets a warning
		r.logs.Printf("spec.rollback.recreate has no effect")
	}
	mode := spec.GetServerSideApply()
	if a.Resume != 0 {
		mode = apply.ModeOf(r.store.ApplyMethod(a.Resume) == storage.ServerSide)
	}
	r.chooseMethod(mode, a.Version, spec.Force)
	if a.Resume == 0 {
		r.gate.Limit = r.checkRecord
	}
	if !spec.DisableHooks {
		r.gate.Check = func(next *helmrelease.Release) error {
			return r.client.HookTargets.Check(next.Hooks, nil, helmrelease.HookPreRollback, helmrelease.HookPostRollback)
		}
	}
	u := action.NewRollback(r.config)
	u.Version = a.Version
	u.Timeout = a.Timeout
	u.Wait = !spec.DisableWait
	u.WaitForJobs = !spec.DisableWaitForJobs
	u.DisableHooks = spec.DisableHooks
	u.Force = spec.Force
	u.CleanupOnFail = spec.CleanupOnFail
	u.MaxHistory = r.job.Spec.GetMaxHistory()
	err := u.Run(target.Name)
	if err == nil {
		return nil
	}
	return errors.Join(err, failRollback(r.config.Releases, target.Name, r.store.Revisions(), err))
}

// checkRollback checks that a revision can be rolled back to. Helm's error contains no name, and
// Helm would roll back to a revision of another namespace.
func checkRollback(releases *helmstorage.Storage, target release.Target, version int) error {
	full := fmt.Sprintf("%s/%s.v%d", target.Namespace, target.Name, version)
	rel, err := releases.Get(target.Name, version)
	if err != nil {
		return fmt.Errorf("revision %s to return to: %w", full, err)
	}
	if rel.Name != target.Name || rel.Namespace != target.Namespace {
		return fmt.Errorf("revision %s to return to belongs to release %s/%s", full, rel.Namespace, rel.Name)
	}
	return nil
}

// failRollback marks a pending rollback as failed. Helm does not do that if a hook fails, and no
// action is possible on a pending release.
func failRollback(releases *helmstorage.Storage, name string, stored []release.Revision, cause error) error {
	for _, rev := range stored {
		if rev.Status != helmv2.StatusPendingRollback {
			continue
		}
		rel, err := releases.Get(name, rev.Version)
		if err != nil {
			return err
		}
		rel.SetStatus(helmrelease.StatusFailed, fmt.Sprintf("Rollback %q failed: %s", name, cause))
		if err := releases.Update(rel); err != nil {
			return err
		}
	}
	return nil
}
