// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// flaky is a transport that responds with a list of statuses, the last one repeatedly. Status 0 is
// a connection error.
type flaky struct {
	statuses []int
	// requests holds the URL and host of each request.
	requests []string
	// open is the number of bodies that are not closed.
	open int
}

type body struct {
	io.Reader
	of *flaky
}

func (b body) Close() error { b.of.open--; return nil }

func (m *flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	m.requests = append(m.requests, req.URL.String()+" "+req.Host)
	status := m.statuses[0]
	if len(m.statuses) > 1 {
		m.statuses = m.statuses[1:]
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	m.open++
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: body{strings.NewReader("x"), m}, Request: req}, nil
}

// TestTransportRetries: temporary failures are retried within the timeout.
func TestTransportRetries(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		statuses []int
		retries  int
		requests int
		status   int
		err      string
	}{
		"Once":          {reason: "a success is not retried", statuses: []int{200}, retries: 9, requests: 1, status: 200},
		"Refused":       {reason: "a connection error is retried", statuses: []int{0, 0, 200}, retries: 9, requests: 3, status: 200},
		"Failing":       {reason: "temporary statuses are retried", statuses: []int{503, 500, 429, 200}, retries: 9, requests: 4, status: 200},
		"Exhausted":     {reason: "the number of retries is limited", statuses: []int{503}, retries: 2, requests: 3, status: 503},
		"Unreachable":   {reason: "the last error is returned", statuses: []int{0}, retries: 2, requests: 3, err: "connection refused"},
		"None":          {reason: "zero disables retries", statuses: []int{503}, requests: 1, status: 503},
		"NotFound":      {reason: "status 404 is not retried", statuses: []int{404}, retries: 9, requests: 1, status: 404},
		"NoSuchRequest": {reason: "status 501 is not retried", statuses: []int{501}, retries: 9, requests: 1, status: 501},
		"OutOfTime":     {reason: "all tries share one timeout", statuses: []int{503}, retries: 1 << 30, requests: 34, status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &flaky{statuses: tc.statuses}
				client := &http.Client{Transport: &Transport{Base: server, Retries: tc.retries}, Timeout: 30 * time.Second}
				resp, err := client.Do(request(t, "http://source-controller/a.tgz"))
				status := 0
				if err == nil {
					status = resp.StatusCode
					_ = resp.Body.Close()
				}
				if tc.err == "" && (err != nil || status != tc.status) {
					t.Errorf("%s: %d, %v", tc.reason, status, err)
				}
				if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("%s: %v", tc.reason, err)
				}
				if len(server.requests) != tc.requests || server.open != 0 {
					t.Errorf("%s: %d requests, want %d; %d bodies are open", tc.reason, len(server.requests), tc.requests, server.open)
				}
			})
		})
	}
}

// TestTransportHosts: Transport replaces hosts of URLs, and keeps them by default.
func TestTransportHosts(t *testing.T) {
	for name, tc := range map[string]struct{ url, want string }{
		"SourceController": {"http://source-controller.flux-system.svc./a.tgz?b=c", "http://localhost:1/a.tgz?b=c localhost:1"},
		"Anything":         {"https://10.0.0.1:8080/a.tgz", "https://localhost:1/a.tgz localhost:1"},
		"SourceWatcher":    {"http://source-watcher.flux-system.svc./a.tgz", "http://localhost:2/a.tgz localhost:2"},
	} {
		server := &flaky{statuses: []int{200}}
		resp, err := (&Transport{Base: server, SourceController: "localhost:1", SourceWatcher: "localhost:2"}).RoundTrip(request(t, tc.url))
		if err != nil || server.requests[0] != tc.want {
			t.Errorf("%s: the request for %s is %q, want %q: %v", name, tc.url, server.requests[0], tc.want, err)
			continue
		}
		_ = resp.Body.Close()
		server = &flaky{statuses: []int{200}}
		req := request(t, tc.url)
		if resp, err = (&Transport{Base: server}).RoundTrip(req); err != nil || server.requests[0] != tc.url+" "+req.URL.Host {
			t.Errorf("%s: the request for %s is %q: %v", name, tc.url, server.requests[0], err)
			continue
		}
		_ = resp.Body.Close()
	}
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}
