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

// SetCallbacks sets who is told what becomes of other clusters. It is called before Start.
func (c *Connections) SetCallbacks(l Callbacks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener = l
}

// Admit returns nil if a visit may use a connection. If nobody is known to answer
// there, it returns what to say, and the visit is to end: who is woken through the
// Callbacks once there is news. Whoever was waiting for another cluster does not any
// more. The controller's own cluster is always there, or nothing is.
func (c *Connections) Admit(way *Connection, who types.NamespacedName) *Unreachable {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.waiting[who]; before != nil && before != way.gate {
		before.leave(who)
	}
	delete(c.waiting, who)
	if way.locator != nil && !way.locator.usable() {
		return c.stand(way.locator, who)
	}
	if way.gate == nil {
		return nil
	}
	refused := way.gate.admit(who)
	if refused != nil {
		c.waiting[who] = way.gate
	}
	return refused
}

// Forget lets somebody wait for nothing.
func (c *Connections) Forget(who types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.waiting[who]; g != nil {
		g.leave(who)
		delete(c.waiting, who)
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader uses
// other clusters.
func (c *Connections) NeedLeaderElection() bool { return true }

// Start finds out, until ctx ends, whether clusters answer that did not. Before and
// after, every request is sent, whatever became of the one before. It returns nil.
func (c *Connections) Start(ctx context.Context) error {
	c.probing.Store(true)
	defer c.probing.Store(false)
	var running sync.WaitGroup
	defer running.Wait()
	for {
		due, next := c.probes()
		for key, g := range due {
			running.Go(func() { c.probe(ctx, key, g) })
		}
		var timer <-chan time.Time
		var stop func() bool
		if !next.IsZero() {
			t := time.NewTimer(next.Sub(c.now()))
			timer, stop = t.C, t.Stop
		}
		select {
		case <-timer:
		case <-c.kick:
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

// probes returns the gates that are to be probed now, and when the next one is; zero
// if that is not known.
func (c *Connections) probes() (due map[digest]*gate, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due = map[digest]*gate{}
	now := c.now()
	for key, g := range c.gates {
		is, at := g.begin(now)
		if is {
			due[key] = g
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return due, next
}

func (c *Connections) probe(ctx context.Context, key digest, g *gate) {
	err := g.probe(ctx)
	if ctx.Err() != nil {
		return
	}
	wake, opened, closed := g.end(err)
	c.mu.Lock()
	if opened || closed {
		// Of a server that went away without a word, network connections may be left that
		// look as if they could be used.
		c.closeIdle(key)
	}
	if c.gates[key] == g && (opened || closed) && c.listener.Unreachable != nil {
		c.listener.Unreachable(g.host, opened)
	}
	for _, who := range wake {
		if c.waiting[who] == g {
			delete(c.waiting, who)
		}
	}
	listener := c.listener
	c.mu.Unlock()
	if closed && listener.Reachable != nil {
		listener.Reachable(clusterOf(key))
	}
	for _, who := range wake {
		if listener.Enqueue != nil {
			listener.Enqueue(who)
		}
	}
	c.look()
}

// look makes Start look at all gates.
func (c *Connections) look() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// closeIdle is called with the mutex held.
func (c *Connections) closeIdle(key digest) {
	for other, kept := range c.kept {
		if other.remote && other.digest == key {
			entry(kept).connection.release()
		}
	}
}

// gateFor returns the gate before a cluster, which everybody shares who gets there
// with the same kubeconfig. It is called with the mutex held.
func (c *Connections) gateFor(key digest, id Identity) (*gate, error) {
	if g := c.gates[key]; g != nil {
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
	g := newGate(address.Scheme+"://"+address.Host, c.now, c.probing.Load, c.look)
	if g.probe, err = prober(client, config.Host); err != nil {
		return nil, err
	}
	// Probes do without tokens: who is refused has reached somebody.
	switch {
	case id.locator != nil:
		g.via, g.bearer = id.locator, id.locator.bearer
	case id.Workload != nil:
		g.bearer = newBearer(id.Workload, c.tokens, c.keep, c.now, &c.counts)
	}
	g.touch(c.now())
	c.gates[key] = g
	return g, nil
}

// removeGate is called with the mutex held.
func (c *Connections) removeGate(key digest, g *gate) {
	delete(c.gates, key)
	// What was found through a cloud goes first, and leaves the token to the gate before that.
	if b := g.token(); b != nil && (g.via == nil || g == g.via.gate) && b.held() != "" {
		c.counts.evicted.Add(1)
	}
	if g.isOpen() && c.listener.Unreachable != nil {
		c.listener.Unreachable(g.host, false)
	}
}
