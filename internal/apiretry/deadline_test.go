// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// endless is a body without end, whose reads end with a context.
type endless struct{ ctx context.Context }

func (b endless) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (endless) Close() error               { return nil }

// TestDeadline: all reads and dry runs of a context end at its deadline. Watches and actions do not.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, query string
		edit                func(context.Context) context.Context
		want                bool
	}{
		{name: "read", method: http.MethodGet, want: true},
		{name: "dry run", method: http.MethodPatch, query: "?dryRun=All", want: true},
		{name: "watch", method: http.MethodGet, query: "?watch=true"},
		{name: "action", method: http.MethodGet, edit: Unlimited},
	} {
		for _, begins := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, cancel := Within(t.Context(), time.Minute)
				defer cancel()
				ctx, end := context.WithTimeout(ctx, time.Hour)
				defer end()
				if tc.edit != nil {
					ctx = tc.edit(ctx)
				}
				time.Sleep(20 * time.Second)
				req, err := http.NewRequestWithContext(ctx, tc.method, "https://far/api/v1/secrets"+tc.query, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := Deadline(roundTrip(func(req *http.Request) (*http.Response, error) {
					if begins {
						return &http.Response{Body: endless{req.Context()}}, nil
					}
					<-req.Context().Done()
					return nil, req.Context().Err()
				})).RoundTrip(req)
				if begins {
					_, err = io.ReadAll(resp.Body)
					defer resp.Body.Close() //nolint:errcheck // it cannot fail
				}
				var slow *SlowError
				if errors.As(err, &slow) != tc.want || tc.want && (!slow.Total || !strings.Contains(err.Error(), "far")) {
					t.Errorf("%s: got %v", tc.name, err)
				}
				if took := time.Since(begun); tc.want != (took == time.Minute) {
					t.Errorf("%s: it took %s", tc.name, took)
				}
			})
		}
	}
}

// TestDeadlineOfWrites: a write without an answer, or with half of one, ends after 75 seconds, also
// outside of a reconciliation. It may have been carried out: its error is transient, so that it is
// tried again after a read. Streams do not end.
func TestDeadlineOfWrites(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, query string
		header              http.Header
		want                bool
	}{
		{name: "create", method: http.MethodPost, want: true},
		{name: "update", method: http.MethodPut, want: true},
		{name: "patch", method: http.MethodPatch, want: true},
		{name: "delete", method: http.MethodDelete, want: true},
		{name: "read", method: http.MethodGet},
		{name: "watch", method: http.MethodGet, query: "?watch=true"},
		{name: "log", method: http.MethodGet, query: "?follow=true"},
		{name: "upgrade", method: http.MethodPost, header: http.Header{"Upgrade": {"websocket"}}},
	} {
		for _, begins := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, tc.method, "https://far/api/v1/secrets"+tc.query, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if tc.header != nil {
					req.Header = tc.header
				}
				resp, err := (&http.Client{Transport: Deadline(roundTrip(func(req *http.Request) (*http.Response, error) {
					if begins {
						return &http.Response{Body: endless{req.Context()}}, nil
					}
					<-req.Context().Done()
					return nil, req.Context().Err()
				}))}).Do(req)
				if begins {
					_, err = io.ReadAll(resp.Body)
					defer resp.Body.Close() //nolint:errcheck // it cannot fail
				}
				if errors.Is(err, errSilent) != tc.want || tc.want && (!IsTransient(err) || OutageOf(err) != nil) {
					t.Errorf("%s: got %v", tc.name, err)
				}
				if took := time.Since(begun); tc.want != (took == tryTimeout) {
					t.Errorf("%s: it took %s", tc.name, took)
				}
			})
		}
	}
}

// TestDeadlineEnds: the end of a reconciliation ends no request.
func TestDeadlineEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := Within(t.Context(), time.Minute)
		cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://far/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := Deadline(roundTrip(func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Hour)
			return &http.Response{Body: http.NoBody}, req.Context().Err()
		})).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}
