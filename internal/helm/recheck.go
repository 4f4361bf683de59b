// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// recheck waits for the objects of a failed revision and marks it deployed. It does nothing if the
// status of the revision has changed in the meantime.
func (r *run) recheck(ctx context.Context, a release.Recheck) error {
	name := r.job.Desired.Target.Name
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
	if !r.store.Proven(a.Version) {
		return r.errChanged(a.Version)
	}
	list, err := r.client.Build(strings.NewReader(rel.Manifest), false)
	if err != nil {
		return fmt.Errorf("objects of revision %d: %w", rel.Version, err)
	}
	made := storage.ActionOf(rel)
	if err := r.client.Waiter.UntilReady(list, a.Timeout, wait.Readiness{Jobs: waitsForJobs(r.job.Spec, made)}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return errors.Join(err, markFailed(r.config.Releases, rel, made, err))
	}
	return markDeployed(r.config.Releases, rel, made)
}

// markFailed stores that the objects of a failed revision are still not ready. The revision counts
// as failed from now on, even if its action was interrupted.
func markFailed(releases *helmstorage.Storage, rel *helmrelease.Release, made helmv2.ReleaseAction, cause error) error {
	verb := "Upgrade"
	if made == helmv2.ActionInstall {
		verb = "Release"
	}
	rel.Labels = withoutActionLabels(rel.Labels)
	rel.SetStatus(helmrelease.StatusFailed, fmt.Sprintf("%s %q failed: %s", verb, rel.Name, cause))
	return releases.Update(rel)
}

// failBake marks a deployed revision as failed. The record loses the label of a revision whose objects
// were all applied: such a one would be marked deployed again as soon as they are ready, and a container
// that fails every few minutes is ready in between.
func (r *run) failBake(ctx context.Context, a release.FailBake) error {
	name := r.job.Desired.Target.Name
	rel, err := r.config.Releases.Last(name)
	if err != nil {
		return err
	}
	if rel.Version != a.Version || rel.Info.Status != helmrelease.StatusDeployed {
		return nil
	}
	if !r.store.Proven(a.Version) {
		return r.errChanged(a.Version)
	}
	made := storage.ActionOf(rel)
	var cause error
	if a.Trouble != nil {
		cause = fmt.Errorf("%w: %s", errBaked, a.Trouble.Summary)
	} else {
		list, err := r.client.Build(strings.NewReader(rel.Manifest), false)
		if err != nil {
			return fmt.Errorf("objects of revision %d: %w", rel.Version, err)
		}
		err = r.client.Waiter.UntilReady(list, a.Timeout, wait.Readiness{Jobs: waitsForJobs(r.job.Spec, made)})
		if err == nil || ctx.Err() != nil {
			return err
		}
		cause = fmt.Errorf("%w: %w", errBaked, err)
	}
	rel.Labels = withoutActionLabels(rel.Labels)
	delete(rel.Labels, helmv2.LabelApplied)
	return errors.Join(cause, markFailed(r.config.Releases, rel, made, cause))
}

// errBaked is the cause of a failure after a revision was deployed.
var errBaked = errors.New("its objects were ready, and are in trouble now")

// withoutActionLabels returns labels without the labels of interrupted and outdated actions.
func withoutActionLabels(labels map[string]string) map[string]string {
	rest := maps.Clone(labels)
	delete(rest, helmv2.LabelInterrupted)
	delete(rest, helmv2.LabelOutdated)
	return rest
}

// markDeployed marks the deployed revisions as superseded, and then rel as deployed. After a crash
// in between, rel is still failed, so that it is rechecked again. In the other order, two revisions
// would be deployed, without another recheck.
func markDeployed(releases *helmstorage.Storage, rel *helmrelease.Release, made helmv2.ReleaseAction) error {
	deployed, err := releases.DeployedAll(rel.Name)
	if err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return err
	}
	for _, old := range deployed {
		old.Info.Status = helmrelease.StatusSuperseded
		if err := releases.Update(old); err != nil {
			return err
		}
	}
	rel.Labels = withoutActionLabels(rel.Labels)
	description := "Upgrade complete"
	if made == helmv2.ActionInstall {
		description = "Install complete"
	}
	if made == helmv2.ActionRollback {
		// Helm's description contains the target revision, which is not recorded.
		description = "Rollback complete"
	}
	rel.SetStatus(helmrelease.StatusDeployed, description)
	return releases.Update(rel)
}
