// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

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

// Options configure a Registry. The zero value is valid.
type Options struct {
	// Namespace is the only namespace to watch; empty for all. With a namespace, cluster-scoped
	// kinds are not watched.
	Namespace string
	// Overridden are field managers whose fields count as owned by the release too.
	Overridden []string
	// Grace is how long a watch without subscribers continues. A HelmRelease that is upgraded back
	// and forth then does not list all objects again. Zero is 5 minutes.
	Grace time.Duration
	// Debounce is the time between the first change and the enqueuing, so that many changes
	// cause one reconciliation. Zero is 50 milliseconds.
	Debounce time.Duration
	// Refill is the time until a HelmRelease may be enqueued once more by a modification. It
	// may be enqueued ten times at once. Zero is 30 seconds. Deletions have ten tokens of their
	// own, and get another one after this time or 10 seconds.
	Refill time.Duration
	// Clock is for tests; nil is the real clock.
	Clock clock.Clock
	// Log logs kinds that cannot be watched. The zero value discards.
	Log logr.Logger
}

// Registry shares metadata-only watches among HelmReleases and enqueues those whose objects change.
// There is one watch for each kind, or single object, and cluster. It ends some time after its last
// subscriber has gone. A Registry may be used concurrently.
//
// A key subscribes by either WatchKinds or WatchObjects: each replaces the other. A caller that
// needs both uses two registries.
//
// It is a manager.Runnable. Subscriptions before its start take effect at the start.
type Registry struct {
	enqueue func(types.NamespacedName)
	options Options
	running sync.WaitGroup

	mu          sync.Mutex
	ctx         context.Context //nolint:containedctx // the context of Start, which later watches need
	kinds       map[kindKey]*kind
	clients     map[string]func() (metadata.Interface, error)
	subscribers map[types.NamespacedName]*subscriber
	queue       *queue
	// idle are the watches without subscribers, and when they end.
	idle map[*kind]time.Time
	// logged are the kinds for which it was logged that single objects cannot be watched.
	logged map[kindKey]struct{}
}

