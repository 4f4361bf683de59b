// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/watch"
)

// series makes metrics of all HelmReleases in the cache, for as long as this
// process is the one that visits them: another one that waits for its turn would
// have the same series.
type series struct {
	cached  client.Reader
	metrics *metrics.Metrics
	now     func() time.Time
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (series) NeedLeaderElection() bool { return true }

// Start lasts until ctx ends.
func (s series) Start(ctx context.Context) error {
	defer s.metrics.Releases(s.listing(ctx), s.now)()
	<-ctx.Done()
	return nil
}

func (s series) listing(ctx context.Context) metrics.Listing {
	return func() iter.Seq[*helmv2.HelmRelease] { return s.all(ctx) }
}

// all yields what the cache holds, which must not be changed: copies of inventories
// and histories would be megabytes whenever somebody reads the metrics.
func (s series) all(ctx context.Context) iter.Seq[*helmv2.HelmRelease] {
	return func(yield func(*helmv2.HelmRelease) bool) {
		var list helmv2.HelmReleaseList
		if err := s.cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
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

// askForFigures has the metrics tell how much is in the hands of the parts.
func askForFigures(p Parts, pool *attempt.Pool, objects, awaited *watch.Registry) {
	p.Metrics.Collect(func(f *metrics.Stats) {
		f.InProgress, f.Slots, f.SlotsUsed = pool.Stats()
		s, a := objects.Stats(), awaited.Stats()
		f.Watches, f.Throttled, f.Triggers, f.Delayed = s.Watches+a.Watches, s.RateLimited+a.RateLimited, s.Enqueued+a.Enqueued, s.Delayed+a.Delayed
		t := p.Clusters.TokenStats()
		f.Tokens, f.TokensAnswered, f.TokensFailed, f.TokensEvicted = t.Cached, t.Succeeded, t.Failed, t.Evicted
		revisions, bytes := p.Helm.Remembered()
		f.Caches = append(f.Caches,
			metrics.Cache{Name: "revisions", Entries: revisions, Bytes: bytes},
			metrics.Cache{Name: "connections", Entries: p.Clusters.Len(), Bytes: -1},
			metrics.Cache{Name: "live_objects", Entries: s.Objects + a.Objects, Bytes: -1})
	})
}

// noteHold observes how long an Operation kept Helm from a release, when that is
// over: the condition knows, also if we did not run meanwhile.
func (r *HelmReleaseReconciler) noteHold(before, after []metav1.Condition) {
	held := apimeta.FindStatusCondition(before, helmv2.ConditionHeld)
	if held == nil || held.Status != metav1.ConditionTrue || apimeta.IsStatusConditionTrue(after, helmv2.ConditionHeld) {
		return
	}
	r.metrics.LockWaited(r.now().Sub(held.LastTransitionTime.Time))
}
