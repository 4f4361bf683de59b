// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"iter"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/watch"
)

// collector makes metrics of all HelmReleases in the cache while this replica is the leader. The
// replicas that wait would have the same series.
type collector struct {
	cached  client.Reader
	metrics *metrics.Metrics
	now     func() time.Time
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (collector) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It returns when ctx ends.
func (c collector) Start(ctx context.Context) error {
	defer c.metrics.Releases(c.listing(ctx), c.now)()
	<-ctx.Done()
	return nil
}

func (c collector) listing(ctx context.Context) metrics.Listing {
	return func() iter.Seq[*helmv2.HelmRelease] { return c.all(ctx) }
}

// all yields the HelmReleases in the cache, which must not be changed: copies of inventories and
// histories would be megabytes in each scrape.
func (c collector) all(ctx context.Context) iter.Seq[*helmv2.HelmRelease] {
	return func(yield func(*helmv2.HelmRelease) bool) {
		var list helmv2.HelmReleaseList
		if err := c.cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the HelmReleases for the metrics")
			return
		}
		for i := range list.Items {
			if !yield(&list.Items[i]) {
				return
			}
		}
	}
}

// addGauges makes the metrics include the sizes of pools, watches and caches.
func addGauges(o controller.Options, pool *attempt.Pool, objects, awaited *watch.Registry) {
	o.Metrics.Collect(func(f *metrics.Stats) {
		f.InProgress, f.Slots, f.SlotsUsed = pool.Stats()
		s, a := objects.Stats(), awaited.Stats()
		f.Watches, f.Throttled, f.Triggers, f.Delayed = s.Watches+a.Watches, s.RateLimited+a.RateLimited, s.Enqueued+a.Enqueued, s.Delayed+a.Delayed
		t := o.Clusters.TokenStats()
		f.Tokens, f.TokensAnswered, f.TokensFailed, f.TokensEvicted = t.Cached, t.Succeeded, t.Failed, t.Evicted
		revisions, bytes := o.Helm.CacheStats()
		f.Caches = append(f.Caches,
			metrics.Cache{Name: "revisions", Entries: revisions, Bytes: bytes},
			metrics.Cache{Name: "connections", Entries: o.Clusters.Len(), Bytes: -1},
			metrics.Cache{Name: "live_objects", Entries: s.Objects + a.Objects, Bytes: -1})
	})
}
