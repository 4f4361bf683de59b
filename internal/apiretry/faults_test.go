// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeniedAfterFault: a denied request is repeated for a while after a fault of the server, even if
// another action has met it. Otherwise the answer stands.
func TestDeniedAfterFault(t *testing.T) {
	t.Parallel()
	// The last pause begins while the server settles. Its jitter is half of it.
	const most = settling + longestPause*3/2
	for name, tc := range map[string]struct {
		reason string
		fault  func() (*http.Response, error)
		since  time.Duration
		faults *Faults
		denied int
		got    int
		sent   int
	}{
		"Settling": {"roles are read after the first answers", reset, time.Second, &Faults{}, 3, 200, 4},
		"Denied":   {"the right is missing", reset, time.Second, &Faults{}, forever, 403, 0},
		"Late":     {"the roles have been read", reset, settling, &Faults{}, 3, 403, 1},
		"Unknown":  {"no fault was met", reset, time.Second, nil, 3, 403, 1},
		"Proxy":    {"a proxy answers for a server that restarts", code(503), time.Second, &Faults{}, 3, 200, 4},
		"Busy":     {"the server did not restart", code(429), time.Second, &Faults{}, 3, 403, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				other := New(t.Context(), Options{Now: time.Now, Faults: tc.faults})
				defer other.End()
				if got, err := send(t, other, failing(1, tc.fault), http.MethodGet, "/api"); err != nil || got != 200 {
					t.Fatalf("%d, %v", got, err)
				}
				time.Sleep(tc.since)
				r := New(t.Context(), Options{Now: time.Now, Faults: tc.faults})
				defer r.End()
				next := failing(tc.denied, code(403))
				began := time.Now()
				got, err := send(t, r, next, http.MethodPatch, "/api")
				if err != nil || got != tc.got || tc.sent > 0 && next.sent != tc.sent || time.Since(began) > most {
					t.Errorf("%s: %d, %v after %d requests and %s", tc.reason, got, err, next.sent, time.Since(began))
				}
			})
		})
	}
}

// TestHurriedAfterFault: a request that pauses for long is repeated as soon as another action gets an
// answer, but not within a second. Pauses for other reasons last.
func TestHurriedAfterFault(t *testing.T) {
	t.Parallel()
	const away = 20 * time.Second
	for name, tc := range map[string]struct {
		reason      string
		fault       func() (*http.Response, error)
		faults      *Faults
		least, most time.Duration
	}{
		"Over":  {"the server is back", reset, &Faults{}, 0, shortestPause},
		"Alone": {"nothing shows that the server is back", reset, nil, shortestPause, 2 * longestPause},
		"Busy":  {"the server answers, and is too busy for this request", code(429), &Faults{}, shortestPause, 2 * longestPause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				longest := time.Duration(0)
				// Pauses are random.
				for range 20 {
					back := time.Now().Add(away)
					r := New(t.Context(), Options{Now: time.Now, Faults: tc.faults})
					time.AfterFunc(away, func() {
						other := New(t.Context(), Options{Now: time.Now, Faults: tc.faults})
						defer other.End()
						_, _ = send(t, other, failing(0, nil), http.MethodGet, "/api")
					})
					got, err := send(t, r, &server{answer: func(int) (*http.Response, error) {
						if time.Now().Before(back) {
							return tc.fault()
						}
						return ok()
					}}, http.MethodGet, "/api")
					if err != nil || got != 200 {
						t.Fatalf("%d, %v", got, err)
					}
					longest = max(longest, time.Since(back))
					r.End()
				}
				if longest < tc.least || longest > tc.most {
					t.Errorf("%s: the longest request ended %s after the fault, want between %s and %s", tc.reason, longest, tc.least, tc.most)
				}
			})
		})
	}
}

// TestPausesAfterFault: pauses that a fault has lengthened are short again once the server answers.
func TestPausesAfterFault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		after  func() (*http.Response, error)
	}{
		"Denied":   {"roles are read after the first answers", code(403)},
		"Busy":     {"the server is busy with all clients that come back", code(429)},
		"Internal": {"the server has not reached its storage", code(500)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(t.Context(), Options{Now: time.Now, Faults: &Faults{}})
				defer r.End()
				var back time.Time
				next := &server{answer: func(n int) (*http.Response, error) {
					switch {
					case n <= 10:
						return reset()
					case n == 11:
						back = time.Now()
						fallthrough
					case n <= 13:
						return tc.after()
					}
					return ok()
				}}
				got, err := send(t, r, next, http.MethodPatch, "/api")
				// Three pauses of 200, 400 and 800 ms, each up to half as long again.
				if took := time.Since(back); err != nil || got != 200 || took > 2100*time.Millisecond {
					t.Errorf("%s: %d, %v, %s after the server was back", tc.reason, got, err, took)
				}
			})
		})
	}
}

// TestFaultsAreForgotten: a server that nothing is sent to any more is forgotten, even if it never
// answered.
func TestFaultsAreForgotten(t *testing.T) {
	t.Parallel()
	var f Faults
	now := time.Unix(1000, 0)
	f.note("back", now)
	f.recordAnswer("back")
	f.note("gone", now)
	used := f.note("used", now)
	for range 3 {
		now = now.Add(faultAge)
		f.note("other", now)
		if f.note("used", now) != used {
			t.Error("the fault of a server that is used is forgotten")
		}
	}
	if len(f.servers) != 2 {
		t.Errorf("%d servers are known, want 2", len(f.servers))
	}
}