// NewRegistry returns a registry that calls enqueue with the names of HelmReleases. enqueue must
// not block.
func NewRegistry(enqueue func(types.NamespacedName), options Options) *Registry {
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
		enqueue: enqueue, options: options, queue: newQueue(options.Debounce, options.Clock),
		kinds: map[kindKey]*kind{}, clients: map[string]func() (metadata.Interface, error){},
		subscribers: map[types.NamespacedName]*subscriber{}, idle: map[*kind]time.Time{}, logged: map[kindKey]struct{}{},
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader reconciles.
func (r *Registry) NeedLeaderElection() bool { return true }

// Start watches until ctx ends. When it returns, all its goroutines have ended, and enqueue is no
// longer called. It returns nil. It must be called once.
func (r *Registry) Start(ctx context.Context) error {
	r.mu.Lock()
	r.ctx = ctx
	for _, k := range r.kinds {
		r.startWatch(k)
	}
	r.mu.Unlock()
	r.dispatch(ctx)
	r.mu.Lock()
	r.ctx = nil
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// dispatch enqueues subscribers and ends idle watches when they are due, until ctx ends.
func (r *Registry) dispatch(ctx context.Context) {
	for ctx.Err() == nil {
		now := r.options.Clock.Now()
		due, next := r.due(now)
		for _, key := range due {
			r.enqueue(key)
		}
		r.queue.sleep(ctx, now, next)
	}
}

// due ends the watches that were idle for long enough. It returns the keys to enqueue and the time
// of the next run; zero for none.
func (r *Registry) due(now time.Time) (due []types.NamespacedName, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due = r.queue.due(now)
	for k, until := range r.idle {
		if until.After(now) {
			r.queue.setNext(until)
		} else {
			r.stopWatch(k)
		}
	}
	return due, r.queue.next
}

// WatchKinds subscribes key to the labelled objects of kinds in a cluster. It replaces the former
// subscription of key, and does almost nothing if the former one is equal, with kinds in the same
// order. Without kinds, or without a cluster ID, key is unsubscribed.
//
// It must be called before the objects are read, because it does not report earlier changes. When a
// kind has been listed for the first time, all its subscribers are enqueued.
func (r *Registry) WatchKinds(key types.NamespacedName, c Cluster, kinds []schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subscriberFor(key, c, len(kinds))
	if s == nil || s.cluster == c.ID && slices.EqualFunc(s.targets, kinds, func(t Target, kind schema.GroupVersionResource) bool { return t == Target{Resource: kind} }) {
		return
	}
	targets := make([]Target, 0, len(kinds))
	for _, kind := range kinds {
		targets = append(targets, Target{Resource: kind})
	}
	r.subscribe(s, c.ID, targets)
}

// WatchObjects subscribes key to single objects in a cluster. It replaces the former subscription
// of key, and does almost nothing if that is equal, with objects in the same order. Without
// objects, or without a cluster ID, key is unsubscribed.
//
// Any change of an object enqueues key, one of its status included. It may be called after the
// objects were read: key is enqueued once as soon as the watch is established, even if it was
// before.
func (r *Registry) WatchObjects(key types.NamespacedName, c Cluster, objects []Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subscriberFor(key, c, len(objects))
	if s == nil || s.cluster == c.ID && slices.Equal(s.targets, objects) {
		return
	}
	r.subscribe(s, c.ID, slices.Clone(objects))
}

// subscriberFor returns the subscriber of key for n targets in a cluster. It removes the subscriber
// and returns nil if n is zero or the cluster has no ID.
func (r *Registry) subscriberFor(key types.NamespacedName, c Cluster, n int) *subscriber {
	if c.ID == "" || n == 0 {
		r.forget(key)
		return nil
	}
	// The credentials of an earlier client may have expired.
	r.clients[c.ID] = c.Client
	s := r.subscribers[key]
	if s == nil {
		s = newSubscriber(key, r.options.Refill)
		r.subscribers[key] = s
	}
	return s
}

// subscribe replaces the targets of a subscriber.
func (r *Registry) subscribe(s *subscriber, cluster string, targets []Target) {
	formerCluster, former := s.cluster, s.targets
	s.cluster, s.targets = cluster, targets
	for _, t := range targets {
		r.addSubscriber(kindKey{cluster, t}, s)
	}
	for _, t := range former {
		if formerCluster != cluster || !slices.Contains(targets, t) {
			r.removeSubscriber(kindKey{formerCluster, t}, s.key)
		}
	}
}

// Forget unsubscribes key. It is no longer enqueued.
func (r *Registry) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(key)
}

func (r *Registry) forget(key types.NamespacedName) {
	s := r.subscribers[key]
	if s == nil {
		return
	}
	delete(r.subscribers, key)
	r.queue.remove(s)
	for _, t := range s.targets {
		r.removeSubscriber(kindKey{s.cluster, t}, key)
	}
}

// Retry retries failed watches in a cluster within a few seconds. It is called when CRDs have
// changed. Failed watches are retried without it too, with a back-off.
func (r *Registry) Retry(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, k := range r.kinds {
		if key.cluster == cluster && k.failing {
			k.retry()
		}
	}
}

// addSubscriber adds a subscriber to a watch, and starts the watch if there is none.
func (r *Registry) addSubscriber(kk kindKey, s *subscriber) {
	k := r.kinds[kk]
	if k == nil {
		k = newKind(r, kk)
		r.kinds[kk] = k
		if r.ctx != nil {
			r.startWatch(k)
		}
	}
	delete(r.idle, k)
	if _, ok := k.subscribers[s.key]; ok {
		return
	}
	k.subscribers[s.key] = struct{}{}
	if kk.target.Name != "" && k.synced() {
		// It has read the object before, and a change since then is not reported again.
		r.queue.schedule(s, true)
	}
	if k.failing {
		// A release that has objects of a kind may have created its CRD.
		k.retry()
	}
}

func (r *Registry) removeSubscriber(kk kindKey, key types.NamespacedName) {
	k := r.kinds[kk]
	if k == nil {
		return
	}
	delete(k.subscribers, key)
	if len(k.subscribers) == 0 {
		until := r.options.Clock.Now().Add(r.options.Grace)
		r.idle[k] = until
		r.queue.runAt(until)
	}
}

func (r *Registry) startWatch(k *kind) {
	ctx, cancel := context.WithCancel(r.ctx)
	k.cancel = cancel
	r.running.Go(func() {
		defer cancel()
		k.run(ctx)
	})
}

// stopWatch ends a watch and drops its objects.
func (r *Registry) stopWatch(k *kind) {
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

// client returns a client for a cluster, by the latest Client function.
func (r *Registry) client(cluster string) (metadata.Interface, error) {
	r.mu.Lock()
	connect := r.clients[cluster]
	r.mu.Unlock()
	return connect()
}

// RateLimited reports whether modifications have enqueued a HelmRelease so often that the next one
// enqueues it later.
func (r *Registry) RateLimited(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subscribers[key]
	return s != nil && s.rateLimited(r.options.Clock.Now())
}

// Scheduled reports whether a change enqueues a HelmRelease after the debounce. A HelmRelease that is
// enqueued later because of the rate limit is not scheduled.
func (r *Registry) Scheduled(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subscribers[key]
	return s != nil && !s.enqueueAt.IsZero() && s.enqueueAt.Sub(r.options.Clock.Now()) <= r.options.Debounce
}

// Received reports whether the watch of a kind in a cluster has received a version of an object with
// the labels of a release, or a newer one, and has scheduled its subscribers.
func (r *Registry) Received(cluster string, resource schema.GroupVersionResource, version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kindKey{cluster, Target{Resource: resource}}]
	return k != nil && k.synced() && notAfter(version, k.version)
}

// Stats are counts of a Registry.
type Stats struct {
	// Watches is the number of watches, established or failing, and Objects the number of
	// objects in them.
	Watches, Objects int
	// Subscribers is the number of subscribed HelmReleases, and RateLimited the number of those
	// that are rate limited.
	Subscribers, RateLimited int
	// Enqueued counts how often a HelmRelease was enqueued, and Delayed how often later because
	// of the rate limit.
	Enqueued, Delayed uint64
}

// Stats returns the current counts.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Watches: len(r.kinds), Subscribers: len(r.subscribers), Enqueued: r.queue.enqueued, Delayed: r.queue.delayed}
	for _, k := range r.kinds {
		s.Objects += len(k.objects)
	}
	now := r.options.Clock.Now()
	for _, sub := range r.subscribers {
		if sub.rateLimited(now) {
			s.RateLimited++
		}
	}
	return s
}
