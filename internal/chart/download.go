// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"time"
)

// host is a server with running downloads.
type host struct {
	slots chan struct{}
	// downloads is the number of running downloads, late the number of those that exceeded the
	// grace. While there is a late one, callers do not wait for others. With a thousand artifacts
	// of a server that does not respond, they would wait a thousand times.
	downloads, late int
}

// download is one download for all callers that need the artifact. Fields that are not guarded do
// not change after its start.
type download struct {
	key      string
	artifact Artifact
	host     *host
	// ended is closed at the end, late when callers should stop waiting.
	ended, late chan struct{}

	// The following fields are guarded by Store.mu. result is nil until the end, and does not
	// change afterwards. slow is reported by Pending. waiters are registered in Store.waiting.
	result  *result
	slow    bool
	waiters []string
}

// download returns the running download of an artifact, and starts one if there is none. healthy is
// false if the server has late downloads, so that the caller should not wait.
func (s *Store) download(ctx context.Context, a Artifact) (d *download, healthy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, running := s.running[a.key()]
	if !running {
		d = s.start(ctx, a)
	}
	return d, d.host.late == 0
}

// start starts a download. The caller holds mu.
func (s *Store) start(ctx context.Context, a Artifact) *download {
	name := hostOf(cmp.Or(a.Origin, a.URL))
	h := s.hosts[name]
	if h == nil {
		h = &host{slots: make(chan struct{}, downloadsPerHost)}
		s.hosts[name] = h
	}
	h.downloads++
	a.result = nil
	d := &download{key: a.key(), artifact: a, host: h, ended: make(chan struct{}), late: make(chan struct{})}
	s.running[d.key] = d
	// The download serves other callers too, so cancellation of the first one must not end it. The
	// timeout of the client does.
	go s.run(context.WithoutCancel(ctx), d, name)
	return d
}

// run downloads the artifact, stores the result and closes ended.
func (s *Store) run(ctx context.Context, d *download, hostname string) {
	grace := time.AfterFunc(s.grace, func() { s.markLate(d) })
	slow := time.AfterFunc(SlowAfter, func() { s.markSlow(d) })
	r := s.archive(ctx, d)
	if r.err == nil && !d.artifact.files {
		// Charts that take long to read must not delay downloads from their server.
		r = s.read(ctx, d.artifact, r.archive)
	}
	grace.Stop()
	slow.Stop()

	s.mu.Lock()
	defer s.mu.Unlock()
	d.result = r
	delete(s.running, d.key)
	if d.isLate() {
		d.host.late--
	}
	if d.host.downloads--; d.host.downloads == 0 {
		delete(s.hosts, hostname)
	}
	if len(d.waiters) > 0 {
		time.AfterFunc(resultTTL, func() { s.dropWaiters(d) })
	}
	close(d.ended)
}

func (s *Store) markLate(d *download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.result == nil {
		d.host.late++
		close(d.late)
	}
}

func (d *download) isLate() bool {
	select {
	case <-d.late:
		return true
	default:
		return false
	}
}

func (s *Store) markSlow(d *download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.slow = true
}

// dropWaiters removes waiters that have not taken the result. Their release may be deleted, or may
// use another artifact.
func (s *Store) dropWaiters(d *download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waiter := range d.waiters {
		if s.waiting[waiter] == d {
			delete(s.waiting, waiter)
		}
	}
}
