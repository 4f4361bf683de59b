// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	helmstorage "helm.sh/helm/v3/pkg/storage"

	"github.com/pintle-dev/pintle/internal/release"
)

// test runs the tests of the release.
func (r *run) test(ctx context.Context, a release.Test) error {
	r.gate.Hooks.UnknownIf(func() bool { return ctx.Err() != nil })
	t := action.NewReleaseTesting(r.config)
	t.Timeout = a.Timeout
	t.Namespace = r.job.Desired.Target.Namespace
	t.Filters = filters(r.job.Desired.Policy.TestFilters)
	// The gate would give the hooks of the revision to the caller, and not to Helm.
	last, err := helmstorage.Init(r.store).Last(r.job.Desired.Target.Name)
	if err == nil && !r.store.Proven(last.Version) {
		err = r.errChanged(last.Version)
	}
	if err != nil {
		return err
	}
	rel, err := t.Run(r.job.Desired.Target.Name)
	if err == nil || rel == nil {
		return err
	}
	if names := r.gate.Hooks.Failed(); len(names) > 0 {
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
