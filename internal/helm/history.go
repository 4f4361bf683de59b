// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// History returns the revisions of a release, newest first; see storage.Store.History.
func (r *Runner) History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	return r.storage.History(ctx, getter, target, recorded)
}

// LiveHistory is History with a list from the API server; see storage.Store.LiveHistory.
func (r *Runner) LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	return r.storage.LiveHistory(ctx, getter, target, recorded)
}

// Stray returns a release that a HelmRelease created under another name; see
// storage.Store.Stray.
func (r *Runner) Stray(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, uid string) (*release.Target, []release.Revision, error) {
	return r.storage.Stray(ctx, getter, namespace, uid)
}

// Remembered returns the number of revisions in the read cache and their approximate size in
// bytes.
func (r *Runner) Remembered() (revisions int, bytes int64) { return r.storage.CacheStats() }
