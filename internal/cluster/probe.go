// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// SetCallbacks sets the callbacks. It must be called before Start.
func (c *Connections) SetCallbacks(callbacks Callbacks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.callbacks = callbacks
}

// Admit returns nil if the reconciliation of key may use a connection. If its cluster is not known
// to be reachable, the reconciliation has to end: Callbacks.Enqueue is called with key once the
// state changes. key stops waiting for any other cluster. The controller's own cluster is always
// admitted.
func (c *Connections) Admit(connection *Connection, key types.NamespacedName) *Unreachable {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.waiting[key]; before != nil && before != connection.gate {
		before.removeWaiter(key)
	}
	delete(c.waiting, key)
	if connection.locator != nil && !connection.locator.usable() {
		return c.waitForCloud(connection.locator, key)
	}
	if connection.gate == nil {
		return nil
	}
	rejected := connection.gate.admit(key)
	if rejected != nil {
		c.waiting[key] = connection.gate
	}
	return rejected
}

// Forget makes key wait for no cluster any more.
func (c *Connections) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.waiting[key]; g != nil {
		g.removeWaiter(key)
		delete(c.waiting, key)
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader uses other
// clusters.
func (c *Connections) NeedLeaderElection() bool { return true }

// Start probes clusters that do not answer, until ctx ends. While it does not run, no request is
// rejected. It returns nil.
func (c *Connections) Start(ctx context.Context) error {
	c.probing.Store(true)
	defer c.probing.Store(false)
	var running sync.WaitGroup
	defer running.Wait()
	for {
		due, next := c.probes()
		for d, g := range due {
			running.Go(func() { c.probe(ctx, d, g) })
		}
		var timer <-chan time.Time
		var stop func() bool
		if !next.IsZero() {
			t := time.NewTimer(next.Sub(c.now()))
			timer, stop = t.C, t.Stop
		}
		select {
		case <-timer:
		case <-c.triggered:
		case <-ctx.Done():
		}
		if stop != nil {
			stop()
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// probes returns the gates to probe now and the time of the next probe; zero if that is not known.
func (c *Connections) probes() (due map[digest]*gate, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due = map[digest]*gate{}
	now := c.now()
	for d, g := range c.gates {
		is, at := g.beginProbe(now)
		if is {
			due[d] = g
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return due, next
}

func (c *Connections) probe(ctx context.Context, d digest, g *gate) {
	err := g.probe(ctx)
	if ctx.Err() != nil {
		return
	}
	enqueue, opened, closed := g.endProbe(err)
	c.mu.Lock()
	if opened || closed {
		// Idle connections to a server that stopped answering without closing them look usable.
		c.closeIdle(d)
	}
	if c.gates[d] == g && (opened || closed) && c.callbacks.Unreachable != nil {
		c.callbacks.Unreachable(g.host, opened)
	}
	for _, key := range enqueue {
		if c.waiting[key] == g {
			delete(c.waiting, key)
		}
	}
	callbacks := c.callbacks
	c.mu.Unlock()
	if closed && callbacks.Reachable != nil {
		callbacks.Reachable(clusterOf(d))
	}
	for _, key := range enqueue {
		if callbacks.Enqueue != nil {
			callbacks.Enqueue(key)
		}
	}
	c.trigger()
}

// trigger makes Start check all gates. It does not block.
func (c *Connections) trigger() {
	select {
	case c.triggered <- struct{}{}:
	default:
	}
}

// closeIdle closes idle network connections to a cluster. It is called with the mutex held.
func (c *Connections) closeIdle(d digest) {
	for other, e := range c.cached {
		if other.remote && other.digest == d {
			entry(e).connection.release()
		}
	}
}

// gateFor returns the gate of a cluster. All connections by the same kubeconfig share it. It is
// called with the mutex held.
func (c *Connections) gateFor(d digest, id Identity) (*gate, error) {
	if g := c.gates[d]; g != nil {
		g.touch(c.now())
		return g, nil
	}
	config, _, err := c.remote(id, singleUse)
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
	g := newGate(address.Scheme+"://"+address.Host, c.now, c.probing.Load, c.trigger)
	if g.probe, err = prober(client, config.Host); err != nil {
		return nil, err
	}
	// Probes need no tokens: 401 is an answer.
	switch {
	case id.locator != nil:
		g.locator, g.tokens = id.locator, id.locator.tokens
	case id.Workload != nil:
		g.tokens = newTokenSource(id.Workload, c.requester, c.maxTokenAge, c.now, &c.counts)
	}
	g.touch(c.now())
	c.gates[d] = g
	return g, nil
}

// removeGate is called with the mutex held.
func (c *Connections) removeGate(d digest, g *gate) {
	delete(c.gates, d)
	// A cluster of a cloud shares its token with the gate of the cloud, which is removed later.
	if t := g.tokenSource(); t != nil && (g.locator == nil || g == g.locator.gate) && t.cached() != "" {
		c.counts.evicted.Add(1)
	}
	if g.isOpen() && c.callbacks.Unreachable != nil {
		c.callbacks.Unreachable(g.host, false)
	}
}
