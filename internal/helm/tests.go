// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/pintle-dev/pintle/internal/release"
)

// test runs the tests of the release.
func (r *run) test(ctx context.Context, a release.Test) error {
	whole := &wholeRelease{Driver: r.store, ctx: ctx, read: r.findings.addRevisions}
	config := *r.config
	config.Releases = helmstorage.Init(whole)
	config.Releases.Log = r.logs.Printf
	t := action.NewReleaseTesting(&config)
	t.Timeout = a.Timeout
	t.Namespace = r.job.Desired.Target.Namespace
	t.Filters = filters(r.job.Desired.Policy.TestFilters)
	rel, err := t.Run(r.job.Desired.Target.Name)
	if err == nil || rel == nil {
		return err
	}
	if names := whole.failed(rel); len(names) > 0 {
		return fmt.Errorf("test %s failed: %w", strings.Join(names, ", "), err)
	}
	return err
}

// filters returns the filters in the form of Helm. Helm applies both kinds, so a name that is in
// both is excluded.
func filters(all []release.TestFilter) map[string][]string {
	byKind := map[string][]string{}
	for _, f := range all {
		kind := action.IncludeNameFilter
		if f.Exclude {
			kind = action.ExcludeNameFilter
		}
		byKind[kind] = append(byKind[kind], f.Name)
	}
	return byKind
}

// wholeRelease is a storage driver for tests. Helm filters tests by removing hooks from the
// release, stores the release in that form while tests run, and then adds the hooks in another
// order. If the process died in the meantime, the release would have lost its hooks. Otherwise the
// record would look changed by another client. So the driver always stores the hooks that it read.
type wholeRelease struct {
	driver.Driver
	ctx context.Context //nolint:containedctx // a driver lives as long as one action
	// read is called with the revisions that were read.
	read func(all ...*helmrelease.Release)
	// hooks are those that were read, by revision. before are their states at that time.
	hooks  map[int][]*helmrelease.Hook
	before map[*helmrelease.Hook]helmrelease.HookExecution
}

// Query reads revisions and keeps their hooks.
func (d *wholeRelease) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	all, err := d.Driver.Query(labels)
	d.read(all...)
	d.hooks, d.before = map[int][]*helmrelease.Hook{}, map[*helmrelease.Hook]helmrelease.HookExecution{}
	for _, rls := range all {
		d.hooks[rls.Version] = slices.Clone(rls.Hooks)
		for _, h := range rls.Hooks {
			d.before[h] = h.LastRun
		}
	}
	return all, err
}

// Update stores a revision with all its hooks. The result of an interrupted test is unknown.
func (d *wholeRelease) Update(key string, rls *helmrelease.Release) error {
	whole := *rls
	whole.Hooks = d.hooks[rls.Version]
	for _, h := range whole.Hooks {
		if d.ctx.Err() != nil && d.ran(h) && h.LastRun.Phase == helmrelease.HookPhaseFailed {
			h.LastRun.Phase = helmrelease.HookPhaseUnknown
		}
	}
	return d.Driver.Update(key, &whole)
}

func (d *wholeRelease) ran(h *helmrelease.Hook) bool { return h.LastRun != d.before[h] }

// failed returns the names of the tests that ran and did not succeed.
func (d *wholeRelease) failed(rls *helmrelease.Release) []string {
	var names []string
	for _, h := range d.hooks[rls.Version] {
		if d.ran(h) && h.LastRun.Phase != helmrelease.HookPhaseSucceeded {
			names = append(names, h.Name)
		}
	}
	return names
}
