// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/watch"
)

const (
	// Refill is the interval at which an object that changes all the time enqueues a release.
	// A rollout is ten changes in a moment, of which the last one matters.
	Refill = 2 * time.Second
	// Grace is how long an object is watched after the last HelmRelease stopped waiting for it.
	Grace = 30 * time.Second
)

// searchPauses returns the pauses between searches for kinds after CRDs have changed: a kind is
// served some time after the status of its CRD reports it as established, without an event.
func searchPauses() []time.Duration {
	return []time.Duration{
		0, 250 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
	}
}

// watcher enqueues releases when one of the objects changes that they wait for.
type watcher interface {
	WatchObjects(key types.NamespacedName, c watch.Cluster, objects []watch.Target)
	Forget(key types.NamespacedName)
}

// Subscriptions enqueues HelmReleases when an object of another kind changes that they wait for,
// or when its kind is served. It watches as the controller itself, and only objects that a
// HelmRelease waits for.
type Subscriptions struct {
	objects watcher
	home    func() (*cluster.Connection, error)
	// enqueue triggers a reconciliation of a HelmRelease. It must not block.
	enqueue func(types.NamespacedName)
	// changed holds a value if a kind may be served that was not.
	changed chan struct{}
	memory  controller.Memory[State]
}

// NewSubscriptions returns Subscriptions, which the manager runs.
func NewSubscriptions(objects watcher, clusters *cluster.Connections, memory controller.Memory[State], enqueue func(types.NamespacedName)) *Subscriptions {
	return &Subscriptions{
		objects: objects, enqueue: enqueue, changed: make(chan struct{}, 1), memory: memory,
		home: func() (*cluster.Connection, error) { return clusters.For(cluster.Identity{}) },
	}
}

// Await subscribes key to the dependency that err names and drops its earlier subscriptions. err
// is the result of resolving the inputs of key.
func (s *Subscriptions) Await(key types.NamespacedName, err error) {
	waited := inputs.PendingDependencyIn(err)
	if waited == nil {
		s.Forget(key)
		return
	}
	target, conn, known := s.target(waited)
	if !known {
		s.objects.Forget(key)
		s.expect(key, waited.Kind)
		return
	}
	s.expectNone(key)
	s.objects.WatchObjects(key, watch.Cluster{
		ID:     conn.Cluster(),
		Client: func() (metadata.Interface, error) { return metadata.NewForConfig(conn.Unimpersonated()) },
	}, []watch.Target{target})
}

// target returns how to watch an object; false if its kind is not served.
func (s *Subscriptions) target(waited *inputs.PendingDependency) (watch.Target, *cluster.Connection, bool) {
	if waited.Unserved {
		return watch.Target{}, nil, false
	}
	conn, err := s.home()
	if err != nil {
		return watch.Target{}, nil, false
	}
	m, err := mapping(conn, waited.Kind)
	if err != nil {
		return watch.Target{}, nil, false
	}
	return watch.Target{Resource: m.Resource, Namespace: waited.Key.Namespace, Name: waited.Key.Name}, conn, true
}

// Forget drops all subscriptions of key.
func (s *Subscriptions) Forget(key types.NamespacedName) {
	s.objects.Forget(key)
	s.expectNone(key)
}

func (s *Subscriptions) expectNone(key types.NamespacedName) {
	s.memory.Update(key, func(m *State) { m.unserved = schema.GroupVersionKind{} })
}

// expect subscribes key to a kind that is not served. It may have been served since that was read.
func (s *Subscriptions) expect(key types.NamespacedName, kind schema.GroupVersionKind) {
	s.memory.With(key, func(m *State) {
		if m.unserved != kind {
			m.unserved = kind
			s.CapabilitiesChanged()
		}
	})
}

// CapabilitiesChanged starts a search for the kinds that HelmReleases wait for. It never blocks.
func (s *Subscriptions) CapabilitiesChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader reconciles.
func (s *Subscriptions) NeedLeaderElection() bool { return true }

// Start searches for kinds that HelmReleases wait for until ctx ends. It always returns nil.
func (s *Subscriptions) Start(ctx context.Context) error {
	for {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil
		}
		s.search(ctx)
	}
}

// search searches a few times. A change meanwhile restarts the pauses, so that a hundred new CRDs
// do not cause a hundred searches.
func (s *Subscriptions) search(ctx context.Context) {
	pauses := searchPauses()
	for next := 0; next < len(pauses); next++ {
		timer := time.NewTimer(pauses[next])
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if !s.searchOnce() {
			return
		}
		select {
		case <-s.changed:
			next = 0
		default:
		}
	}
}

// searchOnce enqueues the HelmReleases whose kinds are served, and reports whether others wait.
func (s *Subscriptions) searchOnce() (waiting bool) {
	served := map[schema.GroupVersionKind]bool{}
	for _, kind := range s.kinds() {
		conn, err := s.home()
		if err != nil {
			return true
		}
		_, err = mapping(conn, kind)
		served[kind] = err == nil
	}
	var ready []types.NamespacedName
	s.memory.Each(func(key types.NamespacedName, m *State) {
		switch {
		case m.unserved.Empty():
		case served[m.unserved]:
			m.unserved = schema.GroupVersionKind{}
			ready = append(ready, key)
		default:
			waiting = true
		}
	})
	for _, key := range ready {
		s.enqueue(key)
	}
	return waiting
}

// kinds returns the kinds that HelmReleases wait for.
func (s *Subscriptions) kinds() []schema.GroupVersionKind {
	all := map[schema.GroupVersionKind]struct{}{}
	s.memory.Each(func(_ types.NamespacedName, m *State) {
		if !m.unserved.Empty() {
			all[m.unserved] = struct{}{}
		}
	})
	return slices.Collect(maps.Keys(all))
}
