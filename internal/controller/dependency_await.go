// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/watch"
)

const (
	// awaitedRefill is how long it takes until a release may be woken once more by an
	// object that it waits for and that changes all the time. A rollout is ten changes
	// in a moment, and the last one is what matters.
	awaitedRefill = 2 * time.Second
	// awaitedGrace is how long an object is watched that nobody waits for any more.
	awaitedGrace = 30 * time.Second
)

// looksForKinds are the pauses between looks for kinds after definitions have changed:
// a kind is served some time after its definition says so, and nobody tells.
func looksForKinds() []time.Duration {
	return []time.Duration{
		0, 250 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
	}
}

// awaiter wakes releases when one of the objects changes that they wait for.
type awaiter interface {
	WatchObjects(key types.NamespacedName, c watch.Cluster, objects []watch.Target)
	Forget(key types.NamespacedName)
}

// awaiting wakes HelmReleases for news of the objects of other kinds that they wait for:
// changes of the object, or that its kind is served. It watches as the controller
// itself, and nothing while nobody waits. Without objects it does nothing.
type awaiting struct {
	objects awaiter
	home    func() (*cluster.Connection, error)
	// wake visits a HelmRelease. It must not block.
	wake func(types.NamespacedName)
	// kick holds something if there may be a kind that was not there.
	kick chan struct{}

	mu sync.Mutex
	// unserved are the kinds that each release waits for.
	unserved map[types.NamespacedName]schema.GroupVersionKind
}

func newAwaiting(objects awaiter, clusters *cluster.Connections, wake func(types.NamespacedName)) *awaiting {
	return &awaiting{
		objects: objects, wake: wake, kick: make(chan struct{}, 1), unserved: map[types.NamespacedName]schema.GroupVersionKind{},
		home: func() (*cluster.Connection, error) { return clusters.For(cluster.Identity{}) },
	}
}

// await has key woken for what err, of resolving it, says it waits for, and for nothing
// else from now on.
func (a *awaiting) await(key types.NamespacedName, err error) {
	if a == nil {
		return
	}
	waited := inputs.PendingDependencyIn(err)
	if waited == nil {
		a.forget(key)
		return
	}
	target, way, known := a.target(waited)
	if !known {
		a.objects.Forget(key)
		a.expect(key, waited.Kind)
		return
	}
	a.drop(key)
	a.objects.WatchObjects(key, watch.Cluster{
		ID:     way.Cluster(),
		Client: func() (metadata.Interface, error) { return metadata.NewForConfig(way.Unimpersonated()) },
	}, []watch.Target{target})
}

// target returns how to watch an object; false if its kind is not served.
func (a *awaiting) target(waited *inputs.PendingDependency) (watch.Target, *cluster.Connection, bool) {
	if waited.Unserved {
		return watch.Target{}, nil, false
	}
	way, err := a.home()
	if err != nil {
		return watch.Target{}, nil, false
	}
	m, err := mapping(way, waited.Kind)
	if err != nil {
		return watch.Target{}, nil, false
	}
	return watch.Target{Resource: m.Resource, Namespace: waited.Key.Namespace, Name: waited.Key.Name}, way, true
}

// forget has key woken for nothing.
func (a *awaiting) forget(key types.NamespacedName) {
	if a == nil {
		return
	}
	a.objects.Forget(key)
	a.drop(key)
}

func (a *awaiting) drop(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.unserved, key)
}

// expect has key woken when a kind is served. It may have come into being since key was
// told that it is not.
func (a *awaiting) expect(key types.NamespacedName, kind schema.GroupVersionKind) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unserved[key] != kind {
		a.unserved[key] = kind
		a.changed()
	}
}

// changed says that there may be kinds that were not there before. It never blocks.
func (a *awaiting) changed() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader visits
// releases.
func (a *awaiting) NeedLeaderElection() bool { return true }

// Start looks for kinds that somebody waits for until ctx ends. It always returns nil.
func (a *awaiting) Start(ctx context.Context) error {
	for {
		select {
		case <-a.kick:
		case <-ctx.Done():
			return nil
		}
		a.search(ctx)
	}
}

// search looks for kinds a few times. A hundred definitions at once are not to be a
// hundred looks: what changes meanwhile only makes it go on.
func (a *awaiting) search(ctx context.Context) {
	pauses := looksForKinds()
	for next := 0; next < len(pauses); next++ {
		timer := time.NewTimer(pauses[next])
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if !a.look() {
			return
		}
		select {
		case <-a.kick:
			next = 0
		default:
		}
	}
}

// look wakes those whose kinds are served, and reports whether anybody goes on waiting.
func (a *awaiting) look() (waiting bool) {
	served := map[schema.GroupVersionKind]bool{}
	for _, kind := range a.kinds() {
		way, err := a.home()
		if err != nil {
			return true
		}
		_, err = mapping(way, kind)
		served[kind] = err == nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, kind := range a.unserved {
		if served[kind] {
			delete(a.unserved, key)
			a.wake(key)
		}
	}
	return len(a.unserved) > 0
}

// kinds returns those that somebody waits for.
func (a *awaiting) kinds() []schema.GroupVersionKind {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[schema.GroupVersionKind]struct{}{}
	for _, kind := range a.unserved {
		all[kind] = struct{}{}
	}
	return slices.Collect(maps.Keys(all))
}
