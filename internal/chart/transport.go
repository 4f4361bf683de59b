// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Transport is how artifacts are downloaded through another transport. It may be
// used concurrently.
type Transport struct {
	// Base sends requests; required.
	Base http.RoundTripper
	// Retries is how often a request is sent again that no server answered, or that
	// one failed to. All tries together have the time of one request.
	Retries int
	// SourceController and SourceWatcher are the "host:port" that takes the place of
	// a URL's own; empty leaves it alone. What is said of a download names the URL
	// as it was.
	SourceController string
	SourceWatcher    string
}

const (
	firstRetry   = 50 * time.Millisecond
	longestRetry = time.Second
)

// RoundTrip implements http.RoundTripper for requests without a body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if host := t.hostFor(req); host != "" {
		req = req.Clone(req.Context())
		req.URL.Host, req.Host = host, host
	}
	for try, pause := 0, firstRetry; ; try, pause = try+1, min(2*pause, longestRetry) {
		resp, err := t.Base.RoundTrip(req)
		if try >= t.Retries || req.Context().Err() != nil || err == nil && !failed(resp.StatusCode) {
			return resp, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-req.Context().Done():
			timer.Stop()
			// The last word of the server says more than that time is up.
			return resp, err
		}
		if err == nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
			_ = resp.Body.Close()
		}
	}
}

func (t *Transport) hostFor(req *http.Request) string {
	if strings.HasPrefix(req.URL.Host, "source-watcher") {
		return t.SourceWatcher
	}
	return t.SourceController
}

// failed reports whether a status is one that may be another the next time.
func failed(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}
