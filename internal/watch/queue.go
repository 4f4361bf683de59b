// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// burst is how many wake-ups by modifications a release has at once, and refill
	// how long it takes until it has one more, unless Options say otherwise. Two who
	// correct each other without end cost two visits a minute.
	burst  = 10
	refill = 30 * time.Second
)

// follower is a release, and what it follows or awaits.
type follower struct {
	key     types.NamespacedName
	cluster string
	targets []Target
	// refill is how long it takes until there is one more token.
	refill time.Duration
	// due is when it is going to be woken; zero if it is not.
	due time.Time
	// held is true if due waits for a token.
	held bool
	// full is when its bucket of tokens is full again, which says how many there are.
	full time.Time
}

// token returns when there is one.
func (f *follower) token() time.Time { return f.full.Add(-(burst - 1) * f.refill) }

// open reports whether there is no token.
func (f *follower) open(now time.Time) bool { return f.token().After(now) }

// RateLimited reports whether a release has been woken so often by modifications that
// the next one has to wait.
func (r *Registry) RateLimited(key types.NamespacedName) (open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.followers[key]
	return f != nil && f.open(r.options.Clock.Now())
}

// schedule sees to it that a release is woken. A modification takes a token, unless
// the release is going to be woken anyway.
func (r *Registry) schedule(f *follower, deleted bool) {
	now := r.options.Clock.Now()
	soon := now.Add(r.options.Debounce)
	switch waiting := !f.due.IsZero(); {
	case waiting && f.held && deleted:
		// It need not wait for its token, which goes back.
		f.full, f.held, f.due = f.full.Add(-f.refill), false, soon
	case waiting:
		return
	case deleted:
		f.due = soon
	default:
		f.due = soon
		if token := f.token(); token.After(now) {
			r.held++
			f.held = true
			if token.After(soon) {
				f.due = token
			}
		}
		if f.full.Before(now) {
			f.full = now
		}
		f.full = f.full.Add(f.refill)
	}
	r.pending[f] = struct{}{}
	r.expect(f.due)
}

// expect sees to it that somebody looks what is to be done at a time.
func (r *Registry) expect(at time.Time) {
	if !r.next.IsZero() && !at.Before(r.next) {
		return
	}
	r.next = at
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// keepTime does what is due, until ctx ends.
func (r *Registry) keepTime(ctx context.Context) {
	for {
		now := r.options.Clock.Now()
		due, next := r.due(now)
		for _, key := range due {
			r.wake(key)
		}
		var elapsed <-chan time.Time
		stop := func() bool { return true }
		if !next.IsZero() {
			timer := r.options.Clock.NewTimer(next.Sub(now))
			elapsed, stop = timer.C(), timer.Stop
		}
		select {
		case <-elapsed:
		case <-r.kick:
		case <-ctx.Done():
			stop()
			return
		}
		stop()
	}
}

// due ends the watches whose time is up, and returns who is to be woken and when
// something is due next.
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
			r.end(k)
		}
	}
	for f := range r.pending {
		if !later(f.due) {
			f.due, f.held = time.Time{}, false
			delete(r.pending, f)
			due = append(due, f.key)
		}
	}
	r.wakes += uint64(len(due))
	return due, r.next
}
