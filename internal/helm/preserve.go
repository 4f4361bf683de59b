// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// Preserved returns the digest of the values that an upgrade to vals would
// record if it keeps those it replaces. Stored is what History returned; only one
// of its revisions is read again. It does not change vals.
func (r *Runner) Preserved(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, stored []release.Revision, vals map[string]any) (string, error) {
	if len(stored) == 0 {
		return values.Digest(vals)
	}
	store, err := r.storage.Open(ctx, getter, target, storage.Options{ReadCache: true})
	if err != nil {
		return "", err
	}
	version := preserving(stored)
	base, err := store.Revision(version)
	if err != nil {
		return "", fmt.Errorf("values of revision %d of release %s in namespace %s: %w", version, target.Name, target.StorageNamespace, err)
	}
	return values.Digest(merged(base, vals))
}

// preserving returns the revision whose values an upgrade keeps: the newest that
// is deployed, or else the newest.
func preserving(stored []release.Revision) int {
	deployed := slices.IndexFunc(stored, func(r release.Revision) bool { return r.Status == helmv2.StatusDeployed })
	return stored[max(deployed, 0)].Version
}

// preserve returns the values of an upgrade that keeps those of the release, and
// gives them to the chart as its defaults, as Helm does when it is told to reuse
// values. Helm would do so only after the chart's dependencies were processed,
// without the values that may switch them on, and would change the values of the
// release that it is about to store again.
func (r *run) preserve(name string, c *helmchart.Chart, values map[string]any) (map[string]any, error) {
	base, err := r.preservedRelease(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		// Helm will say so.
		return values, nil
	}
	if err != nil {
		return nil, err
	}
	defaults, err := chartutil.CoalesceValues(base.Chart, cloned(base.Config))
	if err != nil {
		return nil, fmt.Errorf("values of revision %d: %w", base.Version, err)
	}
	c.Values = defaults
	return merged(base, values), nil
}

func (r *run) preservedRelease(name string) (*helmrelease.Release, error) {
	last, err := r.config.Releases.Last(name)
	if err != nil || last.Info.Status == helmrelease.StatusDeployed {
		return last, err
	}
	deployed, err := r.config.Releases.Deployed(name)
	if errors.Is(err, driver.ErrNoDeployedReleases) {
		return last, nil
	}
	return deployed, err
}

// merged returns values over those of a revision, and shares nothing with either.
func merged(base *helmrelease.Release, values map[string]any) map[string]any {
	all := cloned(values)
	coalesce(all, cloned(base.Config))
	return all
}

// coalesce puts under values those that are kept, as Helm does, but without a word:
// Helm prints what it cannot merge. Null takes a value away; where there is none
// it stays, and takes away the chart's default.
func coalesce(values, kept map[string]any) {
	for key, value := range kept {
		above, ok := values[key]
		if !ok {
			values[key] = value
			continue
		}
		if above == nil && value != nil {
			delete(values, key)
			continue
		}
		upper, isMap := above.(map[string]any)
		lower, wasMap := value.(map[string]any)
		if isMap && wasMap {
			coalesce(upper, lower)
		}
	}
}

// cloned returns a copy that is never nil.
func cloned(values map[string]any) map[string]any {
	all := make(map[string]any, len(values))
	for key, value := range values {
		all[key] = clonedValue(value)
	}
	return all
}

func clonedValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return cloned(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = clonedValue(v[i])
		}
		return all
	}
	return value
}
