// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Transport is an http.RoundTripper that retries requests and replaces hosts. It is safe for
// concurrent use.
type Transport struct {
	// Base sends requests; required.
	Base http.RoundTripper
	// Retries is the number of retries after a connection error, status 429, or a status of 500 or
	// above except 501. All tries share the timeout of the request.
	Retries int
	// SourceController and SourceWatcher are the "host:port" that replaces the host of the URL;
	// empty keeps it. SourceWatcher applies to hosts that start with "source-watcher",
	// SourceController to all others. Messages about a download contain the original URL.
	SourceController string
	SourceWatcher    string
}

// RoundTrip implements http.RoundTripper for requests without a body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if host := t.hostFor(req); host != "" {
		req = req.Clone(req.Context())
		req.URL.Host, req.Host = host, host
	}
	for try, pause := 0, firstRetry; ; try, pause = try+1, min(2*pause, longestRetry) {
		resp, err := t.Base.RoundTrip(req)
		if try >= t.Retries || req.Context().Err() != nil || err == nil && !isTemporary(resp.StatusCode) {
			return resp, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-req.Context().Done():
			timer.Stop()
			// The last response explains more than the error of the context.
			return resp, err
		}
		if err == nil {
			_, _ = io.CopyN(io.Discard, resp.Body, maxDrainedBytes)
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

// isTemporary reports whether a retry of a request with this status may succeed.
func isTemporary(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}
