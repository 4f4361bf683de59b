// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TokenRequester requests a token of a ServiceAccount and returns it with its expiry. It is called
// concurrently.
type TokenRequester func(ctx context.Context, account types.NamespacedName, audiences []string) (token string, expires time.Time, err error)

// tokenSource authenticates requests with tokens that it fetches when they are needed and caches.
type tokenSource struct {
	fetch func(ctx context.Context) (string, time.Time, error)
	now   func() time.Time

	// fetching holds a value during a fetch, so that concurrent requests cause one.
	fetching chan struct{}

	// blocked returns why requests must not fetch a token; nil, or a nil result, if they may.
	blocked func() error
	// maxAge bounds how long a token is used; negative for no bound.
	maxAge time.Duration
	// counts counts the requests that need a token.
	counts *tokenCounts

	mu    sync.Mutex
	token string
	// renewAt is when the token must be replaced, some time before it expires.
	renewAt time.Time
}

// newTokenSource returns a token source without its fetch.
func newTokenSource(maxAge time.Duration, now func() time.Time, counts *tokenCounts) *tokenSource {
	return &tokenSource{maxAge: maxAge, now: now, counts: counts, fetching: make(chan struct{}, 1)}
}

// fetcher returns a function that requests tokens for a workload.
func fetcher(w *Workload, requester TokenRequester) func(context.Context) (string, time.Time, error) {
	return func(ctx context.Context) (string, time.Time, error) {
		if requester == nil {
			return "", time.Time{}, errors.New("tokens of ServiceAccounts are not supported")
		}
		return requester(ctx, w.ServiceAccount, w.Audiences)
	}
}

// cachedToken returns the cached token; empty if there is no valid one.
func (s *tokenSource) cachedToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && s.now().Before(s.renewAt) {
		return s.token
	}
	return ""
}

// current returns the cached token, or else fetches one unless that is blocked.
func (s *tokenSource) current(ctx context.Context) (string, error) {
	if token := s.cachedToken(); token != "" {
		return token, nil
	}
	if s.blocked != nil {
		if err := s.blocked(); err != nil {
			return "", err
		}
	}
	return s.refresh(ctx)
}

// refresh is like current, but fetches even if that is blocked.
func (s *tokenSource) refresh(ctx context.Context) (string, error) {
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if token := s.cachedToken(); token != "" {
		return token, nil
	}
	started := s.now()
	token, expires, err := s.fetch(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lifetime := expires.Sub(started) * 4 / 5
	if s.maxAge >= 0 {
		lifetime = min(lifetime, s.maxAge)
	}
	s.token, s.renewAt = token, started.Add(lifetime)
	return token, nil
}

// invalidate drops a token that the server rejected before it expired.
func (s *tokenSource) invalidate(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
	}
}

// wrap returns a transport that adds tokens to requests.
func (s *tokenSource) wrap(next http.RoundTripper) http.RoundTripper {
	return &authenticated{tokens: s, next: next}
}

type authenticated struct {
	tokens *tokenSource
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (a *authenticated) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper. If the server rejects the token, the request is sent once
// more with a new one. The second answer is final.
func (a *authenticated) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return resp, nil
		}
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the first answer stands
		}
	}
	_ = resp.Body.Close()
	return a.send(again)
}

// send sends a request with the current token, and drops a token that the server rejects.
func (a *authenticated) send(req *http.Request) (*http.Response, error) {
	token, err := a.tokens.current(req.Context())
	a.tokens.counts.count(err)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("no token for the cluster: %w", err)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := a.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		a.tokens.invalidate(token)
	}
	return resp, err
}

// TokenStats are counts of the tokens for other clusters.
type TokenStats struct {
	// Cached is the number of valid tokens in memory.
	Cached int
	// Succeeded counts requests that got a token, and Failed those that got none. Evicted
	// counts valid tokens that were dropped because they were not used.
	Succeeded, Failed, Evicted uint64
}

// tokenCounts are shared by the token sources of one Connections.
type tokenCounts struct{ answered, failed, evicted atomic.Uint64 }

func (t *tokenCounts) count(err error) {
	if err != nil {
		t.failed.Add(1)
		return
	}
	t.answered.Add(1)
}
