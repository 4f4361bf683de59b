// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// answerAge is how long an answer of the API server is used, counted from its request.
	answerAge = 30 * time.Second
	// reviewTimeout ends a request to the API server.
	reviewTimeout = 10 * time.Second
)

// digest is the key of an answer. It contains no token.
type digest [sha256.Size]byte

// answers caches answers of the API server. Errors are not cached. It is safe for concurrent use.
type answers[V any] struct {
	// size is the maximum number of answers. The oldest ones are removed first.
	size int
	// slots limits the concurrent requests to the API server.
	slots chan struct{}
	now   func() time.Time

	mu    sync.Mutex
	byKey map[digest]*answer[V]
	// known are the answers that have arrived, oldest first.
	known []*answer[V]
}

// answer is an answer, or a request until done is closed. Before that, only the request may access
// value and err.
type answer[V any] struct {
	key     digest
	expires time.Time
	done    chan struct{}
	value   V
	err     error
}

func newAnswers[V any](size, concurrent int, now func() time.Time) *answers[V] {
	return &answers[V]{size: size, slots: make(chan struct{}, concurrent), now: now, byKey: map[digest]*answer[V]{}}
}

// get returns the answer for a key. Callers that need the same answer at the same time share one
// request, which does not end if one of them leaves.
func (a *answers[V]) get(ctx context.Context, key digest, request func(context.Context) (V, error)) (V, error) {
	found := a.find(context.WithoutCancel(ctx), key, request)
	select {
	case <-found.done:
		return found.value, found.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// find returns the answer for a key, and starts a request if there is none.
func (a *answers[V]) find(ctx context.Context, key digest, request func(context.Context) (V, error)) *answer[V] {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if found := a.byKey[key]; found != nil && now.Before(found.expires) {
		return found
	}
	begun := &answer[V]{key: key, expires: now.Add(answerAge), done: make(chan struct{})}
	a.byKey[key] = begun
	go a.run(ctx, begun, request)
	return begun
}

// run sends a request, and keeps its answer.
func (a *answers[V]) run(ctx context.Context, begun *answer[V], request func(context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		begun.value, begun.err = request(ctx)
		<-a.slots
	case <-ctx.Done():
		begun.err = ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	close(begun.done)
	if begun.err != nil {
		a.remove(begun)
		return
	}
	a.known = append(a.known, begun)
	for len(a.known) > 0 && (len(a.known) > a.size || !a.now().Before(a.known[0].expires)) {
		a.remove(a.known[0])
		a.known = a.known[1:]
	}
}

// remove removes an answer unless a newer one has its key. The caller holds mu.
func (a *answers[V]) remove(old *answer[V]) {
	if a.byKey[old.key] == old {
		delete(a.byKey, old.key)
	}
}
