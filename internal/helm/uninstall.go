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
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// uninstall uninstalls the release.
func (r *run) uninstall(ctx context.Context, a release.Uninstall) error {
	spec := r.job.Spec.GetUninstall()
	u := action.NewUninstall(r.config)
	u.Timeout = a.Timeout
	u.DisableHooks = spec.DisableHooks
	u.KeepHistory = spec.KeepHistory
	u.Wait = !spec.DisableWait
	u.DeletionPropagation = string(spec.GetDeletionPropagation())
	// With an outdated index, an existing release would look uninstalled.
	if err := r.store.ListLive(); err != nil {
		return err
	}
	if err := checkRemoval(ctx, r); err != nil {
		return err
	}
	if a.Reinstall {
		if err := r.deleteOldHooks(); err != nil {
			return err
		}
	}
	if !spec.DisableHooks {
		r.gate.Start = func(newest *helmrelease.Release) error {
			return r.client.CheckRemovalHooks(newest)
		}
	}
	r.client.Leftovers.BeforeUninstall()
	_, err := u.Run(a.Target.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) || err != nil && r.alreadyUninstalled(a.Target.Name) {
		return nil
	}
	if err != nil && r.interruption() == nil {
		err = errors.Join(err, r.gate.Hooks.Fail())
	}
	// Helm's error does not contain the errors of single objects.
	if deletion := r.client.DeletionErrors(); err != nil && deletion != nil {
		return fmt.Errorf("%w: %w", err, deletion)
	}
	return err
}

// deleteOldHooks deletes the hooks that an interrupted install, and earlier uninstalls of such
// installs, have created. The next install and its uninstall have the same revision number, so that
// their hooks may have the same names.
func (r *run) deleteOldHooks() error {
	// The gate would give the hooks of this revision to the caller, and not to Helm.
	last, err := helmstorage.Init(r.store).Last(r.job.target().Name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if a, err := r.store.AttemptOn(last.Version); err != nil || a != nil && a.Action == helmv2.ActionUninstall {
		// The uninstall is resumed, and the hooks may be its own.
		return err
	}
	for _, h := range last.Hooks {
		if err := r.client.Leftovers.DeleteHook(h.Manifest, storage.AttemptPrefix(r.job.Desired.UID, last.Version)); err != nil {
			return fmt.Errorf("delete hook %s of an interrupted action: %w", h.Path, err)
		}
	}
	return nil
}

// alreadyUninstalled reports whether the release was uninstalled before this job. If its history
// was kept, Helm returns an error for another uninstall.
func (r *run) alreadyUninstalled(name string) bool {
	if len(r.store.Revisions()) > 0 {
		return false
	}
	last, err := r.config.Releases.Last(name)
	return err == nil && last.Info.Status == helmrelease.StatusUninstalled
}

// unlock marks a pending revision as failed whose action no longer runs. It does nothing if
// the status of the revision has changed in the meantime.
func unlock(releases *helmstorage.Storage, a release.Unlock) error {
	rel, err := releases.Get(a.Target.Name, a.Version)
	if err != nil {
		return err
	}
	if helmv2.ReleaseStatus(rel.Info.Status) != a.Status {
		return nil
	}
	rel.SetStatus(helmrelease.StatusFailed, fmt.Sprintf("Release unlocked from stale '%s' state", a.Status))
	return releases.Update(rel)
}
