// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch knows whom to wake when a live object of a release changes. It
// wakes, and never decides: it sees metadata only, with the controller's own
// identity, and whoever is woken looks for itself, with its own.
package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
)

const (
	defaultGrace    = 5 * time.Minute
	defaultDebounce = 50 * time.Millisecond
)

// Options of a Registry. The zero value is fine.
type Options struct {
	// Namespace is the only one to watch; all if empty. Kinds without namespaces are
	// not watched then.
	Namespace string
	// Overridden are field managers whose additions matter, too.
	Overridden []string
	// Grace is how long a watch goes on that nobody needs, so that a release that is
	// upgraded back and forth does not list everything again. Zero is 5 minutes.
	Grace time.Duration
	// Debounce is how long a release is not woken after the first change, so that a
	// burst of changes is one visit. Zero is 50 milliseconds.
	Debounce time.Duration
	// Refill is how long it takes until a release may be woken once more by
	// modifications, of which it has ten at once. Zero is 30 seconds.
	Refill time.Duration
	// Clock is for tests; nil is the real one.
	Clock clock.Clock
	// Log is told when a kind cannot be watched; its zero value discards.
	Log logr.Logger
}

// Cluster is where objects are.
type Cluster struct {
	// ID distinguishes clusters. Nothing is watched in one without.
	ID string
	// Client makes a client whose identity may watch metadata. It is called whenever a
	// watch begins or has failed, without any lock, and may fail.
	Client func() (metadata.Interface, error)
}

// Target is what one watch is of.
type Target struct {
	Resource schema.GroupVersionResource
	// Namespace and Name are those of the one object that is watched, whatever its
	// labels; the namespace is empty if the kind has none. Without a name, all objects
	// of the kind are watched that have the label of a release.
	Namespace, Name string
}

// Registry keeps one metadata-only watch per kind and cluster, or per object that is
// awaited, for as long as some release follows objects of that kind and a little
// longer, and wakes releases whose objects change. It may be used concurrently.
//
// Who follows and who awaits under one name replaces the one by the other: whoever
// does both has two registries.
//
// It is a manager.Runnable; until it is started, it remembers what to watch.
type Registry struct {
	wake    func(types.NamespacedName)
	options Options
	// kick holds something if the next thing to do comes earlier than it did.
	kick    chan struct{}
	running sync.WaitGroup

	mu        sync.Mutex
	base      context.Context //nolint:containedctx // the life of the manager, handed over by Start
	kinds     map[kindKey]*kind
	clients   map[string]func() (metadata.Interface, error)
	followers map[types.NamespacedName]*follower
	// pending are those that are going to be woken.
	pending map[*follower]struct{}
	// idle are the watches that nobody needs, and until when they go on.
	idle map[*kind]time.Time
	// next is when there is something to do; zero if there is nothing.
	next        time.Time
	wakes, held uint64
	// told are the kinds of which it was said that their objects cannot be awaited.
	told map[kindKey]struct{}
}

type kindKey struct {
	cluster string
	target  Target
}

