// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// trickle is a server that begins its answer after a time, and sends some bytes every second. It
// does not send the last ones of them.
type trickle struct {
	before time.Duration
	rate   int
	total  int
	kept   int
}

// RoundTrip implements http.RoundTripper.
func (s trickle) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.before):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	resp := answer(http.StatusOK, "application/json", "")
	resp.Body = io.NopCloser(&trickling{trickle: s, ctx: req.Context()})
	return resp, nil
}

type trickling struct {
	trickle

	ctx context.Context
}

// Read implements io.Reader.
func (b *trickling) Read(p []byte) (int, error) {
	if b.total <= 0 {
		return 0, io.EOF
	}
	next := time.After(time.Second)
	if b.total <= b.kept {
		next = nil
	}
	select {
	case <-next:
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	n := min(len(p), b.rate, b.total)
	b.total -= n
	return n, nil
}

// TestPace: a read that a reconciliation waits for ends if the server is too slow.
func TestPace(t *testing.T) {
	t.Parallel()
	const silent, slow = "the API server at api.example.com:6443 has sent no answer within 15s", "the API server at api.example.com:6443 sends fewer than 65536 bytes a second"
	same := func(ctx context.Context) context.Context { return ctx }
	for _, tc := range []struct {
		reason, method, path string
		context              func(context.Context) context.Context
		server               trickle
		want                 string
		took                 time.Duration
	}{
		{"a fast answer", http.MethodGet, "/api/v1/secrets", Paced, trickle{rate: 10, total: 100}, "", 10 * time.Second},
		{"a late answer", http.MethodGet, "/api/v1/secrets", Paced, trickle{before: 14 * time.Second}, "", 14 * time.Second},
		{"a later one", http.MethodGet, "/api/v1/secrets", Paced, trickle{before: 16 * time.Second}, silent, 15 * time.Second},
		{"a slow answer", http.MethodGet, "/api/v1/secrets", Paced, trickle{rate: 1, total: 100}, slow, 15 * time.Second},
		{"a large answer", http.MethodGet, "/api/v1/secrets", Paced, trickle{rate: 70 << 10, total: 70 << 10 * 100}, "", 100 * time.Second},
		{"a large one that is slow", http.MethodGet, "/api/v1/secrets", Paced, trickle{rate: 60 << 10, total: 60 << 10 * 100}, slow, 15 * time.Second},
		{"a large one that stops", http.MethodGet, "/api/v1/secrets", Paced, trickle{rate: 70 << 10, total: 70 << 10 * 100, kept: 70 << 10 * 80}, slow, 25 * time.Second},
		{"a write", http.MethodPost, "/api/v1/secrets", Paced, trickle{before: time.Minute}, "", time.Minute},
		{"a watch", http.MethodGet, "/api/v1/secrets?watch=true", Paced, trickle{before: time.Minute}, "", time.Minute},
		{"an action", http.MethodGet, "/api/v1/secrets", unpaced, trickle{before: time.Minute}, "", time.Minute},
		{"a watcher", http.MethodGet, "/api/v1/secrets", same, trickle{before: time.Minute}, "", time.Minute},
		{"discovery", http.MethodGet, "/apis/apps/v1", same, trickle{before: time.Minute}, silent, 15 * time.Second},
		{"discovery of an action", http.MethodGet, "/apis", unpaced, trickle{before: time.Minute}, "", time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			req, err := http.NewRequestWithContext(tc.context(t.Context()), tc.method, "https://api.example.com:6443"+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := Pace(tc.server).RoundTrip(req)
			if err == nil {
				_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{resp.Body}, make([]byte, 1<<20))
				_ = resp.Body.Close() // it is read
			}
			if found, ok := errors.AsType[*SlowError](err); ok != (tc.want != "") || ok && found.Error() != tc.want || !ok && err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err != nil && (Classify(AnswerOf(&url.Error{Op: "Get", URL: "https://api", Err: err})) != Answered) {
				t.Errorf("%s: it is transient", tc.reason)
			}
			if took := time.Since(begun).Round(time.Second); took != tc.took {
				t.Errorf("%s: it took %s, want %s", tc.reason, took, tc.took)
			}
		})
	}
}

// TestPacedActions: an action releases its slot while it waits for the server of a tenant, and is
// interrupted by the first read that takes too long. The controller's own server may take longer.
func TestPacedActions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason   string
		remote   bool
		path     string
		before   time.Duration
		outage   bool
		released bool
	}{
		{"the own server", false, "/apis", 4 * time.Second, false, false},
		{"the own server, with a slow webhook", false, "/apis", time.Minute, false, true},
		{"another one", true, "/api/v1/secrets", time.Second, false, false},
		{"another one that takes longer", true, "/api/v1/secrets", 10 * time.Second, false, true},
		{"another one that is too slow", true, "/api/v1/secrets", time.Minute, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			released, begun := false, time.Now()
			r := New(t.Context(), Options{Now: time.Now, Remote: tc.remote, ReleaseSlot: func() func() {
				released = true
				return func() {}
			}})
			defer r.End()
			_, err := send(t, r, Pace(trickle{before: tc.before}), http.MethodGet, tc.path)
			if (r.Outage() != nil) != tc.outage || (err != nil) != tc.outage || released != tc.released {
				t.Errorf("%s: %v, %v, the slot was released: %t", tc.reason, err, r.Outage(), released)
			}
			if took := time.Since(begun); tc.outage && took != paceAfter {
				t.Errorf("%s: the outage is found after %s", tc.reason, took)
			}
		})
	}
}

// TestDiscovers: discovery is found by its path, also below that of a proxy.
func TestDiscovers(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api": true, "/api/v1": true, "/apis": true, "/apis/apps": true, "/apis/apps/v1": true, "/version": true,
		"/k8s/clusters/c-1/apis": true, "/k8s/clusters/c-1/version": true,
		"/api/v1/secrets": false, "/apis/apps/v1/deployments": false, "/api/v1/namespaces/a/secrets/b": false, "/apiserver": false, "/": false,
	} {
		if Discovers(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
}

// TestRedirects: no redirect is followed, wherever it leads, and it is an error that is not
// transient. Other answers pass.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for code, refused := range map[int]bool{
		http.StatusOK: false, http.StatusNotModified: false, http.StatusNotFound: false,
		http.StatusMultipleChoices: true, http.StatusMovedPermanently: true, http.StatusFound: true, http.StatusSeeOther: true,
		http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true,
	} {
		sent := 0
		client := &http.Client{Transport: NoRedirects(roundTripper(func(req *http.Request) (*http.Response, error) {
			sent++
			resp := answer(code, "application/json", "")
			resp.Header.Set("Location", "http://other.example.com/api")
			resp.Request = req
			return resp, nil
		}))}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example.com:6443/api", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close() // it is empty
		}
		if (err != nil) != refused || sent != 1 {
			t.Errorf("%d: sent %d times, %v", code, sent, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "the API server at api.example.com:6443 answers with a redirect") || strings.Contains(err.Error(), "other") || Classify(AnswerOf(err)) != Answered) {
			t.Errorf("%d: %v", code, err)
		}
	}
}
