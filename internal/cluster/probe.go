// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"
	"time"
)

const (
	// firstPause is the time between a failed probe and the next one. It doubles up to
	// longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	// probeGap is the least time between a successful probe and the next one. It bounds the
	// probes of a server that answers some requests and drops others.
	probeGap = time.Second
)

// sendProbes probes clusters that do not answer, until ctx ends.
func (s *gates) sendProbes(ctx context.Context) {
	s.probing.Store(true)
	defer s.probing.Store(false)
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		due, next := s.probes()
		for d, g := range due {
			running.Go(func() { s.probe(ctx, d, g) })
		}
		s.sleep(ctx, next)
	}
}

// sleep returns at a time, at a trigger, or when ctx ends. A zero time is never.
func (s *gates) sleep(ctx context.Context, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(until.Sub(s.o.Now()))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-s.triggered:
	case <-ctx.Done():
	}
}

// probes returns the gates to probe now and the time of the next probe; zero if that is not known.
func (s *gates) probes() (due map[digest]*gate, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due = map[digest]*gate{}
	now := s.o.Now()
	for d, g := range s.byDigest {
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

// probe sends one probe and calls the callbacks.
func (s *gates) probe(ctx context.Context, d digest, g *gate) {
	err := g.probe(ctx)
	if ctx.Err() != nil {
		return
	}
	enqueue, opened, closed := g.endProbe(err)
	if opened || closed {
		// Idle connections to a server that stopped answering without closing them look usable.
		s.closeIdle(d)
	}
	s.mu.Lock()
	if s.byDigest[d] == g && (opened || closed) && s.callbacks.Unreachable != nil {
		s.callbacks.Unreachable(g.host, opened)
	}
	for _, key := range enqueue {
		if s.waiting[key] == g {
			delete(s.waiting, key)
		}
	}
	callbacks := s.callbacks
	s.mu.Unlock()
	if closed && callbacks.Reachable != nil {
		callbacks.Reachable(clusterOf(d))
	}
	for _, key := range enqueue {
		if callbacks.Enqueue != nil {
			callbacks.Enqueue(key)
		}
	}
	s.trigger()
}
