// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// Pending is the error of Identify and Fetch while an artifact is downloaded. After Ended, the same
// call with the same waiter returns the result of the download. Calls more than a minute later
// start another download.
type Pending struct {
	// URL of the artifact, without credentials.
	URL string
	// Ended is closed when the download has ended, with or without an error.
	Ended <-chan struct{}
	// Slow is true if the download is older than SlowAfter and should be reported to users.
	Slow bool
}

// Error implements error. The text does not change during a download.
func (p *Pending) Error() string { return "artifact " + p.URL + " has not been downloaded yet" }

// Store downloads and caches artifacts. It does not parse them. It is safe for concurrent use.
type Store struct {
	client   *http.Client
	charts   *remote.Client
	maxBytes int64
	grace    time.Duration
	// observe is called after each download, and clock measures it.
	clock   func() time.Time
	observe func(took time.Duration, size int64, err error)

	// mu guards the following fields, and the guarded fields of each download.
	mu    sync.Mutex
	cache *cache
	// running holds the downloads that have not ended, by key.
	running map[string]*download
	// hosts holds the servers of running downloads, by "host:port".
	hosts map[string]*host
	// waiting holds the download whose result a waiter may take, by waiter.
	waiting map[string]*download
}

// Options configure a Store.
type Options struct {
	// Client downloads artifacts. Its Timeout bounds a download. It is required.
	Client *http.Client
	// Workers parse archives. They are required.
	Workers worker.Caller
	// MaxBytes is the size of the largest accepted artifact. It is required.
	MaxBytes int64
	// CacheBytes is the size of the cache of artifacts; zero is DefaultCacheBytes.
	CacheBytes int64
	// NoCache disables the cache.
	NoCache bool
	// Grace is the time that Identify and Fetch wait for a download; zero is DefaultGrace.
	Grace time.Duration
	// Now returns the current time. It is required with Downloaded.
	Now func() time.Time
	// Downloaded is called after each download with its duration, the received bytes, and its
	// error. It must not block. Nil is not called.
	Downloaded func(took time.Duration, size int64, err error)
}

// NewStore returns an empty store.
func NewStore(o Options) *Store {
	s := &Store{
		client: o.Client, charts: remote.New(o.Workers), maxBytes: o.MaxBytes, grace: cmp.Or(o.Grace, DefaultGrace),
		clock: o.Now, observe: o.Downloaded,
		running: map[string]*download{}, hosts: map[string]*host{}, waiting: map[string]*download{},
	}
	if s.observe == nil {
		s.clock, s.observe = func() time.Time { return time.Time{} }, func(time.Duration, int64, error) {}
	}
	if o.NoCache {
		s.cache = newCache(0)
	} else {
		s.cache = newCache(cmp.Or(o.CacheBytes, DefaultCacheBytes))
	}
	return s
}

// Stats holds counts of the cache.
type Stats struct {
	// Identities is the number of cached identities, Archives the number of downloaded archives.
	Identities, Archives int
	ArchiveBytes         int64
}

// Stats returns the current counts of the cache.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cache
	return Stats{Identities: c.facts.Len(), Archives: c.archives.Len(), ArchiveBytes: c.archiveBytes}
}

// Identify returns the identity of an artifact's chart, and the artifact, with its bytes if it was
// downloaded. A cached identity needs no bytes. Otherwise Identify waits for a download for a short
// time, and then returns a *Pending. waiter identifies the caller for later calls.
func (s *Store) Identify(ctx context.Context, a Artifact, waiter string) (Identity, Artifact, error) {
	s.mu.Lock()
	a.result = s.takeResult(a, waiter)
	known, ok := s.cache.facts.Get(a.cacheKey())
	s.mu.Unlock()
	if ok {
		return identityOf(known), a, nil
	}
	if a.result == nil {
		// A cached archive is not downloaded again, and read in the background.
		var err error
		if a.result, err = s.await(ctx, a, waiter); err != nil {
			return Identity{}, a, err
		}
	}
	if a.result.err != nil {
		return Identity{}, a, a.result.err
	}
	facts, err := s.Facts(ctx, a)
	return identityOf(facts), a, err
}

func identityOf(f remote.Facts) Identity {
	return Identity{Name: f.Name, Version: f.Version, AppVersion: f.AppVersion, Content: f.Content}
}

// Facts returns the facts of an artifact's chart. Unless they are cached, Facts waits for a
// download as Load does.
func (s *Store) Facts(ctx context.Context, a Artifact) (remote.Facts, error) {
	s.mu.Lock()
	known, ok := s.cache.facts.Get(a.cacheKey())
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	if a.Fetched() && a.result.facts != nil {
		return *a.result.facts, nil
	}
	archive, err := s.Load(ctx, a)
	if err != nil {
		return remote.Facts{}, err
	}
	return s.identify(ctx, a, archive)
}

