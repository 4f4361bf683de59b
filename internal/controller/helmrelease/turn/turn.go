// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package turn limits concurrent reconciliations, so that API servers of tenants delay only their
// own releases.
//
// A reconciliation works in a slot. One that reads another cluster releases its slot after 50 ms:
// then it waits for that cluster, for at most a few requests. One that reads only the own cluster
// releases it after five seconds: then it waits for a webhook, an aggregated API or a plan. The number of reconciliations without a slot is limited, for each namespace and in total,
// so others find a slot within seconds.
package turn

import (
	"context"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/fair"
)

// patience is the time for which a reconciliation that reads another cluster keeps its slot. A
// cluster in the same data centre has answered by then.
const patience = 50 * time.Millisecond

// ownPatience is the time for which a reconciliation that reads only the own cluster keeps its slot.
// Almost all end within a second.
const ownPatience = 5 * time.Second

// Retry is the time after which a reconciliation that got no turn is tried again, and after which
// one that has to keep its slot tries to release it again.
const Retry = time.Second

// Turns are the slots of reconciliations. It is safe for concurrent use.
type Turns struct {
	slots *fair.Semaphore
	// maxWaiting limits the reconciliations of a namespace that release their slots, and maxAll
	// those of all namespaces.
	maxWaiting, maxAll int

	mu sync.Mutex
	// waiting counts them by namespace, and all is their sum.
	waiting map[string]int
	all     int
}

// New returns the given number of slots.
func New(slots int, now func() time.Time) *Turns {
	slots = max(1, slots)
	return &Turns{
		slots: fair.New(fair.Options{Size: slots, Now: now}), maxWaiting: 3 * slots, maxAll: 6 * slots, waiting: map[string]int{},
	}
}

// Goroutines returns the number of reconciliations that may run at the same time.
func (t *Turns) Goroutines() int { return t.maxAll + t.slots.Size() }

// Turn is the turn of one reconciliation.
type Turn struct {
	turns     *Turns
	namespace string
	// release releases the slot. It may be called more than once.
	release func()

	// The mutex of turns guards these. isWaiting is true if the turn counts as one that releases
	// its slot, and ended after its end.
	isWaiting, ended bool
	timer            *time.Timer
}

// Begin waits for a slot for a reconciliation in a namespace. The slot is released at the end of the
// turn, or after ownPatience if the limits permit it.
func (t *Turns) Begin(ctx context.Context, namespace string) (*Turn, error) {
	if err := t.slots.Acquire(ctx, namespace); err != nil {
		return nil, err
	}
	turn := &Turn{turns: t, namespace: namespace, release: sync.OnceFunc(func() { t.slots.Release(namespace) })}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn.timer = time.AfterFunc(ownPatience, turn.outlast)
	return turn, nil
}

// Remote is called when the reconciliation is about to read another cluster. It returns false if too
// many do. Then the reconciliation ends, and is tried again after Retry.
func (t *Turn) Remote() bool {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	if !t.count() {
		return false
	}
	t.timer.Stop()
	t.timer = time.AfterFunc(patience, t.release)
	return true
}

// outlast releases the slot of a reconciliation that takes long, as soon as the limits permit it.
func (t *Turn) outlast() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	switch {
	case t.ended || t.isWaiting:
	case t.count():
		t.release()
	default:
		t.timer.Reset(Retry)
	}
}

// count reports whether the limits permit that the turn releases its slot, and counts it. It is
// called with the mutex held.
func (t *Turn) count() bool {
	if t.turns.waiting[t.namespace] >= t.turns.maxWaiting || t.turns.all >= t.turns.maxAll {
		return false
	}
	t.turns.waiting[t.namespace]++
	t.turns.all++
	t.isWaiting = true
	return true
}

// End ends the turn.
func (t *Turn) End() {
	t.release()
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.ended = true
	t.timer.Stop()
	if !t.isWaiting {
		return
	}
	t.turns.all--
	if t.turns.waiting[t.namespace]--; t.turns.waiting[t.namespace] == 0 {
		delete(t.turns.waiting, t.namespace)
	}
}