// NewRegistry returns a registry that calls wake, which must not block, with the
// names of HelmReleases.
func NewRegistry(wake func(types.NamespacedName), options Options) *Registry {
	if options.Grace == 0 {
		options.Grace = defaultGrace
	}
	if options.Debounce == 0 {
		options.Debounce = defaultDebounce
	}
	if options.Refill == 0 {
		options.Refill = refill
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Registry{
		wake: wake, options: options, kick: make(chan struct{}, 1),
		kinds: map[kindKey]*kind{}, clients: map[string]func() (metadata.Interface, error){},
		followers: map[types.NamespacedName]*follower{}, pending: map[*follower]struct{}{}, idle: map[*kind]time.Time{},
		told: map[kindKey]struct{}{},
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader
// visits releases, so nobody else need be woken.
func (r *Registry) NeedLeaderElection() bool { return true }

// Start watches until ctx ends. When it returns, nothing it started runs, and wake
// is not called any more. It always returns nil. It must be called once.
func (r *Registry) Start(ctx context.Context) error {
	r.mu.Lock()
	r.base = ctx
	for _, k := range r.kinds {
		r.begin(k)
	}
	r.mu.Unlock()
	r.keepTime(ctx)
	r.mu.Lock()
	r.base = nil
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// WatchKinds declares the cluster and all kinds that a release has objects of. It
// replaces what was declared before, and costs next to nothing if that is the same,
// in the same order. Without a kind, or in a cluster without ID, nothing is followed.
//
// A change before the first WatchKinds of a kind wakes nobody, so it comes before the
// look. When the first list of a kind is there, everybody is woken who follows it.
func (r *Registry) WatchKinds(key types.NamespacedName, c Cluster, kinds []schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.follower(key, c, len(kinds))
	if f == nil || f.cluster == c.ID && slices.EqualFunc(f.targets, kinds, func(t Target, kind schema.GroupVersionResource) bool { return t == Target{Resource: kind} }) {
		return
	}
	targets := make([]Target, 0, len(kinds))
	for _, kind := range kinds {
		targets = append(targets, Target{Resource: kind})
	}
	r.declare(f, c.ID, targets)
}

// WatchObjects declares the cluster and all objects that a release waits for. It replaces what
// was declared before, and costs next to nothing if that is the same, in the same
// order. Without an object, or in a cluster without ID, nothing is awaited.
//
// The release is woken by any change of one of them, that of a status included. It may
// look before it calls: it is woken once as soon as the watch stands, even if it does
// already.
func (r *Registry) WatchObjects(key types.NamespacedName, c Cluster, objects []Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.follower(key, c, len(objects))
	if f == nil || f.cluster == c.ID && slices.Equal(f.targets, objects) {
		return
	}
	r.declare(f, c.ID, slices.Clone(objects))
}

// follower returns the one with a name, that of a release, who declares n targets in a
// cluster; nil if that is nobody.
func (r *Registry) follower(key types.NamespacedName, c Cluster, n int) *follower {
	if c.ID == "" || n == 0 {
		r.forget(key)
		return nil
	}
	// What was known of a way into a cluster may have expired.
	r.clients[c.ID] = c.Client
	f := r.followers[key]
	if f == nil {
		f = &follower{key: key, refill: r.options.Refill}
		r.followers[key] = f
	}
	return f
}

// declare replaces what a release follows or awaits.
func (r *Registry) declare(f *follower, cluster string, targets []Target) {
	was, before := f.cluster, f.targets
	f.cluster, f.targets = cluster, targets
	for _, t := range targets {
		r.join(kindKey{cluster, t}, f)
	}
	for _, t := range before {
		if was != cluster || !slices.Contains(targets, t) {
			r.leave(kindKey{was, t}, f.key)
		}
	}
}

// Forget ends all that a release follows. It is not woken any more.
func (r *Registry) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(key)
}

func (r *Registry) forget(key types.NamespacedName) {
	f := r.followers[key]
	if f == nil {
		return
	}
	delete(r.followers, key)
	delete(r.pending, f)
	for _, t := range f.targets {
		r.leave(kindKey{f.cluster, t}, key)
	}
}

// Retry tries at once, or at most a few seconds later, to watch what could not be
// watched in a cluster. Who hears of new definitions calls it; others need not.
func (r *Registry) Retry(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, k := range r.kinds {
		if key.cluster == cluster && k.failing {
			k.retry()
		}
	}
}

// join begins a watch if there is none.
func (r *Registry) join(kk kindKey, f *follower) {
	k := r.kinds[kk]
	if k == nil {
		k = newKind(r, kk)
		r.kinds[kk] = k
		if r.base != nil {
			r.begin(k)
		}
	}
	delete(r.idle, k)
	if _, ok := k.followers[f.key]; ok {
		return
	}
	k.followers[f.key] = struct{}{}
	if kk.target.Name != "" && k.known() {
		// It has looked before, and what has changed since then is no news any more.
		r.schedule(f, true)
	}
	if k.failing {
		// Whoever has objects of a kind may have brought its definition too.
		k.retry()
	}
}

func (r *Registry) leave(kk kindKey, key types.NamespacedName) {
	k := r.kinds[kk]
	if k == nil {
		return
	}
	delete(k.followers, key)
	if len(k.followers) == 0 {
		until := r.options.Clock.Now().Add(r.options.Grace)
		r.idle[k] = until
		r.expect(until)
	}
}

func (r *Registry) begin(k *kind) {
	ctx, cancel := context.WithCancel(r.base)
	k.cancel = cancel
	r.running.Go(func() {
		defer cancel()
		k.run(ctx)
	})
}

// end forgets a watch and what it knew.
func (r *Registry) end(k *kind) {
	if k.cancel != nil {
		k.cancel()
	}
	delete(r.idle, k)
	delete(r.kinds, k.key)
	for key := range r.kinds {
		if key.cluster == k.key.cluster {
			return
		}
	}
	delete(r.clients, k.key.cluster)
}

// client makes a client for a cluster, by the latest way that is known.
func (r *Registry) client(cluster string) (metadata.Interface, error) {
	r.mu.Lock()
	dial := r.clients[cluster]
	r.mu.Unlock()
	return dial()
}

// Stats are the figures of a registry.
type Stats struct {
	// Watches that are kept, whether they stand or are tried again and again; Objects
	// they know of; Followers that are the releases; RateLimited, those of them whose
	// wake-ups are held back.
	Watches, Objects, Followers, RateLimited int
	// Enqueued counts the wake-ups, Delayed those that came later because of a fuse.
	Enqueued, Delayed uint64
}

// Stats counts.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Watches: len(r.kinds), Followers: len(r.followers), Enqueued: r.wakes, Delayed: r.held}
	for _, k := range r.kinds {
		s.Objects += len(k.objects)
	}
	now := r.options.Clock.Now()
	for _, f := range r.followers {
		if f.open(now) {
			s.RateLimited++
		}
	}
	return s
}
