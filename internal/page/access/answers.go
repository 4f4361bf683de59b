// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/sha256"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
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
	// cached has the answers that have arrived. The least recently used ones are removed first.
	cached *cache.LRUExpireCache
	// requests are those on their way.
	requests singleflight.Group
	// slots limits the concurrent requests to the API server.
	slots chan struct{}
	now   clock
}

// clock is a function that returns the present time.
type clock func() time.Time

// Now implements cache.Clock.
func (c clock) Now() time.Time { return c() }

func newAnswers[V any](size, concurrent int, now clock) *answers[V] {
	return &answers[V]{cached: cache.NewLRUExpireCacheWithClock(size, now), slots: make(chan struct{}, concurrent), now: now}
}

// get returns the answer for a key. Callers that need the same answer at the same time share one
// request, which does not end if one of them leaves.
func (a *answers[V]) get(ctx context.Context, key digest, request func(context.Context) (V, error)) (V, error) {
	if answer, ok := a.find(key); ok {
		return answer, nil
	}
	arrival := a.requests.DoChan(string(key[:]), func() (any, error) {
		// A request may have ended since the cache was read.
		if answer, ok := a.find(key); ok {
			return answer, nil
		}
		return a.send(context.WithoutCancel(ctx), key, request)
	})
	select {
	case r := <-arrival:
		answer, _ := r.Val.(V)
		return answer, r.Err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

func (a *answers[V]) find(key digest) (V, bool) {
	found, _ := a.cached.Get(key)
	answer, ok := found.(V)
	return answer, ok
}

// send sends a request, and caches its answer.
func (a *answers[V]) send(ctx context.Context, key digest, request func(context.Context) (V, error)) (V, error) {
	var none V
	expires := a.now().Add(answerAge)
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	answer, err := request(ctx)
	if err != nil {
		return none, err
	}
	a.cached.Add(key, answer, expires.Sub(a.now()))
	return answer, nil
}
