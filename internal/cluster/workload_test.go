// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// TestParseWorkload: the data of a ConfigMap select a cluster or are rejected.
func TestParseWorkload(t *testing.T) {
	t.Parallel()
	tenant := types.NamespacedName{Namespace: "apps", Name: "tenant"}
	for name, tc := range map[string]struct {
		reason  string
		data    map[string]string
		account string
		// closed disables the feature gate.
		closed  bool
		want    *Workload
		wantErr string
	}{
		"Least": {
			reason: "the default audience is the address as written",
			data:   map[string]string{"provider": "generic", "address": "API.example.com", "serviceAccountName": "tenant"},
			want:   &Workload{Address: "https://api.example.com:443", Audiences: []string{"API.example.com"}, ServiceAccount: tenant},
		},
		"Everything": {
			reason: "a path is dropped, as in helm-controller",
			data: map[string]string{
				"provider": "generic", "address": "https://api:6443/path", "ca.crt": "pem", "audiences": "a\n\n b \n",
				"serviceAccountName": "tenant", "cluster": "any",
			},
			account: "other",
			want:    &Workload{Address: "https://api:6443", CA: "pem", Audiences: []string{"a", "b"}, ServiceAccount: tenant},
		},
		"Default": {
			reason: "a flag sets the ServiceAccount", data: map[string]string{"provider": "generic", "address": "https://[::1]:6443"}, account: "tenant",
			want: &Workload{Address: "https://[::1]:6443", Audiences: []string{"https://[::1]:6443"}, ServiceAccount: tenant},
		},
		"NoServiceAccount": {
			reason: "a token of the controller is not sent elsewhere", data: map[string]string{"provider": "generic", "address": "https://api"},
			wantErr: "serviceAccountName is missing",
		},
		"NoGate": {
			reason: "tokens of ServiceAccounts need a feature gate", closed: true,
			data:    map[string]string{"provider": "generic", "address": "https://api", "serviceAccountName": "tenant"},
			wantErr: "provider generic is for tokens of ServiceAccounts, which need the feature gate ObjectLevelWorkloadIdentity",
		},
		"NoProvider": {data: map[string]string{"address": "https://api"}, account: "a", wantErr: "provider: aws, azure, gcp or generic"},
		"NoAddress":  {data: map[string]string{"provider": "generic"}, account: "a", wantErr: "address"},
		"HTTP":       {data: map[string]string{"provider": "generic", "address": "http://api"}, account: "a", wantErr: "address"},
		"Password":   {data: map[string]string{"provider": "generic", "address": "https://hunter:hunter@api"}, account: "a", wantErr: "address"},
		"NoURL":      {data: map[string]string{"provider": "generic", "address": "https://hunter%zz"}, account: "a", wantErr: "address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseWorkload(tc.data, "apps", WorkloadOptions{DefaultServiceAccount: tc.account, AllowServiceAccounts: !tc.closed})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "hunter") {
					t.Errorf("got %v, %v, want %s", got, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// fakeTokens is a TokenRequester.
type fakeTokens struct {
	mu    sync.Mutex
	asked []string
	err   error
	now   func() time.Time
}

func (m *fakeTokens) token(_ context.Context, account types.NamespacedName, audiences []string) (string, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, fmt.Sprint(account, " for ", audiences))
	return fmt.Sprint("token-", len(m.asked)), m.now().Add(time.Hour), m.err
}

// TestWorkload: all users share a token until it is about to expire or is rejected. Probes send
// none.
func TestWorkload(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen, revoked := []string{}, map[string]bool{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		seen = append(seen, token+r.Header.Get("Impersonate-User"))
		if revoked[token] {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"v1"}`))
	}))
	t.Cleanup(server.Close)
	pool, clock := newPool(t, &rest.Config{Host: "http://local", BearerToken: "local"})
	m := &fakeTokens{now: clock.Now}
	pool.SetTokenRequester(m.token)
	w := Workload{Address: server.URL, CA: pemOf(server), Audiences: []string{"there"}, ServiceAccount: types.NamespacedName{Namespace: "apps", Name: "tenant"}}
	request := func(user string) error {
		t.Helper()
		d, _ := pool.mustFor(t, Identity{Workload: &w, User: user}).ToDiscoveryClient()
		_, err := d.ServerVersion()
		return err
	}
	steps := []func() error{
		func() error { return request("") },
		func() error { return request("+user") },
		func() error { clock.pass(47 * time.Minute); return request("") },
		func() error { clock.pass(2 * time.Minute); return request("") },
		func() error {
			mu.Lock()
			revoked["token-2"] = true
			mu.Unlock()
			return request("")
		},
		func() error { return pool.mustFor(t, Identity{Workload: &w}).gate.probe(t.Context()) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"token-1", "token-1+user", "token-1", "token-2", "token-2", "token-3", ""}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the server received (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Repeat([]string{"apps/tenant for [there]"}, 3), m.asked); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// TestTokenStats: a token is counted while it is cached, and when it is evicted.
func TestTokenStats(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"v1"}`))
	}))
	t.Cleanup(server.Close)
	pool, clock := newPool(t, &rest.Config{Host: "http://local"})
	pool.SetTokenRequester((&fakeTokens{now: clock.Now}).token)
	id := Identity{Workload: &Workload{Address: server.URL, CA: pemOf(server), ServiceAccount: types.NamespacedName{Namespace: "apps", Name: "tenant"}}}
	check := func(when string, cached, needed bool, want TokenStats) {
		t.Helper()
		if isCached, isNeeded := pool.mustFor(t, id).TokenState(); isCached != cached || isNeeded != needed {
			t.Errorf("%s: a token is cached: %t, needed: %t", when, isCached, isNeeded)
		}
		if got := pool.TokenStats(); got != want {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	check("at first", false, true, TokenStats{})
	d, _ := pool.mustFor(t, id).ToDiscoveryClient()
	for range 2 {
		if _, err := d.ServerVersion(); err != nil {
			t.Fatal(err)
		}
	}
	check("after two requests", true, true, TokenStats{Cached: 1, Succeeded: 2})
	id = Identity{}
	clock.pass(maxIdle)
	check("when the cluster is idle", false, false, TokenStats{Succeeded: 2, Evicted: 1})
}

// TestWorkloadWithoutToken: a missing token is not a failure of the cluster.
func TestWorkloadWithoutToken(t *testing.T) {
	t.Parallel()
	pool, clock := newPool(t, &rest.Config{Host: "http://local"})
	pool.gates.probing.Store(true)
	m := &fakeTokens{now: clock.Now, err: errors.New("forbidden")}
	pool.SetTokenRequester(m.token)
	connection := pool.mustFor(t, Identity{Workload: &Workload{Address: "https://127.0.0.1:1"}})
	connection.gate.breaker.phase = phaseReachable
	d, _ := connection.ToDiscoveryClient()
	if _, err := d.ServerVersion(); err == nil || !strings.Contains(err.Error(), "no token for the cluster: forbidden") {
		t.Errorf("got %v", err)
	}
	if connection.gate.breaker.phase != phaseReachable {
		t.Error("the cluster is suspected")
	}
	if got, want := pool.TokenStats(), (TokenStats{Failed: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestWorkloadsApart: every field distinguishes connections.
func TestWorkloadsApart(t *testing.T) {
	t.Parallel()
	w := Workload{Address: "https://a", Audiences: []string{"a", "b"}, ServiceAccount: types.NamespacedName{Namespace: "n", Name: "a"}}
	other := map[string]Workload{}
	for name, change := range map[string]func(*Workload){
		"Address": func(w *Workload) { w.Address = "https://b" }, "CA": func(w *Workload) { w.CA = "x" },
		"Audiences": func(w *Workload) { w.Audiences = []string{"a b"} },
		"Account":   func(w *Workload) { w.ServiceAccount.Name = "b" }, "Namespace": func(w *Workload) { w.ServiceAccount.Namespace = "m" },
	} {
		changed := w
		change(&changed)
		other[name] = changed
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		changed := other[name]
		if (Identity{Workload: &w}).key() == (Identity{Workload: &changed}).key() {
			t.Errorf("%s makes no difference", name)
		}
	}
	if same := w; (Identity{Workload: &w}).key() != (Identity{Workload: &same}).key() {
		t.Error("equal workloads differ")
	}
}
