// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// spaces is a body of blanks without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// large returns an answer with n blanks. It announces length, -1 for none.
func large(n, length int64) *http.Response {
	resp := answer(http.StatusOK, "application/json", "")
	resp.Body, resp.ContentLength = io.NopCloser(io.LimitReader(spaces{}, n)), length
	return resp
}

// TestLimitAnswers: the body of an answer is limited, unless it is a stream.
func TestLimitAnswers(t *testing.T) {
	t.Parallel()
	const announced = "announced"
	cases := map[string]struct {
		reason, path string
		limit        int64
		answer       *http.Response
		want         int64
		err          string
	}{
		"Limit":     {reason: "an answer at the limit is read", path: "/api/v1", answer: large(maxAnswer, maxAnswer), want: maxAnswer},
		"TooLarge":  {reason: "one more byte is an error", path: "/api/v1", answer: large(maxAnswer+1, -1), want: maxAnswer, err: "the answer of the API server at api.example.com:6443 has more than 67108864 bytes"},
		"Endless":   {reason: "an answer without end is an error", path: "/api/v1", answer: large(1<<40, -1), want: maxAnswer, err: "more than 67108864 bytes"},
		"Announced": {reason: "an announced length is not read", path: "/api", answer: large(maxAnswer+1, maxAnswer+1), err: announced},
		"Group":     {reason: "lists of API groups have a lower limit", path: "/proxy/apis", answer: large(maxDiscovery+1, -1), want: maxDiscovery, err: "more than 16777216 bytes"},
		"Groups":    {reason: "so do those of the core", path: "/api", answer: large(maxDiscovery, maxDiscovery), want: maxDiscovery},
		"Lower":     {reason: "a request may have a lower limit", path: "/api/v1", limit: 1000, answer: large(1001, -1), want: 1000, err: "more than 1000 bytes"},
		"Higher":    {reason: "but no higher one", path: "/api/v1", limit: 1 << 40, answer: large(maxAnswer+1, maxAnswer+1), err: announced},
		"Watch":     {reason: "a watch has no limit", path: "/api?watch=true", answer: large(maxAnswer+2, -1), want: maxAnswer + 2},
		"Logs":      {reason: "followed logs have no limit", path: "/log?follow=true", answer: large(maxAnswer+2, -1), want: maxAnswer + 2},
		"Text":      {reason: "other logs have one", path: "/log", answer: large(maxAnswer+2, -1), want: maxAnswer, err: "more than 67108864 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if tc.limit > 0 {
				ctx = LimitedTo(ctx, tc.limit)
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com:6443"+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := LimitAnswers(&server{answer: func(int) (*http.Response, error) { return tc.answer, nil }}).RoundTrip(req)
			if tc.err == announced {
				if !errors.As(err, new(*TooLargeError)) {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close() //nolint:errcheck // the body is in memory
			n, err := io.Copy(io.Discard, resp.Body)
			if n > tc.want || n < tc.want && tc.err == "" || (err != nil) != (tc.err != "") {
				t.Errorf("%s: %d bytes, %v", tc.reason, n, err)
			}
			if err != nil && (!errors.As(err, new(*TooLargeError)) || !strings.HasSuffix(err.Error(), tc.err)) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestTooLargeIsAnswered: an answer that is too large is not repeated, and is no outage.
func TestTooLargeIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, length := range map[string]int64{"Announced": maxAnswer + 1, "Read": -1} {
			r := New(context.WithoutCancel(t.Context()), Options{Now: time.Now})
			next := &server{answer: func(int) (*http.Response, error) { return large(maxAnswer+1, length), nil }}
			_, err := send(t, r, LimitAnswers(next), http.MethodGet, "/api")
			if !errors.As(err, new(*TooLargeError)) || next.sent != 1 || r.Outage() != nil {
				t.Errorf("%s: %d requests, %v, %v", name, next.sent, err, r.Outage())
			}
			// client-go and net/http wrap the error.
			for _, err := range []error{&url.Error{Op: "Get", URL: "https://api", Err: err}, fmt.Errorf("unexpected error when reading response body: %w", err)} {
				if class := Classify(AnswerOf(err)); class != Answered || IsTransient(err) {
					t.Errorf("%s: %v is %d", name, err, class)
				}
			}
			r.End()
		}
	})
}
