// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Callbacks are called when the state of other clusters changes. They must not block. Each may be
// nil.
type Callbacks struct {
	// Enqueue is called with a key that Admit or Locate rejected, once the state of its cluster
	// has changed.
	Enqueue func(types.NamespacedName)
	// Unreachable is called when a cluster becomes unreachable, and with false when it is reachable
	// again or no longer used. Several clusters may have the same host.
	Unreachable func(host string, is bool)
	// Reachable is called with the Connection.Cluster of a cluster that is reachable again.
	Reachable func(cluster string)
}

// gates holds the gates of other clusters and of clouds, and probes them. It may be used
// concurrently.
type gates struct {
	o Options
	// closeIdle closes idle network connections to a cluster.
	closeIdle func(digest)
	counts    tokenCounts
	// triggered holds a value if a probe may be due.
	triggered chan struct{}
	// probing is true while sendProbes runs.
	probing atomic.Bool

	mu sync.Mutex
	// requester requests tokens for Workloads; nil if that is not possible.
	requester TokenRequester
	callbacks Callbacks
	// byDigest holds the gates of other clusters, by the digest of kubeconfig or Workload, and of
	// clouds, by the digest of the lookup.
	byDigest map[digest]*gate
	// waiting is the gate that a HelmRelease waits for.
	waiting map[types.NamespacedName]*gate
}

func newGates(o Options, closeIdle func(digest)) *gates {
	return &gates{
		o: o, closeIdle: closeIdle, triggered: make(chan struct{}, 1),
		byDigest: map[digest]*gate{}, waiting: map[types.NamespacedName]*gate{},
	}
}

func (s *gates) setRequester(requester TokenRequester) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requester = requester
}

func (s *gates) setCallbacks(callbacks Callbacks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callbacks = callbacks
}

// admit returns nil if a cluster is reachable. Otherwise it makes key wait for a change. g is nil
// for the controller's own cluster, and l unless a cloud located the cluster.
func (s *gates) admit(g *gate, l *locator, key types.NamespacedName) *Unreachable {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.waiting[key]; before != nil && before != g {
		before.removeWaiter(key)
	}
	delete(s.waiting, key)
	if l != nil && !l.usable() {
		return s.waitForCloud(l, key)
	}
	if g == nil {
		return nil
	}
	rejected := g.admit(key)
	if rejected != nil {
		s.waiting[key] = g
	}
	return rejected
}

// locate returns the located workload and its locator. If address or token are not known, it makes
// key wait for the cloud.
func (s *gates) locate(w *Workload, key types.NamespacedName) (*Workload, *locator, *Unreachable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locatorFor(w)
	l.gate.touch(s.o.Now())
	if !l.usable() {
		if before := s.waiting[key]; before != nil && before != l.gate {
			before.removeWaiter(key)
		}
		return nil, nil, s.waitForCloud(l, key)
	}
	return l.target(), l, nil
}

// locatorOf returns the locator of a cluster whose address and token are known; nil if they are
// not.
func (s *gates) locatorOf(w *Workload) *locator {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.byDigest[w.lookupDigest()]; g != nil && g.locator.usable() {
		return g.locator
	}
	return nil
}

// waitForCloud makes key wait for a cloud. It is called with the mutex held.
func (s *gates) waitForCloud(l *locator, key types.NamespacedName) *Unreachable {
	s.waiting[key] = l.gate
	return l.gate.wait(key)
}

// forget removes key from the waiters of all clusters.
func (s *gates) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.waiting[key]; g != nil {
		g.removeWaiter(key)
		delete(s.waiting, key)
	}
}

// get returns the gate of a cluster, which it creates if there is none. configOf returns the
// configuration of its probes.
func (s *gates) get(d digest, id Identity, configOf func() (*rest.Config, error)) (*gate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.byDigest[d]; g != nil {
		g.touch(s.o.Now())
		return g, nil
	}
	config, err := configOf()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	address, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	g := newGate(address.Scheme+"://"+address.Host, s.o.Now, s.probing.Load, s.trigger)
	if g.probe, g.probeRead, err = probers(client, config.Host); err != nil {
		return nil, err
	}
	// Probes need no tokens: 401 is an answer.
	switch {
	case id.locator != nil:
		g.locator, g.tokens = id.locator, id.locator.tokens
	case id.Workload != nil:
		g.tokens = newTokenSource(s.o.maxTokenAge(), s.o.Now, &s.counts)
		g.tokens.fetch = fetcher(id.Workload, s.requester)
	}
	g.touch(s.o.Now())
	s.byDigest[d] = g
	return g, nil
}

// locatorFor is called with the mutex held.
func (s *gates) locatorFor(w *Workload) *locator {
	d := w.lookupDigest()
	if g := s.byDigest[d]; g != nil {
		return g.locator
	}
	l := &locator{digest: d, workload: w, lookup: s.o.CloudLookup, requester: s.requester, now: s.o.Now}
	l.gate = newGate(w.name(), s.o.Now, s.probing.Load, s.trigger)
	l.gate.workload, l.gate.locator, l.gate.probe = w, l, l.probe
	l.tokens = newTokenSource(s.o.maxTokenAge(), s.o.Now, &s.counts)
	l.tokens.fetch, l.tokens.blocked = l.fetchToken, l.gate.openError
	s.byDigest[d] = l.gate
	return l
}

// tokenStats returns the current number of tokens and the counts since the start.
func (s *gates) tokenStats() TokenStats {
	stats := TokenStats{Succeeded: s.counts.answered.Load(), Failed: s.counts.failed.Load(), Evicted: s.counts.evicted.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[*tokenSource]bool{}
	for _, g := range s.byDigest {
		if t := g.tokenSource(); t != nil && !seen[t] {
			seen[t] = true
			if t.cachedToken() != "" {
				stats.Cached++
			}
		}
	}
	return stats
}

// unreachable returns the number of clusters and clouds that do not answer.
func (s *gates) unreachable() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.byDigest {
		if g.isOpen() {
			n++
		}
	}
	return n
}

// drop removes idle gates. The gate of a cloud stays while a gate of a cluster that it located
// does, because that requests tokens from it.
func (s *gates) drop(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := map[digest]*gate{}
	for d, g := range s.byDigest {
		if g.idle(now) {
			idle[d] = g
		}
	}
	for d, g := range s.byDigest {
		if g.locator != nil && idle[d] == nil {
			delete(idle, g.locator.digest)
		}
	}
	for d, g := range idle {
		s.remove(d, g)
	}
}

// remove is called with the mutex held.
func (s *gates) remove(d digest, g *gate) {
	delete(s.byDigest, d)
	// A cluster of a cloud shares its token with the gate of the cloud, which is removed later.
	if t := g.tokenSource(); t != nil && (g.locator == nil || g == g.locator.gate) && t.cachedToken() != "" {
		s.counts.evicted.Add(1)
	}
	if g.isOpen() && s.callbacks.Unreachable != nil {
		s.callbacks.Unreachable(g.host, false)
	}
}

// trigger makes sendProbes check all gates. It does not block.
func (s *gates) trigger() {
	select {
	case s.triggered <- struct{}{}:
	default:
	}
}
