// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
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
		is, at := g.startProbe(now)
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
	err := g.sendProbe(ctx)
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

// sendProbe sends a probe: a request for the version, or a read of the kind that was slow.
func (g *gate) sendProbe(ctx context.Context) error {
	g.mu.Lock()
	path, suspect := g.health.Suspect()
	g.mu.Unlock()
	if suspect && g.probeRead != nil {
		return g.probeRead(ctx, path)
	}
	return g.probe(ctx)
}

// probers returns the functions that request the version of a server, and that read one of its
// paths. They return an error without an answer and for 502, 503 and 504, with which a proxy reports
// that the server does not answer. Any other answer, 401 and 403 included, comes from a server that
// runs.
func probers(client *http.Client, host string) (version func(context.Context) error, read func(context.Context, string) error, err error) {
	address, err := url.Parse(host)
	if err != nil {
		return nil, nil, err
	}
	at := address.JoinPath("version").String()
	version = func(ctx context.Context) error { return probeURL(ctx, client, at) }
	read = func(ctx context.Context, path string) error {
		u := *address
		// A list is not read to its end. The content of an object is not read at all.
		u.Path, u.RawPath, u.RawQuery = path, "", "limit=1"
		return probeURL(ctx, client, u.String())
	}
	return version, read, nil
}

func probeURL(ctx context.Context, client *http.Client, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // its body is not read
	if unavailable(resp.StatusCode) {
		return fmt.Errorf("no API server behind the proxy (%d %s)", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}
