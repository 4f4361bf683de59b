// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// settle is the pause before a release that is being worked on is observed again.
	settle = 10 * time.Second
	// maxInterval is the longest pause between two observations of a release.
	maxInterval = 10 * time.Minute
	// blockedInterval is the longest pause before an obstacle is observed again.
	blockedInterval = time.Minute
)

// Reporter reports what would be done to HelmReleases. It is safe for concurrent use.
type Reporter struct {
	events  controller.EventRecorder
	metrics Metrics
	now     func() time.Time

	mu       sync.Mutex
	releases map[types.NamespacedName]state
}

// Metrics records the result about each HelmRelease.
type Metrics interface {
	Observed(hr types.NamespacedName, result string)
}

// state is what was reported of one HelmRelease.
type state struct {
	// last is the last finding apart from those in progress.
	last Finding
	// work is the work of the leading controller, and since is when this process first observed it.
	work  work
	since time.Time
}

// NewReporter returns a Reporter that has reported nothing.
func NewReporter(events controller.EventRecorder, metrics Metrics, now func() time.Time) *Reporter {
	return &Reporter{events: events, metrics: metrics, now: now, releases: map[types.NamespacedName]state{}}
}

// Decided reports a decision, and returns the pause before the next observation.
func (r *Reporter) Decided(ctx context.Context, hr *helmv2.HelmRelease, in release.Input, d release.Decision) time.Duration {
	return r.report(ctx, hr, DecisionFinding(in, d))
}

// Blocked reports an obstacle, and returns the pause before the next observation.
func (r *Reporter) Blocked(ctx context.Context, hr *helmv2.HelmRelease, err error) time.Duration {
	var b *release.Blocked
	if !errors.As(err, &b) {
		b = release.BlockedBy(helmv2.ReasonStateError, err, "The release cannot be observed")
	}
	return r.report(ctx, hr, ObstacleFinding(b))
}

// Forget drops the state of a HelmRelease that no longer exists.
func (r *Reporter) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.releases, key)
}

// report updates the metric. It writes a log line if the finding has changed, and sends an event if
// something would be done, refused or stalled that was not before.
func (r *Reporter) report(ctx context.Context, hr *helmv2.HelmRelease, f Finding) time.Duration {
	f, before := r.settle(hr, f)
	r.metrics.Observed(client.ObjectKeyFromObject(hr), string(f.Result))
	if f.Result == InProgress {
		return settle
	}
	if f.isNews(before) || f.Result != before.Result {
		logr.FromContextOrDiscard(ctx).Info("observed", "result", f.Result, "rule", f.Rule, "reason", f.Reason, "why", f.Why)
	}
	if f.isNews(before) {
		controller.Emit(r.events, hr, f.event())
	}
	return pause(hr, f)
}

// settle returns f, or InProgress while the controller that leads works on the release: f would be
// outdated at its end. before is the finding before.
func (r *Reporter) settle(hr *helmv2.HelmRelease, f Finding) (now, before Finding) {
	key := client.ObjectKeyFromObject(hr)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.releases[key]
	before = s.last
	doing, limit := workOn(hr)
	if doing != s.work {
		s.work, s.since = doing, r.now()
	}
	if f.isReported() && limit > 0 && r.now().Sub(s.since) < limit {
		f = Finding{Result: InProgress}
	}
	if f.Result != InProgress {
		s.last = f
	}
	r.releases[key] = s
	return f, before
}

// pause returns the time until the next observation. Changes of the HelmRelease and of its inputs
// trigger one earlier.
func pause(hr *helmv2.HelmRelease, f Finding) time.Duration {
	limit := maxInterval
	if f.Result == WouldBlock || f.Result == WouldWait {
		limit = blockedInterval
	}
	if interval := hr.Spec.Interval.Duration; interval > 0 {
		return min(interval, limit)
	}
	return limit
}
