// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/rollout"
)

// Tracker gives turns. A nil Tracker gives them to all.
type Tracker struct {
	options Options
	// used is true from the first release that asks for a turn. Nothing is tracked before.
	used atomic.Bool
	// changed holds a value if other releases may have their turn now.
	changed chan struct{}

	mu    sync.Mutex
	queue rollout.Queue
	// fleets are the releases of each policy, by its namespace and name.
	fleets map[[2]string]*fleet
}

// Options configure a Tracker.
type Options struct {
	// Cached reads HelmReleases and sources from the cache.
	Cached   client.Reader
	Policies policies
	// Enqueue triggers a reconciliation of a HelmRelease. It must not block.
	Enqueue func(types.NamespacedName)
	Now     func() time.Time
}

// policies reads policies.
type policies interface {
	// HasRollouts reports whether any policy limits how charts or values spread.
	HasRollouts() bool
	// Selects reports whether a policy selects a HelmRelease, or may.
	Selects(ctx context.Context, of policy.Rollout, hr *helmv2.HelmRelease) bool
}

// New returns a Tracker, which the manager runs.
func New(o Options) *Tracker {
	return &Tracker{options: o, changed: make(chan struct{}, 1), fleets: map[[2]string]*fleet{}}
}

// Begin starts a reconciliation of a release, and reports whether the release has waited.
func (t *Tracker) Begin(key types.NamespacedName) (waited bool) {
	if t == nil || !t.used.Load() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue.Begin(key.String())
}

// End ends a reconciliation. A turn that has not led to an announcement is given back.
func (t *Tracker) End(key types.NamespacedName, waited bool) {
	if t == nil || !t.used.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue.End(key.String(), waited) {
		t.notify()
	}
}

// Turn reports whether a release may start its next action, if that takes a new chart or new values. If it
// may, it has its turn until the end of the reconciliation.
func (t *Tracker) Turn(ctx context.Context, hr *helmv2.HelmRelease, in release.Input) (*release.Turn, error) {
	if t == nil {
		return &release.Turn{Free: true}, nil
	}
	t.used.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(hr).String()
	asks := t.asks(key, in)
	if len(asks) == 0 {
		return &release.Turn{Free: true}, nil
	}
	var failed error
	turn := t.queue.Ask(key, asks, t.read(ctx, &failed))
	if failed != nil {
		t.queue.Begin(key)
		t.queue.End(key, false)
		return nil, release.BlockedBy(helmv2.ReasonPolicyUnavailable, failed, "Could not read the releases of a rollout")
	}
	return &release.Turn{Free: turn.Free, Why: turn.Why}, nil
}

// asks returns the turns that the next action of a release needs.
func (t *Tracker) asks(key string, in release.Input) []rollout.Ask {
	c := in.Desired.Chart
	chart := rollout.Input{Digest: c.OCIDigest, Name: c.Name, Version: c.Version}
	var asks []rollout.Ask
	for _, r := range release.Rollouts(in) {
		switch {
		case r.By == v1alpha1.RolloutByValues:
			for _, object := range t.queue.Fresh(key, objectsOf(in)) {
				asks = append(asks, rollout.Ask{Policy: r, Input: object})
			}
		case chart.Key() != "":
			asks = append(asks, rollout.Ask{Policy: r, Input: chart})
		}
	}
	return asks
}

func objectsOf(in release.Input) []rollout.Input {
	objects := make([]rollout.Input, len(in.Desired.ValuesFrom))
	for i, c := range in.Desired.ValuesFrom {
		objects[i] = rollout.Input{Object: c.Object, Digest: c.Digest}
	}
	return objects
}

// Read records what the values of a release come from, if a policy limits how values spread. synced is true
// if the release was found in sync with them.
func (t *Tracker) Read(hr *helmv2.HelmRelease, in release.Input, synced bool) {
	if len(in.Desired.ValuesFrom) == 0 || t.isIdle() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stored := cmp.Or(in.Observed.PreservedDigest, in.Desired.ConfigDigest)
	if t.queue.Read(hr, objectsOf(in), in.Desired.ConfigDigest, stored, synced) {
		t.touch(client.ObjectKeyFromObject(hr))
		if t.queue.Waiting() {
			t.notify()
		}
	}
}

// isIdle reports whether nothing must be tracked: no policy has a rollout.
func (t *Tracker) isIdle() bool {
	return t == nil || !t.used.Load() && !t.options.Policies.HasRollouts()
}

// Wrote records a status that this process has written, which the cache may lack for a while.
func (t *Tracker) Wrote(read, after *helmv2.HelmRelease) {
	if t.isIdle() {
		return
	}
	key := client.ObjectKeyFromObject(read)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.Wrote(key.String(), read.ResourceVersion, after)
	t.touch(key)
}

// Received is called after the cache has received a HelmRelease, or its deletion.
func (t *Tracker) Received(hr client.Object, deleted bool) {
	if t.isIdle() {
		return
	}
	key := client.ObjectKeyFromObject(hr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if deleted {
		t.queue.Forget(key.String())
	} else {
		t.queue.Received(key.String(), hr.GetResourceVersion())
	}
	t.touch(key)
	if t.queue.Waiting() {
		t.notify()
	}
}

func (t *Tracker) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader reconciles.
func (t *Tracker) NeedLeaderElection() bool { return true }

// Start enqueues releases when it is their turn, until ctx ends. It always returns nil.
func (t *Tracker) Start(ctx context.Context) error {
	for {
		select {
		case <-t.changed:
		case <-ctx.Done():
			return nil
		}
		for _, key := range t.next(ctx) {
			t.options.Enqueue(key)
		}
	}
}

// next returns the releases to enqueue. If releases cannot be read, the intervals of those that wait
// enqueue them.
func (t *Tracker) next(ctx context.Context) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.queue.Waiting() {
		t.fleets = map[[2]string]*fleet{}
		return nil
	}
	var failed error
	found := t.queue.Next(t.read(ctx, &failed))
	if failed != nil {
		return nil
	}
	keys := make([]types.NamespacedName, 0, len(found))
	for _, key := range found {
		keys = append(keys, keyOf(key))
	}
	return keys
}
