// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates limits the rate of requests by key. It is safe for concurrent use.
type rates struct {
	limit rate.Limit
	burst int
	// size is the maximum number of keys with a bucket of their own. Others share one.
	size int
	now  func() time.Time

	mu     sync.Mutex
	byKey  map[string]*rate.Limiter
	others *rate.Limiter
}

func newRates(limit rate.Limit, burst, size int, now func() time.Time) *rates {
	return &rates{limit: limit, burst: burst, size: size, now: now, byKey: map[string]*rate.Limiter{}, others: rate.NewLimiter(limit, burst)}
}

// allow reports whether a key may send a request now, and counts it.
func (r *rates) allow(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	return r.bucket(key, now).AllowN(now, 1)
}

// bucket returns the bucket of a key. The caller holds mu.
func (r *rates) bucket(key string, now time.Time) *rate.Limiter {
	if found := r.byKey[key]; found != nil {
		return found
	}
	if len(r.byKey) >= r.size {
		r.forget(now)
	}
	if len(r.byKey) >= r.size {
		return r.others
	}
	added := rate.NewLimiter(r.limit, r.burst)
	r.byKey[key] = added
	return added
}

// forget removes the buckets that are full: new ones would be the same.
func (r *rates) forget(now time.Time) {
	for key, bucket := range r.byKey {
		if bucket.TokensAt(now) >= float64(r.burst) {
			delete(r.byKey, key)
		}
	}
}
