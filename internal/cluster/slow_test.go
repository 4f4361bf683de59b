// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// read sends a request through gate and pace, and reads the answer.
func (f *remote) read(t *testing.T, method, path string) error {
	t.Helper()
	return f.readFrom(t, f, method, path)
}

// readFrom does the same with the answer of another transport.
func (f *remote) readFrom(t *testing.T, server http.RoundTripper, method, path string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(apiretry.Paced(t.Context()), method, "https://far:6443"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := apiretry.Pace(f.gate.wrap(server)).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it cannot fail
	_, err = io.ReadAll(resp.Body)
	return err
}

// slowly answers after 29 seconds.
func slowly(ctx context.Context) error {
	select {
	case <-time.After(29 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slowRemote is a cluster that answers probes by version at once and all else slowly. The reads by
// probes are those of last.
func slowRemote(t *testing.T) (f *remote, last func() string, setRead func(func(context.Context) error)) {
	t.Helper()
	f = newRemote(t)
	var mu sync.Mutex
	answer, path := slowly, ""
	f.gate.probeRead = func(ctx context.Context, at string) error {
		mu.Lock()
		path = at
		answer := answer
		mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		return answer(ctx)
	}
	_ = f.admit("a")
	synctest.Wait()
	f.set(slowly, succeed)
	return f, func() string { mu.Lock(); defer mu.Unlock(); return path },
		func(a func(context.Context) error) { mu.Lock(); defer mu.Unlock(); answer = a }
}

// TestSlowReads: a cluster that answers its version at once, and reads slowly, opens the breaker. It
// is probed by such a read, and the breaker closes when one is answered in time.
func TestSlowReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, last, setRead := slowRemote(t)
		for range 2 {
			if err := f.read(t, http.MethodGet, "/api/v1/namespaces/apps/secrets"); !errors.As(err, new(*apiretry.SlowError)) {
				t.Fatal(err)
			}
		}
		if u := f.admit("a"); u != nil || last() != "" {
			t.Fatalf("two slow answers: %v, %s", u, last())
		}
		_ = f.read(t, http.MethodGet, "/api/v1/namespaces/apps/pods")
		if u := f.admit("a"); u == nil || !u.Checking {
			t.Fatalf("it is not probed: %v", u)
		}
		time.Sleep(probeTimeout)
		synctest.Wait()
		u := f.admit("a")
		if u == nil || !u.Slow || u.Checking || !strings.Contains(u.Error(), "answers reads too slowly") || !f.gate.isOpen() {
			t.Fatalf("the breaker is closed: %v", u)
		}
		begun := time.Now()
		if err := f.read(t, http.MethodGet, "/api/v1/pods"); !errors.As(err, new(*Unreachable)) || time.Since(begun) > 0 {
			t.Errorf("a request was sent: %v", err)
		}
		if last() != "/api/v1/namespaces/apps/pods" {
			t.Errorf("probed by %s", last())
		}
		f.set(succeed, succeed)
		setRead(succeed)
		time.Sleep(longestPause + probeTimeout)
		synctest.Wait()
		if u := f.admit("a"); u != nil {
			t.Errorf("the breaker is open: %v", u)
		}
		if path, is := f.gate.health.Suspect(); is {
			t.Errorf("the next probe reads %s", path)
		}
	})
}

// served is a server.
type served func(*http.Request) (*http.Response, error)

func (f served) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// unended is a body that ends with a context.
type unended struct{ ctx context.Context }

func (b unended) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, context.Cause(b.ctx) }
func (unended) Close() error               { return nil }

// TestSlowAnswers: an answer counts as slow if it begins late, even if the read is not ended for that,
// and if it begins at once and does not end.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]served{
		"late": func(*http.Request) (*http.Response, error) {
			time.Sleep(12 * time.Second)
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		},
		"unended": func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: unended{req.Context()}}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, _, _ := slowRemote(t)
			for i := range 3 {
				if _, is := f.gate.health.Suspect(); is {
					t.Errorf("%s: suspected after %d answers", name, i)
				}
				err := f.readFrom(t, server, http.MethodGet, "/api/v1/pods")
				if name == "late" && err != nil {
					t.Error(err)
				}
			}
			if _, is := f.gate.health.Suspect(); !is {
				t.Errorf("%s: not suspected", name)
			}
		})
	}
}

