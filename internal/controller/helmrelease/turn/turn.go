// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package turn limits concurrent reconciliations, so that API servers of tenants delay only their
// own releases.
//
// A reconciliation works in a slot. One that reads another cluster releases its slot after a second:
// then it waits for that cluster, for at most a few requests. The number of these is limited, for
// each namespace and in total, so a reconciliation that reads the own cluster always finds a slot
// within a second.
package turn

import (
	"context"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/fair"
)

// patience is the time for which a reconciliation that reads another cluster keeps its slot.
const patience = time.Second

// Retry is the time after which a reconciliation that got no turn is tried again.
const Retry = time.Second

// Turns are the slots of reconciliations. It is safe for concurrent use.
type Turns struct {
	slots *fair.Semaphore
	// maxRemote limits the reconciliations of a namespace that read other clusters, and maxAll those
	// of all namespaces.
	maxRemote, maxAll int

	mu sync.Mutex
	// remote counts them by namespace, and all is their sum.
	remote map[string]int
	all    int
}

// New returns the given number of slots.
func New(slots int, now func() time.Time) *Turns {
	slots = max(1, slots)
	return &Turns{
		slots: fair.New(fair.Options{Size: slots, Now: now}), maxRemote: 3 * slots, maxAll: 6 * slots, remote: map[string]int{},
	}
}

// Goroutines returns the number of reconciliations that may run at the same time, with those that
// wait for a slot.
func (t *Turns) Goroutines() int { return t.maxAll + t.slots.Size() }

// Turn is that of one reconciliation.
type Turn struct {
	turns     *Turns
	namespace string
	isRemote  bool
	// release releases the slot. It may be called more than once.
	release func()
	timer   *time.Timer
}

// Begin waits for a slot. The caller must call End. The error is the cause of ctx.
func (t *Turns) Begin(ctx context.Context, namespace string) (*Turn, error) {
	if err := t.slots.Acquire(ctx, namespace); err != nil {
		return nil, err
	}
	return &Turn{turns: t, namespace: namespace, release: sync.OnceFunc(func() { t.slots.Release(namespace) })}, nil
}

// Remote is called before another cluster is read. It returns false if there are too many such
// reconciliations. Then the caller must end, and try again after Retry.
func (t *Turn) Remote() bool {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	if t.turns.remote[t.namespace] >= t.turns.maxRemote || t.turns.all >= t.turns.maxAll {
		return false
	}
	t.turns.remote[t.namespace]++
	t.turns.all++
	t.isRemote = true
	t.timer = time.AfterFunc(patience, t.release)
	return true
}

// End releases the slot.
func (t *Turn) End() {
	t.release()
	if !t.isRemote {
		return
	}
	t.timer.Stop()
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.all--
	if t.turns.remote[t.namespace]--; t.turns.remote[t.namespace] == 0 {
		delete(t.turns.remote, t.namespace)
	}
}
