// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// heal waits for the objects of a failed revision and marks it deployed. It does
// nothing if the revision has moved on in the meantime.
func (r *run) heal(job Job, a release.Recheck) error {
	name := job.Desired.Target.Name
	rel, err := r.config.Releases.Last(name)
	if err != nil {
		return err
	}
	if rel.Version != a.Version {
		return fmt.Errorf("revision %d of release %s is not the newest, which is %d", a.Version, name, rel.Version)
	}
	if rel.Info.Status != helmrelease.StatusFailed {
		return nil
	}
	list, err := r.client.Build(strings.NewReader(rel.Manifest), false)
	if err != nil {
		return fmt.Errorf("objects of revision %d: %w", rel.Version, err)
	}
	made := actionOf(rel)
	if err := r.client.waiter.UntilReady(list, a.Timeout, job.waitsForJobs(made), nil); err != nil {
		if r.client.ctx.Err() != nil {
			return err
		}
		return errors.Join(err, r.markFailed(rel, made, err))
	}
	return r.markDeployed(rel, made)
}

// markFailed notes that another look found rel as it was. From now on it is no
// longer a revision that was merely cut off, and the time of the note is when it
// failed last.
func (r *run) markFailed(rel *helmrelease.Release, made helmv2.ReleaseAction, cause error) error {
	verb := "Upgrade"
	if made == helmv2.ActionInstall {
		verb = "Release"
	}
	rel.Labels = withoutCut(rel.Labels)
	rel.SetStatus(helmrelease.StatusFailed, fmt.Sprintf("%s %q failed: %s", verb, rel.Name, cause))
	return r.config.Releases.Update(rel)
}

// withoutCut returns labels that do not say that the action was cut off.
func withoutCut(labels map[string]string) map[string]string {
	rest := maps.Clone(labels)
	delete(rest, helmv2.LabelInterrupted)
	delete(rest, helmv2.LabelOutdated)
	return rest
}

// actionOf returns the action that made a revision: Helm does not record it, but
// what it says of the failure, and what an unlock says, differ.
func actionOf(rel *helmrelease.Release) helmv2.ReleaseAction {
	said := rel.Info.Description
	switch {
	case strings.HasPrefix(said, "Upgrade "), strings.Contains(said, "'"+string(helmv2.StatusPendingUpgrade)+"'"):
		return helmv2.ActionUpgrade
	case strings.HasPrefix(said, "Rollback "), strings.Contains(said, "'"+string(helmv2.StatusPendingRollback)+"'"):
		return helmv2.ActionRollback
	case rel.Info.FirstDeployed.Equal(rel.Info.LastDeployed):
		return helmv2.ActionInstall
	}
	// "Release failed" is said of installs and rollbacks.
	return helmv2.ActionRollback
}

// markDeployed supersedes what was deployed and then marks rel. After a crash in
// between rel is still failed, so that it will be healed again; the other way
// round two revisions would be deployed, without another recheck.
func (r *run) markDeployed(rel *helmrelease.Release, made helmv2.ReleaseAction) error {
	deployed, err := r.config.Releases.DeployedAll(rel.Name)
	if err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return err
	}
	for _, old := range deployed {
		old.Info.Status = helmrelease.StatusSuperseded
		if err := r.config.Releases.Update(old); err != nil {
			return err
		}
	}
	rel.Labels = withoutCut(rel.Labels)
	description := "Upgrade complete"
	if made == helmv2.ActionInstall {
		description = "Install complete"
	}
	if made == helmv2.ActionRollback {
		// Helm would say to which revision, but that is not recorded.
		description = "Rollback complete"
	}
	rel.SetStatus(helmrelease.StatusDeployed, description)
	return r.config.Releases.Update(rel)
}

// waitsForJobs reports whether the wait of an action includes Jobs. Whether that
// action waits at all does not matter: who asks wants to know.
func (j *Job) waitsForJobs(made helmv2.ReleaseAction) bool {
	hr := helmv2.HelmRelease{Spec: j.Spec}
	if made == helmv2.ActionInstall {
		return !hr.GetInstall().DisableWait && !hr.GetInstall().DisableWaitForJobs
	}
	if made == helmv2.ActionRollback {
		return !hr.GetRollback().DisableWait && !hr.GetRollback().DisableWaitForJobs
	}
	return !hr.GetUpgrade().DisableWait && !hr.GetUpgrade().DisableWaitForJobs
}
