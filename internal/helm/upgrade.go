// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/values"
)

// upgrade returns the settings of an upgrade.
func (r *run) upgrade(a release.Upgrade) settings {
	spec := r.job.Spec.GetUpgrade()
	target := r.job.Desired.Target
	s := settings{
		timeout: a.Timeout, mode: spec.GetServerSideApply(), force: spec.Force, crds: spec.GetCRDs(),
		takeOwnership: !spec.DisableTakeOwnership, validate: !spec.DisableOpenAPIValidation, insist: a.Insist, skipSchemas: spec.DisableSchemaValidation,
		hooks: !spec.DisableHooks, event: helmrelease.HookPreUpgrade,
	}
	if spec.PreserveValues {
		s.preserve = func() (all, defaults map[string]any, err error) {
			return preserveValues(r.config.Releases, r.store, target.Name, r.job.Values)
		}
	}
	s.start = func(config *action.Configuration, text render.Text) error {
		u := action.NewUpgrade(config)
		u.Namespace, u.Timeout = target.Namespace, a.Timeout
		u.MaxHistory = r.job.Spec.GetMaxHistory()
		u.TakeOwnership = !spec.DisableTakeOwnership
		u.Wait = !spec.DisableWait
		u.WaitForJobs = !spec.DisableWaitForJobs
		u.DisableHooks = spec.DisableHooks
		u.DisableOpenAPIValidation = spec.DisableOpenAPIValidation
		u.Force = spec.Force
		u.CleanupOnFail = spec.CleanupOnFail
		u.PostRenderer = text
		// The rendered text contains the preserved values already.
		u.ResetValues = true
		u.Devel = true
		u.SkipCRDs = true
		_, err := u.Run(target.Name, text.Chart(), map[string]any{})
		return err
	}
	return s
}

// preserveValues returns the values of an upgrade that preserves the values of the release, and the
// defaults of its chart; nil for the defaults of the archive. The chart gets the values as its
// defaults, as with Helm's option to reuse values. Helm would process the dependencies of the chart
// before that, without the values that may enable them. It would also change the values of the
// stored revision, which it stores again.
func preserveValues(releases *helmstorage.Storage, store *storage.Driver, name string, vals map[string]any) (all, defaults map[string]any, err error) {
	base, err := preservedRevision(releases, name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		// Helm returns this error as well.
		return vals, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !store.Proven(base.Version) {
		return nil, nil, errNotPreserved(base)
	}
	defaults, err = chartutil.CoalesceValues(base.Chart, values.CloneMap(base.Config))
	if err != nil {
		return nil, nil, fmt.Errorf("values of revision %d: %w", base.Version, err)
	}
	return values.Preserve(base.Config, vals), defaults, nil
}

// errNotPreserved returns the error of an upgrade that would preserve values of another client.
func errNotPreserved(base *helmrelease.Release) error {
	return fmt.Errorf("nothing proves that this HelmRelease made revision %d of release %s, so that its values are not preserved; "+
		"move them to spec.values, and set spec.upgrade.preserveValues to false for the next upgrade", base.Version, base.Name)
}

// preservedRevision returns the revision whose values an upgrade preserves: the deployed one, or
// the last one if none is deployed.
func preservedRevision(releases *helmstorage.Storage, name string) (*helmrelease.Release, error) {
	last, err := releases.Last(name)
	if err != nil || last.Info.Status == helmrelease.StatusDeployed {
		return last, err
	}
	deployed, err := releases.Deployed(name)
	if errors.Is(err, driver.ErrNoDeployedReleases) {
		return last, nil
	}
	return deployed, err
}
