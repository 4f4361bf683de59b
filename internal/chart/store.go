// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart turns chart artifacts into charts: it downloads them, verifies
// their digest, keeps them by digest and hands out fresh copies.
//
// It knows neither HelmReleases nor clusters, and it never hands out the same
// chart twice: Helm changes the chart it renders, so a shared one would carry
// the values of one release into the next.
package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// DefaultGrace is how long a caller waits for a download before it is told to come
// back: a server that is well answers within milliseconds, and to come back costs
// a visit.
const DefaultGrace = 250 * time.Millisecond

// ErrNotFound says that the artifact server does not have the artifact (any
// more), which usually means that the source has moved on.
var ErrNotFound = errors.New("artifact not found")

// Pending is the error of somebody who should come back: the artifact is being
// downloaded, and whoever waited is told what came of it, within a minute after
// Ended. After that it counts as not asked for.
type Pending struct {
	// URL of the artifact, without a password.
	URL string
	// Ended is closed when the download has ended, well or badly.
	Ended <-chan struct{}
	// Slow is true if it has taken so long that people should know.
	Slow bool
}

// Error implements error. It says the same from the first time to the last.
func (p *Pending) Error() string { return "artifact " + p.URL + " has not been downloaded yet" }

// Artifact names one packaged chart.
type Artifact struct {
	URL string
	// Digest is "<algorithm>:<hex>" of the bytes at URL; required.
	Digest string

	// got is what came of a download for this very visit; nil if there was none.
	got *outcome
}

// Equal reports whether two artifacts are of the same name.
func (a Artifact) Equal(b Artifact) bool { return a.URL == b.URL && a.Digest == b.Digest }

// Held reports whether the bytes are at hand for as long as a is.
func (a Artifact) Fetched() bool { return a.got != nil && a.got.err == nil }

// Identity is what Chart.yaml says.
type Identity struct {
	Name       string
	Version    string
	AppVersion string
}

// Store downloads artifacts and remembers them. It may be used concurrently.
type Store struct {
	client   *http.Client
	maxBytes int64
	grace    time.Duration
	// clock and observed are what Observing sets.
	clock    func() time.Time
	observed func(took time.Duration, size int64, err error)

	// mu guards what follows, and of each download what its type says.
	mu    sync.Mutex
	cache *cache
	// running are the downloads that have not ended, by artifact; hosts are where
	// they come from.
	running map[string]*download
	hosts   map[string]*host
	// tickets are the downloads that somebody was told to come back for.
	tickets map[string]*download
}

// NewStore returns a store that downloads through client, whose Timeout bounds
// a download, and refuses artifacts of more than maxBytes bytes. It keeps
// DefaultCacheBytes, and lets callers wait for DefaultGrace.
func NewStore(client *http.Client, maxBytes int64) *Store {
	return &Store{
		client: client, maxBytes: maxBytes, grace: DefaultGrace, cache: newCache(DefaultCacheBytes),
		clock: func() time.Time { return time.Time{} }, observed: func(time.Duration, int64, error) {},
		running: map[string]*download{}, hosts: map[string]*host{}, tickets: map[string]*download{},
	}
}

// Keeping makes the store keep at most limit bytes of artifacts, none if it is 0.
// It must be called before the store is used.
func (s *Store) WithCacheLimit(limit int64) *Store {
	s.cache = newCache(limit)
	return s
}

// Waiting makes callers wait for as long as grace. It must be called before the
// store is used.
func (s *Store) WithGrace(grace time.Duration) *Store {
	s.grace = grace
	return s
}

// Observing makes the store tell of each download that has ended how long it took,
// by now, how many bytes came and what went wrong. observed must not block. It must
// be called before the store is used.
func (s *Store) WithObserver(now func() time.Time, observed func(took time.Duration, size int64, err error)) *Store {
	s.clock, s.observed = now, observed
	return s
}

// Stats are the figures of what a store keeps.
type Stats struct {
	// Identities counts what is known without bytes; Archives and Parsed are charts as
	// they came, and as they are run.
	Identities, Archives, Parsed int
	// ArchiveBytes is exact, ParsedBytes an estimate.
	ArchiveBytes, ParsedBytes int64
}

// Stats counts.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cache
	return Stats{
		Identities: c.identities.Len(), Archives: c.bytes.Len(), Parsed: c.parsed.Len(),
		ArchiveBytes: c.bytesHeld, ParsedBytes: c.parsedHeld,
	}
}

// Identify returns the identity of an artifact's chart, and the artifact, with its
// bytes if they had to be downloaded. What it has seen before it knows without
// them. It waits for a download only for a moment and then returns a *Pending;
// waiter says who has to come back.
func (s *Store) Identify(ctx context.Context, a Artifact, waiter string) (Identity, Artifact, error) {
	s.mu.Lock()
	a.got = s.collect(a, waiter)
	known, ok := s.cache.identities.Get(a.Digest)
	data, cached := s.cache.bytes.Get(a.Digest)
	s.mu.Unlock()
	if ok {
		return known.id, a, nil
	}
	if !a.Fetched() && cached {
		a.got = &outcome{data: data}
	}
	if a.got == nil {
		var err error
		if a.got, err = s.obtain(ctx, a, waiter); err != nil {
			return Identity{}, a, err
		}
	}
	c, err := a.got.parse(a)
	if err != nil {
		return Identity{}, a, err
	}
	return s.identified(a.Digest, c).id, a, nil
}

