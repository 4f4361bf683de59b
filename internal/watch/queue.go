// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
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

// queue holds the subscribers that have a time to be enqueued. The mutex of the Registry guards it.
type queue struct {
	debounce time.Duration
	clock    clock.Clock
	// rescheduled holds a value if next has become earlier.
	rescheduled chan struct{}

	scheduled map[*subscriber]struct{}
	// next is when due has to be called; zero for never.
	next time.Time
	// enqueued and delayed are the counts of Stats.
	enqueued, delayed uint64
}

func newQueue(debounce time.Duration, c clock.Clock) *queue {
	return &queue{debounce: debounce, clock: c, rescheduled: make(chan struct{}, 1), scheduled: map[*subscriber]struct{}{}}
}

// schedule enqueues a subscriber soon. A modification takes a token, unless the subscriber is
// scheduled already. A deletion takes none and is not delayed.
func (q *queue) schedule(s *subscriber, deleted bool) {
	now := q.clock.Now()
	soon := now.Add(q.debounce)
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
			q.delayed++
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
	q.scheduled[s] = struct{}{}
	q.runAt(s.enqueueAt)
}

func (q *queue) remove(s *subscriber) { delete(q.scheduled, s) }

// runAt ends sleep at a time, or earlier.
func (q *queue) runAt(at time.Time) {
	if !q.setNext(at) {
		return
	}
	select {
	case q.rescheduled <- struct{}{}:
	default:
	}
}

// setNext sets next to a time, unless next is earlier. It returns whether it did.
func (q *queue) setNext(at time.Time) bool {
	if !q.next.IsZero() && !at.Before(q.next) {
		return false
	}
	q.next = at
	return true
}

// due returns the keys to enqueue now, and sets next.
func (q *queue) due(now time.Time) []types.NamespacedName {
	var keys []types.NamespacedName
	q.next = time.Time{}
	for s := range q.scheduled {
		if s.enqueueAt.After(now) {
			q.setNext(s.enqueueAt)
			continue
		}
		s.enqueueAt, s.delayed = time.Time{}, false
		delete(q.scheduled, s)
		keys = append(keys, s.key)
	}
	q.enqueued += uint64(len(keys))
	return keys
}

// sleep returns at a time, when next becomes earlier, or when ctx ends. A zero time is never. It is
// called without the mutex.
func (q *queue) sleep(ctx context.Context, now, until time.Time) {
	var elapsed <-chan time.Time
	if !until.IsZero() {
		timer := q.clock.NewTimer(until.Sub(now))
		defer timer.Stop()
		elapsed = timer.C()
	}
	select {
	case <-elapsed:
	case <-q.rescheduled:
	case <-ctx.Done():
	}
}