// TestClientsHaveGates: the clients of a connection send no request while the breaker is open.
func TestClientsHaveGates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		f.set(refuse, refuse)
		_ = f.admit("a")
		synctest.Wait()
		config, err := f.ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		for name, client := range map[string]*http.Client{"own": client, "shared": f.HTTPClient()} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://far:6443/path/api/v1/pods", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if !errors.As(err, new(*Unreachable)) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// TestProbesEnd: a probe without an answer ends.
func TestProbesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		version, read, err := probers(&http.Client{Transport: served(func(req *http.Request) (*http.Response, error) {
			return nil, silent(req.Context())
		})}, "https://far")
		if err != nil {
			t.Fatal(err)
		}
		for name, probe := range map[string]func(context.Context) error{
			"version": version, "read": func(ctx context.Context) error { return read(ctx, "/api/v1/pods") },
		} {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := probe(ctx); err == nil || time.Since(begun) != probeTimeout {
				t.Errorf("%s: ended after %s: %v", name, time.Since(begun), err)
			}
		}
	})
}

// TestSlowButHealthy: slow writes, watches and APIs of other groups do not open the breaker, nor do
// slow reads among others.
func TestSlowButHealthy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ method, path string }{
		{http.MethodPatch, "/api/v1/namespaces/apps/secrets/a"},
		{http.MethodGet, "/api/v1/pods?watch=true"},
		{http.MethodGet, "/api/v1/namespaces/apps/pods/a/log"},
		{http.MethodGet, "/apis/things.example.com/v1/things"},
		{http.MethodGet, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, last, _ := slowRemote(t)
			for range 10 {
				path := tc.path
				if path == "" {
					f.set(succeed, succeed)
					for range 2 {
						_ = f.read(t, http.MethodGet, "/api/v1/pods")
					}
					f.set(slowly, succeed)
					path = "/api/v1/pods"
				}
				_ = f.read(t, tc.method, path)
			}
			synctest.Wait()
			if last() != "" || f.gate.isOpen() {
				t.Errorf("%s %s: probed by %q", tc.method, tc.path, last())
			}
		})
	}
}

// TestUnavailableReads: errors of the server count like slow answers.
func TestUnavailableReads(t *testing.T) {
	t.Parallel()
	f := newGate("far", time.Now, func() bool { return true }, func() {})
	code := http.StatusInternalServerError
	next := f.wrap(respond(func() int { return code }))
	for i, tc := range []struct {
		code int
		want bool
	}{{500, false}, {503, false}, {502, false}, {504, true}} {
		code = tc.code
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://far/api/v1/pods", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := next.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if _, is := f.health.Suspect(); is != tc.want {
			t.Errorf("%d: suspect: %t", i, is)
		}
	}
}

type respond func() int

func (r respond) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: r(), Body: http.NoBody}, nil
}

// TestReadProbe: a probe reads the given path, with the credentials of the kubeconfig.
func TestReadProbe(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.URL.String() + " " + r.Header.Get("Authorization")
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	g := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor(server.URL+"/path", "t0ken")}).gate
	if err := g.probeRead(t.Context(), "/path/api/v1/namespaces/apps/secrets"); err != nil {
		t.Error(err)
	}
	if got := <-seen; !strings.HasPrefix(got, "/path/api/v1/namespaces/apps/secrets?limit=1 ") || !strings.HasSuffix(got, " t0ken") {
		t.Errorf("the server received %q", got)
	}
}

// TestReadsHaveADeadline: reads through each connection end at the deadline of the reconciliation.
func TestReadsHaveADeadline(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	pool, _ := newPool(t, &rest.Config{Host: server.URL})
	for name, id := range map[string]Identity{
		"own cluster": {}, "another one": {Kubeconfig: kubeconfigFor(server.URL, "t0ken")},
	} {
		config, err := pool.mustFor(t, id).ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := apiretry.Within(t.Context(), time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/secrets", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		var slow *apiretry.SlowError
		if !errors.As(err, &slow) || !slow.Total {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