// identified remembers what a chart is.
func (s *Store) identified(digest string, c *helmchart.Chart) identified {
	known := identified{
		id:    Identity{Name: c.Metadata.Name, Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion},
		reads: readsOf(c),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache.identities.Add(digest, known)
	return known
}

// Reads returns what the chart of an artifact reads of the cluster. Whoever has
// identified the artifact lately gets it from memory; otherwise it waits for a
// download, as Load does.
func (s *Store) Reads(ctx context.Context, a Artifact) (ClusterReads, error) {
	s.mu.Lock()
	known, ok := s.cache.identities.Get(a.Digest)
	s.mu.Unlock()
	if ok {
		return known.reads, nil
	}
	c, err := s.Load(ctx, a)
	if err != nil {
		return ClusterReads{}, err
	}
	return s.identified(a.Digest, c).reads, nil
}

// Hold returns the artifact with its bytes, so that Load does not have to download
// them. It takes what Identify returned for the same waiter, and waits as that
// does.
func (s *Store) Fetch(ctx context.Context, a Artifact, waiter string) (Artifact, error) {
	if !a.Fetched() {
		s.mu.Lock()
		data, cached := s.cache.bytes.Get(a.Digest)
		s.mu.Unlock()
		if cached {
			a.got = &outcome{data: data}
		}
	}
	if a.got == nil {
		var err error
		if a.got, err = s.obtain(ctx, a, waiter); err != nil {
			return a, err
		}
	}
	if a.got.err != nil {
		return a, a.got.err
	}
	// Many may wait for their turn: each holds bytes, which are shared, and none a
	// parsed chart.
	s.keep(a.Digest, a.got.chart)
	a.got = &outcome{data: a.got.data}
	return a, nil
}

// Load returns a chart of its own for the caller to render and change. Unless the
// artifact is held it may have to be downloaded, for as long as that takes.
func (s *Store) Load(ctx context.Context, a Artifact) (*helmchart.Chart, error) {
	s.mu.Lock()
	known, parsed := s.cache.parsed.Get(a.Digest)
	data, cached := s.cache.bytes.Get(a.Digest)
	s.mu.Unlock()
	switch {
	case parsed:
		return copied(known.chart), nil
	case a.Fetched():
	case cached:
		a.got = &outcome{data: data}
	default:
		d, _ := s.join(ctx, a)
		select {
		case <-d.ended:
			a.got = d.got
		case <-ctx.Done():
			return nil, notWaitedFor(ctx, a)
		}
	}
	c, err := a.got.parse(a)
	if err != nil {
		return nil, err
	}
	if kept := s.keep(a.Digest, c); !kept && a.got.chart == nil {
		// Nobody else has it.
		return c, nil
	}
	return copied(c), nil
}

// keep takes over a parsed chart, if there is one, and reports whether it did.
func (s *Store) keep(digest string, c *helmchart.Chart) bool {
	if c == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cache.keepParsed(digest, c)
}

// obtain returns what came of a download, for which it waits a moment.
func (s *Store) obtain(ctx context.Context, a Artifact, waiter string) (*outcome, error) {
	d, wait := s.join(ctx, a)
	if wait {
		select {
		case <-d.ended:
		case <-d.late:
		case <-ctx.Done():
			return nil, notWaitedFor(ctx, a)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.got != nil {
		return d.got, nil
	}
	if s.tickets[waiter] != d {
		s.tickets[waiter] = d
		d.waiters = append(d.waiters, waiter)
	}
	return nil, &Pending{URL: redacted(a.URL), Ended: d.ended, Slow: d.slow}
}

// collect gives a waiter what it came back for: nil if it waits for nothing, for
// something else, or still.
func (s *Store) collect(a Artifact, waiter string) *outcome {
	d := s.tickets[waiter]
	if d == nil || d.got == nil {
		return nil
	}
	delete(s.tickets, waiter)
	if d.key != a.key() {
		return nil
	}
	return d.got
}

func notWaitedFor(ctx context.Context, a Artifact) error {
	return fmt.Errorf("artifact %s was not waited for: %w", redacted(a.URL), context.Cause(ctx))
}

// outcome is what came of a download. It does not change.
type outcome struct {
	data []byte
	// chart is parsed data; nil if nobody needed to know. It must not be changed.
	chart *helmchart.Chart
	err   error
}

// parse returns a chart that others may have too.
func (o *outcome) parse(a Artifact) (*helmchart.Chart, error) {
	if o.err != nil || o.chart != nil {
		return o.chart, o.err
	}
	err := inspect(o.data)
	if err != nil {
		return nil, fmt.Errorf("chart in %s is refused: %w", redacted(a.URL), err)
	}
	c, err := loader.LoadArchive(bytes.NewReader(o.data))
	if err != nil {
		return nil, fmt.Errorf("chart in %s cannot be read: %w", redacted(a.URL), err)
	}
	return c, nil
}

// key of a download. The URL is part of it because one server may have the bytes
// when another has lost them.
func (a Artifact) key() string { return a.Digest + " " + a.URL }

// redacted returns the URL as people may see it: without a user, who may be a
// token, without a password, and without a query, which signed URLs have.
func redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		raw, _, _ = strings.Cut(raw, "?")
		if i := strings.LastIndex(raw, "@"); i >= 0 {
			raw = "***" + raw[i:]
		}
		return raw
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
