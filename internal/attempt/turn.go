// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/fair"
)

// patience is the time for which a reconciliation that reads only the own cluster keeps its slot.
// Almost all end within a second.
const patience = 5 * time.Second

// TurnRetry is the time after which a reconciliation that got no turn is tried again, and after
// which one that must keep its slot tries to release it again.
const TurnRetry = time.Second

// TurnOptions configure Turns.
type TurnOptions struct {
	// Slots is the number of slots.
	Slots int
	// Enqueue triggers a reconciliation. It must not block.
	Enqueue func(types.NamespacedName)
	// Now returns the current time.
	Now func() time.Time
}

// Turns limits concurrent reconciliations, so that API servers of tenants delay only their own
// releases. It is safe for concurrent use.
//
// A reconciliation works in a slot. One that reads another cluster releases its slot first. One that
// reads only the own cluster releases it after five seconds: then it waits for a webhook, an
// aggregated API or a plan. The number of reconciliations without a slot is limited, for each
// namespace and in total.
type Turns struct {
	slots   *fair.Semaphore
	enqueue func(types.NamespacedName)
	// maxWaiting limits the reconciliations without a slot in each namespace, and maxAll in all
	// namespaces together.
	maxWaiting, maxAll int

	mu sync.Mutex
	// waiting counts the reconciliations without a slot by namespace, and all is their sum.
	waiting map[string]int
	all     int
	// rejected has the reconciliations that Remote has rejected, in the order of their values. last
	// is the highest of these.
	rejected map[types.NamespacedName]uint64
	last     uint64
}

// NewTurns returns the given number of slots.
func NewTurns(o TurnOptions) *Turns {
	slots := max(1, o.Slots)
	return &Turns{
		slots: fair.New(fair.Options{Size: slots, Now: o.Now}), enqueue: o.Enqueue,
		maxWaiting: 3 * slots, maxAll: 6 * slots, waiting: map[string]int{}, rejected: map[types.NamespacedName]uint64{},
	}
}

// Goroutines returns the number of reconciliations that may run at the same time.
func (t *Turns) Goroutines() int { return t.maxAll + t.slots.Size() }

// Turn is the turn of one reconciliation.
type Turn struct {
	turns *Turns
	key   types.NamespacedName
	// release releases the slot. It may be called more than once.
	release func()

	// The mutex of turns guards these. isWaiting is true if the turn counts as one that releases
	// its slot, and ended after its end.
	isWaiting, ended bool
	timer            *time.Timer
}

// Begin waits for a slot for a reconciliation. The slot is released at the end of the turn, or after
// patience if the limits permit it.
func (t *Turns) Begin(ctx context.Context, key types.NamespacedName) (*Turn, error) {
	if err := t.slots.Acquire(ctx, key.Namespace); err != nil {
		return nil, err
	}
	turn := &Turn{turns: t, key: key, release: sync.OnceFunc(func() { t.slots.Release(key.Namespace) })}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn.timer = time.AfterFunc(patience, turn.outlast)
	return turn, nil
}

// Remote is called before the reconciliation reads another cluster, and releases its slot: even 50 ms
// of a slot are longer than most reconciliations of the own cluster take. It returns false if too
// many read other clusters. Then the reconciliation ends, and is enqueued when another one ends.
// Since that may be in vain, the caller tries it again after Retry, too.
func (t *Turn) Remote() bool {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	if !t.count() {
		t.turns.reject(t.key)
		return false
	}
	delete(t.turns.rejected, t.key)
	t.timer.Stop()
	t.release()
	return true
}

// reject remembers a reconciliation. It is called with the mutex held.
func (t *Turns) reject(key types.NamespacedName) {
	if _, found := t.rejected[key]; !found {
		t.last++
		t.rejected[key] = t.last
	}
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
		t.timer.Reset(TurnRetry)
	}
}

// count reports whether the limits permit that the turn releases its slot, and counts it. It is
// called with the mutex held.
func (t *Turn) count() bool {
	if !t.turns.permits(t.key.Namespace) {
		return false
	}
	t.turns.waiting[t.key.Namespace]++
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
	if t.turns.waiting[t.key.Namespace]--; t.turns.waiting[t.key.Namespace] == 0 {
		delete(t.turns.waiting, t.key.Namespace)
	}
	t.turns.enqueueRejected()
}

// enqueueRejected enqueues the first rejected reconciliation of the namespace with the fewest that
// wait. It is called with the mutex held.
func (t *Turns) enqueueRejected() {
	var next types.NamespacedName
	found := false
	for key, at := range t.rejected {
		if !t.permits(key.Namespace) {
			continue
		}
		fewer := t.waiting[key.Namespace] - t.waiting[next.Namespace]
		if !found || fewer < 0 || fewer == 0 && at < t.rejected[next] {
			next, found = key, true
		}
	}
	if found {
		delete(t.rejected, next)
		t.enqueue(next)
	}
}

// permits reports whether the limits permit that one more reconciliation of a namespace releases its
// slot. It is called with the mutex held.
func (t *Turns) permits(namespace string) bool {
	return t.waiting[namespace] < t.maxWaiting && t.all < t.maxAll
}
