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

// moody answers by a list, and then goes on as it ended; 0 is no answer.
type moody struct {
	answers []int
	asked   []string
	open    int
}

type body struct {
	io.Reader
	of *moody
}

func (b body) Close() error { b.of.open--; return nil }

func (m *moody) RoundTrip(req *http.Request) (*http.Response, error) {
	m.asked = append(m.asked, req.URL.String()+" "+req.Host)
	status := m.answers[0]
	if len(m.answers) > 1 {
		m.answers = m.answers[1:]
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	m.open++
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: body{strings.NewReader("x"), m}, Request: req}, nil
}

func TestTransportTriesAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		answers []int
		retries int
		asked   int
		status  int
		err     string
	}{
		"Once":          {reason: "a good answer is enough", answers: []int{200}, retries: 9, asked: 1, status: 200},
		"Refused":       {reason: "a server may be starting", answers: []int{0, 0, 200}, retries: 9, asked: 3, status: 200},
		"Failing":       {reason: "or not be well yet", answers: []int{503, 500, 429, 200}, retries: 9, asked: 4, status: 200},
		"Exhausted":     {reason: "retries are counted", answers: []int{503}, retries: 2, asked: 3, status: 503},
		"Unreachable":   {reason: "and told of", answers: []int{0}, retries: 2, asked: 3, err: "connection refused"},
		"None":          {reason: "they can be switched off", answers: []int{503}, asked: 1, status: 503},
		"NotFound":      {reason: "what is not there will not come", answers: []int{404}, retries: 9, asked: 1, status: 404},
		"NoSuchRequest": {reason: "nor be learned", answers: []int{501}, retries: 9, asked: 1, status: 501},
		"OutOfTime":     {reason: "all tries have the time of one", answers: []int{503}, retries: 1 << 30, asked: 34, status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &moody{answers: tc.answers}
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
				if len(server.asked) != tc.asked || server.open != 0 {
					t.Errorf("%s: asked %d times, want %d; %d answers were left open", tc.reason, len(server.asked), tc.asked, server.open)
				}
			})
		})
	}
}

func TestTransportElsewhere(t *testing.T) {
	for name, tc := range map[string]struct{ url, want string }{
		"SourceController": {"http://source-controller.flux-system.svc./a.tgz?b=c", "http://localhost:1/a.tgz?b=c localhost:1"},
		"Anything":         {"https://10.0.0.1:8080/a.tgz", "https://localhost:1/a.tgz localhost:1"},
		"SourceWatcher":    {"http://source-watcher.flux-system.svc./a.tgz", "http://localhost:2/a.tgz localhost:2"},
	} {
		server := &moody{answers: []int{200}}
		resp, err := (&Transport{Base: server, SourceController: "localhost:1", SourceWatcher: "localhost:2"}).RoundTrip(request(t, tc.url))
		if err != nil || server.asked[0] != tc.want {
			t.Errorf("%s: %s was asked for %q, want %q: %v", name, tc.url, server.asked[0], tc.want, err)
			continue
		}
		_ = resp.Body.Close()
		server = &moody{answers: []int{200}}
		req := request(t, tc.url)
		if resp, err = (&Transport{Base: server}).RoundTrip(req); err != nil || server.asked[0] != tc.url+" "+req.URL.Host {
			t.Errorf("%s: %s was asked for %q: %v", name, tc.url, server.asked[0], err)
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
