// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/leader"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"
)

// clientsOf returns the clients of a process with some flags: that of its manager, and those of
// releases as another identity and in another cluster. All of them reach the same server.
func clientsOf(t *testing.T, url string, args ...string) map[string]*rest.Config {
	t.Helper()
	t.Setenv("RUNTIME_NAMESPACE", "here")
	o, err := options.Parse(append([]string{"--health-addr=0"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: url}
	e, err := newElection(config, o, m)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := newManager(config, e, o)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*rest.Config{"manager": mgr.GetConfig()}
	connections := newConnections(controllerOptions{Options: o, Config: config, Election: e})
	for name, id := range map[string]cluster.Identity{
		"release": {User: "system:serviceaccount:team:app"}, "other cluster": {Kubeconfig: kubeconfigOf(url)},
	} {
		connection, err := connections.For(id)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = connection.ToRESTConfig(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func kubeconfigOf(url string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"k","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
		"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`, url)
}

// send sends a request, and returns its error.
func send(ctx context.Context, t *testing.T, config *rest.Config, method, path string) error {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, config.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// discovery is what the manager requests for its cache.
var discovery = map[string]string{
	"/api/v1": `"v1","kind":"APIResourceList","groupVersion":"v1","resources":[
		{"name":"configmaps","namespaced":true,"kind":"ConfigMap"},{"name":"pods","namespaced":true,"kind":"Pod"},
		{"name":"secrets","namespaced":true,"kind":"Secret"}]`,
	"/apis/batch/v1": `"v1","kind":"APIResourceList","groupVersion":"batch/v1","resources":[
		{"name":"jobs","namespaced":true,"kind":"Job"}]`,
}

// startServer starts an API server that counts requests other than discovery.
func startServer(t *testing.T, sent *atomic.Int64) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		version, discovers := discovery[r.URL.Path]
		if !discovers {
			sent.Add(1)
			version = `"v1","kind":"Status"`
		}
		_, _ = io.WriteString(w, `{"apiVersion":`+version+`}`)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestWritesOfProcess: no client of a process that only observes sends a write, and only that of the
// manager sends its report. No client of a replica without the lease sends a write.
func TestWritesOfProcess(t *testing.T) {
	const object, report = "/api/v1/namespaces/n/secrets/s", "/api/v1/namespaces/n/events"
	var sent atomic.Int64
	server := startServer(t, &sent)
	observes := []string{"--observe", "--enable-leader-election"}
	for name, tc := range map[string]struct {
		args    []string
		request string
		// want are the clients that send the request, and err is the error of the others.
		want string
		err  error
	}{
		"Reads":   {observes, "GET " + object, "manager other cluster release", nil},
		"Writes":  {observes, "PATCH " + object, "", leader.ErrObserves},
		"DryRuns": {observes, "PATCH " + object + "?dryRun=All", "", leader.ErrObserves},
		"Report":  {observes, "POST " + report, "manager", leader.ErrObserves},
		"Standby": {[]string{"--enable-leader-election"}, "PATCH " + object, "", context.DeadlineExceeded},
		"Single":  {nil, "PATCH " + object, "manager other cluster release", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var passed []string
			clients := clientsOf(t, server.URL, tc.args...)
			for _, client := range slices.Sorted(maps.Keys(clients)) {
				before := sent.Load()
				ctx, cancel := context.WithCancel(t.Context())
				if errors.Is(tc.err, context.DeadlineExceeded) {
					// The write waits for the lease.
					ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
				}
				method, path, _ := strings.Cut(tc.request, " ")
				err := send(ctx, t, clients[client], method, path)
				cancel()
				switch n := sent.Load() - before; {
				case err == nil && n == 1:
					passed = append(passed, client)
				case n > 0 || !errors.Is(err, tc.err):
					t.Errorf("%s: sent %d requests: %v", client, n, err)
				}
			}
			if got := strings.Join(passed, " "); got != tc.want {
				t.Errorf("sent by %q, want %q", got, tc.want)
			}
		})
	}
}

// unanswered is a transport whose requests get no answer.
type unanswered struct{}

func (unanswered) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// TestUnansweredWrites: each client of a process ends a write that gets no answer.
func TestUnansweredWrites(t *testing.T) {
	for name, config := range clientsOf(t, startServer(t, &atomic.Int64{}).URL) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			transport, err := rest.HTTPWrappersForConfig(config, unanswered{})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPatch, config.Host+"/api/v1/namespaces/n/secrets/s", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if ctx.Err() != nil || !apiretry.IsTransient(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestOwnRedirects: the clients of the process follow no redirect of its own API server.
func TestOwnRedirects(t *testing.T) {
	var repeated atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { repeated.Add(1) }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfigOf(server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	o, err := options.Parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	config, err := restConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), t, config, http.MethodPost, "/api/v1/namespaces/n/secrets"); err == nil || repeated.Load() > 0 {
		t.Errorf("repeated %d times: %v", repeated.Load(), err)
	}
}
