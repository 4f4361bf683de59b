// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func (r *run) uninstall(job Job, a release.Uninstall) error {
	spec := job.Spec.Uninstall
	if spec == nil {
		spec = new(uninstallSpec)
	}
	u := action.NewUninstall(r.config)
	u.Timeout = a.Timeout
	u.DisableHooks = spec.DisableHooks
	u.KeepHistory = spec.KeepHistory
	u.Wait = !spec.DisableWait
	u.DeletionPropagation = string(spec.GetDeletionPropagation())
	// An index that is behind would make the release look uninstalled, and leave it.
	if err := r.store.ListLive(); err != nil {
		return err
	}
	_, err := u.Run(a.Target.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) || err != nil && r.alreadyUninstalled(a.Target.Name) {
		return nil
	}
	// Helm drops the errors of single objects; the client kept them.
	if deletion := r.client.deletionErrors(); err != nil && deletion != nil {
		return fmt.Errorf("%w: %w", err, deletion)
	}
	return err
}

// alreadyUninstalled reports whether an uninstall that stored nothing had nothing
// to do: Helm refuses to uninstall once more what it keeps the history of.
func (r *run) alreadyUninstalled(name string) bool {
	if len(r.store.Revisions()) > 0 {
		return false
	}
	last, err := r.config.Releases.Last(name)
	return err == nil && last.Info.Status == helmrelease.StatusUninstalled
}

// unlock marks a pending revision as failed whose action does not run any more. It does
// nothing if the status of the revision has changed in the meantime.
func (r *run) unlock(a release.Unlock) error {
	rel, err := r.config.Releases.Get(a.Target.Name, a.Version)
	if err != nil {
		return err
	}
	if helmv2.ReleaseStatus(rel.Info.Status) != a.Status {
		return nil
	}
	rel.SetStatus(helmrelease.StatusFailed, fmt.Sprintf("Release unlocked from stale '%s' state", a.Status))
	return r.config.Releases.Update(rel)
}

// defaultMaxHistory applies where the spec does not say.
const defaultMaxHistory = 5

func (j *Job) maxHistory() int {
	if j.Spec.MaxHistory == nil {
		return defaultMaxHistory
	}
	return *j.Spec.MaxHistory
}
