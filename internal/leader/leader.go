// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrClosed is the error of a write that was not sent because this process has released or lost its
// lease. The fence does not open again.
var ErrClosed error = closedError{}

type closedError struct{}

func (closedError) Error() string {
	return "not sent: this replica has released or lost its lease"
}

// NotSent reports true: clients must not repeat the request.
func (closedError) NotSent() bool { return true }

// Fence is the lock for leader election. It lets writes pass while its lease is held. It may be
// used concurrently.
type Fence struct {
	resourcelock.Interface

	o Options

	mu sync.Mutex
	// renewed is when the last successful renewal was sent; zero before the first.
	renewed time.Time
	// changed is closed and replaced at each change that waiting goroutines must check.
	changed chan struct{}
	closed  bool
	// passing is the number of writes in flight.
	passing int
}

// Options configure a Fence. All are required.
type Options struct {
	// Limit is how long the fence is open after the last renewal was sent. It must be less than
	// the duration of the lease by the time that a request may take to reach its server.
	Limit time.Duration
	Now   func() time.Time
	// Lost is called once, when another replica holds the lease. No write is sent then, and the
	// process should exit.
	Lost func()
}

// New returns a fence around lock.
func New(lock resourcelock.Interface, o Options) *Fence {
	return &Fence{Interface: lock, o: o, changed: make(chan struct{})}
}

// Get implements resourcelock.Interface. If another replica holds the lease that this one held, it
// is lost. The elector would notice that at the renew deadline only.
func (f *Fence) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := f.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != f.Identity() && f.lose() {
		f.o.Lost()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (f *Fence) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := f.o.Now()
	return f.recordRenewal(sent, f.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface. An update with another or no holder releases the lease:
// no write passes from then on. The update fails if writes are in flight when ctx ends, and the
// lease then expires.
func (f *Fence) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == f.Identity() {
		sent := f.o.Now()
		return f.recordRenewal(sent, f.Interface.Update(ctx, record))
	}
	f.close()
	if err := f.drain(ctx); err != nil {
		return err
	}
	return f.Interface.Update(ctx, record)
}

// recordRenewal records a renewal if err is nil. The fence counts from the time of sending, other
// replicas from the later time at which they observe the renewal.
func (f *Fence) recordRenewal(sent time.Time, err error) error {
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = sent
	f.broadcast()
	return nil
}

// lose closes the fence and reports whether the lease was held and not released before.
func (f *Fence) lose() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() || f.closed {
		return false
	}
	f.closed = true
	f.broadcast()
	return true
}

func (f *Fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.broadcast()
}

// broadcast makes waiting goroutines check the fence. The caller holds mu.
func (f *Fence) broadcast() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// drain waits until no write is in flight.
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
			return fmt.Errorf("the lease is not released while %d writes are in flight: %w", passing, ctx.Err())
		}
	}
}

// enter waits until a write may be sent, and counts it. It waits rather than fails, because a lease
// that was not renewed in time may still be.
func (f *Fence) enter(ctx context.Context) error {
	for {
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			return ErrClosed
		}
		if f.age() < f.o.Limit {
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
		f.broadcast()
	}
}

// age returns the time since the last renewal; without one it exceeds any limit. It is the larger
// of the times by the monotonic and by the wall clock: the monotonic clock stops while the machine
// sleeps, and the wall clock can be set back. The caller must hold mu.
func (f *Fence) age() time.Duration {
	now := f.o.Now()
	return max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0)))
}

// Guard returns a transport that sends writes through next when the fence is open. Reads, dry runs
// and events, which a leader records at its shutdown, are always sent. Transports that repeat
// requests must wrap it.
func (f *Fence) Guard(next http.RoundTripper) http.RoundTripper { return &guard{fence: f, next: next} }

type guard struct {
	fence *Fence
	next  http.RoundTripper
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if unfenced(req) || isDryRun(req) {
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

func isRead(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
}

// isDryRun reports whether a request is a write that changes nothing. Another value, or a field in
// the body, does not count.
func isDryRun(req *http.Request) bool {
	return slices.Equal(req.URL.Query()["dryRun"], []string{metav1.DryRunAll})
}

// unfenced reports whether a request is a read or writes an event.
func unfenced(req *http.Request) bool {
	if isRead(req) {
		return true
	}
	// .../namespaces/NAMESPACE/events, with or without a name.
	parts := strings.Split(req.URL.Path, "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			return parts[i+2] == "events"
		}
	}
	return false
}
