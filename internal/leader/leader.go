// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package leader keeps a replica from writing that may not be the leader any more.
//
// Leader election alone does not: a process that was stopped for longer than its
// lease lasts goes on where it was, and asks for its lease, in vain, until the renew
// deadline has passed once more. So every write passes the fence, which is open only
// for as long after a renewal as nobody else can hold the lease. And the lease is
// given away only when no write is on its way.
package leader

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrClosed is why a write was not sent: this process is not the leader any more,
// and will not be again.
var ErrClosed error = closedError{}

type closedError struct{}

func (closedError) Error() string {
	return "not sent: this replica has given its lease away, or lost it"
}

// NotSent tells clients that repeating the request is useless.
func (closedError) NotSent() bool { return true }

// Fence is the lock that leaders are elected with, and lets writes pass while its
// lease is held. It may be used concurrently.
type Fence struct {
	resourcelock.Interface

	limit time.Duration
	now   func() time.Time
	lost  func()

	mu sync.Mutex
	// renewed is when the last renewal was sent that succeeded; zero before the first.
	renewed time.Time
	// changed is closed, and made anew, whenever somebody who waits should look again.
	changed chan struct{}
	closed  bool
	// passing is how many writes have been sent and not been answered.
	passing int
}

// New returns a fence around lock. It is open until limit has passed since the last
// renewal was sent; limit must be less than the duration of the lease, by the time
// that a request may take to reach its server. lost is called, once, when somebody
// else turns out to hold the lease: nothing can be written then, and the process
// should end.
func New(lock resourcelock.Interface, limit time.Duration, now func() time.Time, lost func()) *Fence {
	return &Fence{Interface: lock, limit: limit, now: now, lost: lost, changed: make(chan struct{})}
}

// Get implements resourcelock.Interface. Whoever holds a lease and reads that
// somebody else does has lost it. The elector would not say so before the renew
// deadline.
func (f *Fence) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := f.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != f.Identity() && f.lose() {
		f.lost()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (f *Fence) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := f.now()
	return f.note(sent, f.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface. An update that names another holder, or
// nobody, gives the lease away: no write passes from then on, and it fails if some
// are not answered before ctx ends. The lease then expires in its own time.
func (f *Fence) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == f.Identity() {
		sent := f.now()
		return f.note(sent, f.Interface.Update(ctx, record))
	}
	f.close()
	if err := f.drain(ctx); err != nil {
		return err
	}
	return f.Interface.Update(ctx, record)
}

// note takes note of a renewal. What counts is when it was sent: others count from
// when they saw it, which is later.
func (f *Fence) note(sent time.Time, err error) error {
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = sent
	f.tell()
	return nil
}

// lose closes the fence, and reports whether there was anything to lose: the lease
// was held, and had not been given away.
func (f *Fence) lose() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() || f.closed {
		return false
	}
	f.closed = true
	f.tell()
	return true
}

func (f *Fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.tell()
}

// tell has those who wait look again. The caller holds mu.
func (f *Fence) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// drain waits until every write that was sent is answered.
func (f *Fence) drain(ctx context.Context) error {
	for {
		f.mu.Lock()
		passing, changed := f.passing, f.changed
		f.mu.Unlock()
		if passing == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the lease is not given away, because %d writes are not answered: %w", passing, ctx.Err())
		}
	}
}

// enter waits until a write may be sent, and counts it. A lease that could not be
// renewed in time may well be renewed yet, so nothing fails that can wait.
func (f *Fence) enter(ctx context.Context) error {
	for {
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			return ErrClosed
		}
		if f.age() < f.limit {
			f.passing++
			f.mu.Unlock()
			return nil
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("not sent: waited for the lease to be renewed: %w", ctx.Err())
		}
	}
}

func (f *Fence) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passing--
	if f.closed {
		f.tell()
	}
}

// age is the time since the last renewal, ages if there was none, by whichever clock says more: the monotonic
// one stands still while the machine sleeps, and the other one can be set back. The
// caller holds mu.
func (f *Fence) age() time.Duration {
	now := f.now()
	return max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0)))
}

// Guard returns a transport that has writes pass the fence before next sends them.
// Reads change nothing, and neither do events, in which a leader tells of its end;
// they are always sent. What retries must be outside of it.
func (f *Fence) Guard(next http.RoundTripper) http.RoundTripper { return &guard{fence: f, next: next} }

type guard struct {
	fence *Fence
	next  http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that holds connections.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if harmless(req) {
		return g.next.RoundTrip(req)
	}
	if err := g.fence.enter(req.Context()); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	defer g.fence.leave()
	return g.next.RoundTrip(req)
}

func harmless(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	// .../namespaces/NAMESPACE/events, with the name of one or without.
	parts := strings.Split(req.URL.Path, "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			return parts[i+2] == "events"
		}
	}
	return false
}
