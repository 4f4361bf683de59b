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
	// burst is the size of the token buckets of a subscriber.
	burst = 10
	// refill is the time until a token for modifications is added, unless Options set another. Two
	// controllers that overwrite each other's changes cost two reconciliations a minute.
	refill = 30 * time.Second
	// deletionRefill is the same for deletions. It bounds the delay of a deletion, and the
	// reconciliations that a tenant causes who labels and deletes objects all the time.
	deletionRefill = 10 * time.Second
)

// bucket is a bucket of tokens.
type bucket struct {
	// refill is the time until a token is added.
	refill time.Duration
	// fullAt is when the bucket is full. It determines the number of tokens.
	fullAt time.Time
}

// next returns when there is a token.
func (b *bucket) next() time.Time { return b.fullAt.Add(-(burst - 1) * b.refill) }

// take takes a token, maybe one that is added later.
func (b *bucket) take(now time.Time) {
	if b.fullAt.Before(now) {
		b.fullAt = now
	}
	b.fullAt = b.fullAt.Add(b.refill)
}

// putBack returns a token that was taken and is not used.
func (b *bucket) putBack() { b.fullAt = b.fullAt.Add(-b.refill) }

// subscriber is a HelmRelease and the targets that it watches.
type subscriber struct {
	key     types.NamespacedName
	cluster string
	targets []Target
	// modifications and deletions are the budgets of what enqueues the subscriber.
	modifications, deletions bucket
	// enqueueAt is when the subscriber is enqueued next; zero for never.
	enqueueAt time.Time
	// delayed is true if enqueueAt is the time of the next token for a modification.
	delayed bool
}

func newSubscriber(key types.NamespacedName, refill time.Duration) *subscriber {
	return &subscriber{
		key: key, modifications: bucket{refill: refill}, deletions: bucket{refill: min(refill, deletionRefill)},
	}
}

// rateLimited reports whether there is no token for a modification.
func (s *subscriber) rateLimited(now time.Time) bool { return s.modifications.next().After(now) }

// queue holds the subscribers that have a time to be enqueued. The mutex of the Registry guards it.
type queue struct {
	debounce time.Duration
	clock    clock.Clock
	// rescheduled holds a value if next has become earlier.
	rescheduled chan struct{}

	scheduled map[*subscriber]struct{}
	// next is when due must be called; zero for never.
	next time.Time
	// enqueued and delayed are the counts of Stats.
	enqueued, delayed uint64
}

func newQueue(debounce time.Duration, c clock.Clock) *queue {
	return &queue{debounce: debounce, clock: c, rescheduled: make(chan struct{}, 1), scheduled: map[*subscriber]struct{}{}}
}

// schedule enqueues a subscriber soon. A modification or deletion takes a token of its own kind,
// unless the subscriber is scheduled early enough. Without a token it is enqueued at the time of the
// next one.
func (q *queue) schedule(s *subscriber, deleted bool) {
	now := q.clock.Now()
	soon := now.Add(q.debounce)
	if !s.enqueueAt.IsZero() && (!deleted || !s.delayed) {
		return
	}
	budget := &s.modifications
	if deleted {
		budget = &s.deletions
	}
	at := soon
	if token := budget.next(); token.After(soon) {
		at = token
	}
	if s.delayed {
		if !at.Before(s.enqueueAt) {
			return
		}
		// The modification is seen with the deletion. Its token is returned.
		s.modifications.putBack()
	}
	if budget.next().After(now) {
		q.delayed++
	}
	s.delayed = !deleted && budget.next().After(now)
	budget.take(now)
	s.enqueueAt = at
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
