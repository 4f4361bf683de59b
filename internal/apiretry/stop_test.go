// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestStop: an action that is cancelled for the given cause sends no request any more. Other
// cancellations do not stop an action, whose result is recorded.
func TestStop(t *testing.T) {
	t.Parallel()
	errStop := errors.New("shutdown")
	for name, tc := range map[string]struct {
		cause error
		sent  int
	}{"Stopped": {errStop, 0}, "Cancelled": {context.Canceled, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				r := New(ctx, Options{Now: time.Now, StopCause: errStop})
				defer r.End()
				// The next request follows at once.
				cancel(tc.cause)
				next := failing(0, reset)
				_, err := send(t, r, next, http.MethodGet, "/api")
				if next.sent != tc.sent || errors.Is(err, ErrStopped) != (tc.sent == 0) || errors.Is(r.Stopped(), errStop) != (tc.sent == 0) {
					t.Errorf("%d requests, %v; stopped: %v", next.sent, err, r.Stopped())
				}
			})
		})
	}
}

// TestStopEndsRequests: a request in flight ends 10 seconds after its action was stopped.
func TestStopEndsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		time.AfterFunc(20*time.Second, func() { r.Stop(errors.New("enough")) })
		began := time.Now()
		silent := roundTripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		if _, err := send(t, r, silent, http.MethodGet, "/api"); err == nil || time.Since(began) != 20*time.Second+grace {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestStopEndsRepetitions: a request that is being repeated ends at once.
func TestStopEndsRepetitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t.Context(), Options{Now: time.Now})
		defer r.End()
		time.AfterFunc(20*time.Second, func() { r.Stop(errors.New("enough")) })
		began := time.Now()
		if _, err := send(t, r, failing(forever, reset), http.MethodGet, "/api"); err == nil || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
