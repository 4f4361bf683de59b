// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// burst is the size of the token bucket of a subscriber, and refill the time until a token
	// is added, unless Options set another. Two controllers that overwrite each other's changes
	// cost two reconciliations a minute.
	burst  = 10
	refill = 30 * time.Second
)

// subscriber is a HelmRelease and the targets that it watches.
type subscriber struct {
	key     types.NamespacedName
	cluster string
	targets []Target
	// refill is the time until a token is added to the bucket.
	refill time.Duration
	// enqueueAt is when the subscriber is enqueued next; zero for never.
	enqueueAt time.Time
	// delayed is true if enqueueAt is the time of the next token.
	delayed bool
	// fullAt is when the token bucket is full. It determines the number of tokens.
	fullAt time.Time
}

// nextToken returns when there is a token.
func (s *subscriber) nextToken() time.Time { return s.fullAt.Add(-(burst - 1) * s.refill) }

// rateLimited reports whether there is no token.
func (s *subscriber) rateLimited(now time.Time) bool { return s.nextToken().After(now) }

// RateLimited reports whether modifications have enqueued a HelmRelease so often that the next one
// enqueues it later.
func (r *Registry) RateLimited(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.subscribers[key]
	return s != nil && s.rateLimited(r.options.Clock.Now())
}

// schedule enqueues a subscriber soon. A modification takes a token, unless the subscriber is
// scheduled already. A deletion takes none and is not delayed.
func (r *Registry) schedule(s *subscriber, deleted bool) {
	now := r.options.Clock.Now()
	soon := now.Add(r.options.Debounce)
	switch scheduled := !s.enqueueAt.IsZero(); {
	case scheduled && s.delayed && deleted:
		// It need not wait for its token, which is returned.
		s.fullAt, s.delayed, s.enqueueAt = s.fullAt.Add(-s.refill), false, soon
	case scheduled:
		return
	case deleted:
		s.enqueueAt = soon
	default:
		s.enqueueAt = soon
		if token := s.nextToken(); token.After(now) {
			r.delayed++
			s.delayed = true
			if token.After(soon) {
				s.enqueueAt = token
			}
		}
		if s.fullAt.Before(now) {
			s.fullAt = now
		}
		s.fullAt = s.fullAt.Add(s.refill)
	}
	r.scheduled[s] = struct{}{}
	r.runAt(s.enqueueAt)
}

// runAt makes dispatch run at a time, or earlier.
func (r *Registry) runAt(at time.Time) {
	if !r.next.IsZero() && !at.Before(r.next) {
		return
	}
	r.next = at
	select {
	case r.rescheduled <- struct{}{}:
	default:
	}
}

// dispatch enqueues subscribers and ends idle watches when they are due, until ctx ends.
func (r *Registry) dispatch(ctx context.Context) {
	for {
		now := r.options.Clock.Now()
		due, next := r.due(now)
		for _, key := range due {
			r.enqueue(key)
		}
		var elapsed <-chan time.Time
		stop := func() bool { return true }
		if !next.IsZero() {
			timer := r.options.Clock.NewTimer(next.Sub(now))
			elapsed, stop = timer.C(), timer.Stop
		}
		select {
		case <-elapsed:
		case <-r.rescheduled:
		case <-ctx.Done():
			stop()
			return
		}
		stop()
	}
}

// due ends the watches that were idle for long enough. It returns the keys to enqueue and the time
// of the next run; zero for none.
func (r *Registry) due(now time.Time) (due []types.NamespacedName, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = time.Time{}
	later := func(at time.Time) bool {
		if !at.After(now) {
			return false
		}
		if r.next.IsZero() || at.Before(r.next) {
			r.next = at
		}
		return true
	}
	for k, until := range r.idle {
		if !later(until) {
			r.stopWatch(k)
		}
	}
	for s := range r.scheduled {
		if !later(s.enqueueAt) {
			s.enqueueAt, s.delayed = time.Time{}, false
			delete(r.scheduled, s)
			due = append(due, s.key)
		}
	}
	r.enqueued += uint64(len(due))
	return due, r.next
}
