// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Semaphore has slots for tenants. It is safe for concurrent use.
type Semaphore struct {
	now func() time.Time

	mu    sync.Mutex
	state state
	// granted has a channel for each request in the queue, which is closed when it gets a slot.
	granted []chan struct{}
}

// Options configure a Semaphore.
type Options struct {
	// Size is the number of slots.
	Size int
	// Reserve, if not 0, is the recent usage above which a tenant does not get the last free slot,
	// if other tenants have used slots recently.
	Reserve time.Duration
	// Now returns the current time. If it always returns the same time, requests keep their order.
	Now func() time.Time
}

// New returns a semaphore whose slots are free.
func New(o Options) *Semaphore {
	return &Semaphore{now: o.Now, state: state{size: o.Size, free: o.Size, reserve: o.Reserve, usages: map[string]usage{}}}
}

// Acquire waits for a slot. If it returns nil, the caller must call Release with the same tenant. The
// usage of the empty tenant does not count. The error is the cause of ctx.
func (s *Semaphore) Acquire(ctx context.Context, tenant string, others ...string) error {
	granted := s.enqueue(request{tenant: tenant, others: others})
	select {
	case <-granted:
		if ctx.Err() == nil {
			return nil
		}
		s.Release(tenant, others...)
	case <-ctx.Done():
		if !s.withdraw(granted) {
			s.Release(tenant, others...)
		}
	}
	return context.Cause(ctx)
}

// Resume waits for a slot before other callers with the same tenant. It is for callers that had one
// and need it again to end.
func (s *Semaphore) Resume(tenant string, others ...string) {
	<-s.enqueue(request{tenant: tenant, resumed: true, others: others})
}

// TryAcquire acquires a slot for the empty tenant if there is a free one that no other caller waits
// for.
func (s *Semaphore) TryAcquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.free <= 0 || len(s.state.queue) > 0 {
		return false
	}
	s.state.free--
	return true
}

// Release releases a slot.
func (s *Semaphore) Release(tenant string, others ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.free++
	s.count(tenant, -1)
	for _, t := range others {
		s.count(t, -1)
	}
	s.grant()
}

// Size returns the number of slots.
func (s *Semaphore) Size() int { return s.state.size }

// Used returns the number of slots that are not free.
func (s *Semaphore) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.size - s.state.free
}

// enqueue adds a request, and returns the channel that is closed when it gets a slot.
func (s *Semaphore) enqueue(r request) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := make(chan struct{})
	s.state.enqueue(r)
	s.granted = append(s.granted, granted)
	s.grant()
	return granted
}

// withdraw removes a request from the queue. It returns false if it has got a slot.
func (s *Semaphore) withdraw(granted chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.granted, granted)
	if i < 0 {
		return false
	}
	s.state.queue, s.granted = slices.Delete(s.state.queue, i, i+1), slices.Delete(s.granted, i, i+1)
	s.grant() // the last free slot may have been kept for it
	return true
}

// grant gives free slots to requests. The caller holds mu.
func (s *Semaphore) grant() {
	for i := s.state.next(s.now()); i >= 0; i = s.state.next(s.now()) {
		s.grantTo(i)
	}
}

// grantTo gives a slot to a request. The caller holds mu.
func (s *Semaphore) grantTo(i int) {
	r := s.state.queue[i]
	close(s.granted[i])
	s.granted = slices.Delete(s.granted, i, i+1)
	s.state.dequeue(i)
	s.count(r.tenant, 1)
	for _, t := range r.others {
		s.count(t, 1)
	}
}

// count changes the number of slots of a tenant, and forgets tenants without usage. The caller holds
// mu.
func (s *Semaphore) count(tenant string, slots int) {
	now := s.now()
	if tenant != "" {
		u := s.state.usages[tenant].until(now)
		u.slots += slots
		s.state.usages[tenant] = u
	}
	for t, u := range s.state.usages {
		if u.until(now).forgettable() {
			delete(s.state.usages, t)
		}
	}
}