// Fetch returns the artifact with its bytes, so that Load does not download them. The artifact is a
// result of Identify for the same waiter. Fetch waits for a download for a short time, and then
// returns a *Pending.
func (s *Store) Fetch(ctx context.Context, a Artifact, waiter string) (Artifact, error) {
	if !a.Fetched() {
		s.mu.Lock()
		archive, cached := s.cache.archives.Get(a.cacheKey())
		s.mu.Unlock()
		if cached {
			a.result = &result{archive: archive}
		}
	}
	if a.result == nil {
		var err error
		if a.result, err = s.await(ctx, a, waiter); err != nil {
			return a, err
		}
	}
	if a.result.err != nil {
		return a, a.result.err
	}
	// Many actions may be queued. Each one keeps a reference to the archive, which is shared.
	return a, nil
}

// Load returns the archive of an artifact, which must not be changed. Unless the artifact is fetched
// or cached, Load waits until a download has ended.
func (s *Store) Load(ctx context.Context, a Artifact) ([]byte, error) {
	if a.Fetched() {
		return a.result.archive, nil
	}
	s.mu.Lock()
	archive, cached := s.cache.archives.Get(a.cacheKey())
	s.mu.Unlock()
	if cached {
		return archive, nil
	}
	d, _ := s.download(ctx, a)
	select {
	case <-d.ended:
		return d.result.archive, d.result.err
	case <-ctx.Done():
		return nil, waitError(ctx, a)
	}
}

// await returns the result of a download. If it does not end in time, await registers the waiter
// and returns a *Pending.
func (s *Store) await(ctx context.Context, a Artifact, waiter string) (*result, error) {
	d, healthy := s.download(ctx, a)
	if healthy {
		select {
		case <-d.ended:
		case <-d.late:
		case <-ctx.Done():
			return nil, waitError(ctx, a)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.result != nil {
		return d.result, nil
	}
	if s.waiting[waiter] != d {
		s.waiting[waiter] = d
		d.waiters = append(d.waiters, waiter)
	}
	return nil, &Pending{URL: a.shown(), Ended: d.ended, Slow: d.slow}
}

// takeResult removes and returns the result of the download that a waiter is registered for. It
// returns nil if there is none, if the download still runs, or if it downloads another artifact.
// The caller holds mu.
func (s *Store) takeResult(a Artifact, waiter string) *result {
	d := s.waiting[waiter]
	if d == nil || d.result == nil {
		return nil
	}
	delete(s.waiting, waiter)
	if d.key != a.key() {
		return nil
	}
	return d.result
}

func waitError(ctx context.Context, a Artifact) error {
	return fmt.Errorf("the wait for artifact %s ended: %w", a.shown(), context.Cause(ctx))
}

// archive returns the cached archive, or else downloads it.
func (s *Store) archive(ctx context.Context, d *download) *result {
	s.mu.Lock()
	archive, cached := s.cache.archives.Get(d.artifact.cacheKey())
	s.mu.Unlock()
	if cached {
		return &result{archive: archive}
	}
	d.host.slots <- struct{}{}
	defer func() { <-d.host.slots }()
	started := s.clock()
	r := callSafely(d.artifact, func() *result { return s.fetch(ctx, d.artifact) })
	s.observe(s.clock().Sub(started), int64(len(r.archive)), r.err)
	return r
}

// callSafely calls get. A panic on hostile input becomes an error.
func callSafely(a Artifact, get func() *result) (r *result) {
	defer func() {
		if cause := recover(); cause != nil {
			r = &result{err: fmt.Errorf("chart in %s cannot be read: %v", a.shown(), cause)}
		}
	}()
	return get()
}

// fetch downloads an artifact and caches its bytes.
func (s *Store) fetch(ctx context.Context, a Artifact) *result {
	archive, err := a.get(ctx, s.client, s.maxBytes)
	if err != nil {
		return &result{err: err}
	}
	s.mu.Lock()
	s.cache.keepArchive(a.cacheKey(), archive)
	s.mu.Unlock()
	return &result{archive: archive}
}

// read adds the facts of an archive to a result, and caches them.
func (s *Store) read(ctx context.Context, a Artifact, archive []byte) *result {
	s.mu.Lock()
	known := s.cache.facts.Contains(a.cacheKey())
	s.mu.Unlock()
	if known {
		return &result{archive: archive}
	}
	return callSafely(a, func() *result {
		facts, err := s.identify(ctx, a, archive)
		return &result{archive: archive, facts: &facts, err: err}
	})
}

// identify returns and caches the facts of an archive.
func (s *Store) identify(ctx context.Context, a Artifact, archive []byte) (remote.Facts, error) {
	facts, err := s.charts.Identify(ctx, a.Tenant, a.Digest, archive)
	if err != nil {
		return facts, a.Unreadable(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache.facts.Add(a.cacheKey(), facts)
	return facts, nil
}
