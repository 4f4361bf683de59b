// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// clock is a clock that tests advance.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newPool(t *testing.T, local *rest.Config) (*Connections, *clock) {
	t.Helper()
	return newPoolWith(t, local, Options{})
}

func newPoolWith(t *testing.T, local *rest.Config, o Options) (*Connections, *clock) {
	t.Helper()
	c := &clock{now: time.Unix(1000, 0)}
	o.Now = c.Now
	return NewConnections(local, o), c
}

func (c *Connections) mustFor(t *testing.T, id Identity) *Connection {
	t.Helper()
	connection, err := c.For(id)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// kubeconfigFor returns a kubeconfig with a server and a token.
func kubeconfigFor(server, token string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":%q}}],
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`, server, token)
}

// TestForShares: equal identities share a connection.
func TestForShares(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	elsewhere := kubeconfigFor("https://elsewhere", "a")
	cases := map[string]struct {
		a, b Identity
		same bool
	}{
		"Controller":        {Identity{}, Identity{}, true},
		"SameUser":          {Identity{User: "x"}, Identity{User: "x"}, true},
		"OtherUser":         {Identity{User: "x"}, Identity{User: "y"}, false},
		"UserAndController": {Identity{User: "x"}, Identity{}, false},
		"SameCluster":       {Identity{Kubeconfig: elsewhere}, Identity{Kubeconfig: kubeconfigFor("https://elsewhere", "a")}, true},
		"OtherCluster":      {Identity{Kubeconfig: elsewhere}, Identity{}, false},
		"UserInOther":       {Identity{Kubeconfig: elsewhere, User: "x"}, Identity{User: "x"}, false},
		"KubeconfigChanged": {Identity{Kubeconfig: elsewhere}, Identity{Kubeconfig: kubeconfigFor("https://elsewhere", "b")}, false},
		"Fresh":             {Identity{User: "x", Fresh: true}, Identity{User: "x", Fresh: true}, false},
		"FreshAndCached":    {Identity{User: "x", Fresh: true}, Identity{User: "x"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := pool.mustFor(t, tc.a), pool.mustFor(t, tc.b)
			if (a == b) != tc.same {
				t.Errorf("the same connection: %t, want %t", a == b, tc.same)
			}
		})
	}
}

// TestForConfigures: clients of a connection use its server, user, token and rate limits.
func TestForConfigures(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local", QPS: 7, Burst: 8, UserAgent: "pintle", BearerToken: "local"})
	for name, tc := range map[string]struct {
		id        Identity
		host      string
		token     string
		timeout   time.Duration
		transport bool
	}{
		"Local":      {Identity{}, "http://local", "local", 0, false},
		"LocalUser":  {Identity{User: "u"}, "http://local", "local", 0, false},
		"Remote":     {Identity{Kubeconfig: kubeconfigFor("https://there", "remote")}, "https://there", "remote", 30 * time.Second, true},
		"RemoteUser": {Identity{User: "u", Kubeconfig: kubeconfigFor("https://there", "remote")}, "https://there", "remote", 30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			connection := pool.mustFor(t, tc.id)
			if connection.Impersonates() != (tc.id.User != "") {
				t.Errorf("impersonates: %t", connection.Impersonates())
			}
			config, err := connection.ToRESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != tc.host || config.BearerToken != tc.token || config.Timeout != tc.timeout ||
				config.Impersonate.UserName != tc.id.User || (config.Transport != nil) != tc.transport {
				t.Errorf("host %s, token %s, timeout %s, as %q, transport %v", config.Host, config.BearerToken, config.Timeout, config.Impersonate.UserName, config.Transport)
			}
			if config.QPS != 7 || config.Burst != 8 || config.UserAgent != "pintle" {
				t.Errorf("%v queries, %d in a burst, by %s", config.QPS, config.Burst, config.UserAgent)
			}
		})
	}
}

func pemOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// TestForReachesServer: a server receives the token and user of its kubeconfig.
func TestForReachesServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen http.Header
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = r.Header
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"` + strings.ReplaceAll(r.URL.Path, "/", ".") + `"}`))
	}))
	t.Cleanup(server.Close)
	ca := []byte(pemOf(server))
	raw := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":"%s/prefix","tls-server-name":"example.com","certificate-authority-data":%q}}],
"users":[{"name":"u","user":{"token":"t0ken"}}],"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`, server.URL, encode(ca))
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	d, err := pool.mustFor(t, Identity{User: "system:serviceaccount:a:b", Kubeconfig: raw}).ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	version, err := d.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen.Get("Authorization") != "Bearer t0ken" || seen.Get("Impersonate-User") != "system:serviceaccount:a:b" || version.GitVersion != ".prefix.version" {
		t.Errorf("the server received %v for %s", seen, version.GitVersion)
	}
}

// TestDropsIdle: an idle connection is dropped.
func TestDropsIdle(t *testing.T) {
	t.Parallel()
	pool, clock := newPool(t, &rest.Config{Host: "http://local"})
	a, b := pool.mustFor(t, Identity{User: "a"}), pool.mustFor(t, Identity{User: "b"})
	clock.pass(maxIdle - 1)
	if pool.mustFor(t, Identity{User: "a"}) != a {
		t.Error("it was dropped too early")
	}
	clock.pass(1)
	if pool.mustFor(t, Identity{User: "a"}) != a {
		t.Error("it was dropped although it was used just now")
	}
	if n := len(pool.cached); n != 1 {
		t.Errorf("%d are cached, want the used one only", n)
	}
	if pool.mustFor(t, Identity{User: "b"}) == b {
		t.Error("an idle connection was kept")
	}
}

// TestDropsOldest: above the maximum the connection unused for longest is dropped.
func TestDropsOldest(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	user := func(n int) Identity { return Identity{User: fmt.Sprint("user-", n)} }
	zero, one := pool.mustFor(t, user(0)), pool.mustFor(t, user(1))
	for n := 2; n < maxConnections; n++ {
		pool.mustFor(t, user(n))
	}
	// Now 1 has been unused for longest.
	pool.mustFor(t, user(0))
	pool.mustFor(t, user(maxConnections))
	if n, m := len(pool.cached), pool.recent.Len(); n != maxConnections || m != n {
		t.Errorf("%d connections are cached in a list of %d, want %d", n, m, maxConnections)
	}
	if pool.mustFor(t, user(0)) != zero {
		t.Error("0 was dropped")
	}
	if pool.mustFor(t, user(1)) == one {
		t.Error("1 was kept")
	}
}

// TestDropCloses: a dropped connection closes its network connections and stays usable.
func TestDropCloses(t *testing.T) {
	t.Parallel()
	opened, closed := make(chan struct{}, 10), make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"v1"}`))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			opened <- struct{}{}
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	pool, clock := newPool(t, &rest.Config{Host: "http://local"})
	connection := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor(server.URL, "t")})
	request := func() {
		t.Helper()
		d, _ := connection.ToDiscoveryClient()
		if _, err := d.ServerVersion(); err != nil {
			t.Fatal(err)
		}
	}
	request()
	request()
	<-opened
	if len(opened) > 0 {
		t.Error("the second request opened another network connection")
	}
	clock.pass(maxIdle)
	pool.mustFor(t, Identity{})
	<-closed
	request()
}

// TestForConcurrently: concurrent use keeps the pool consistent.
func TestForConcurrently(t *testing.T) {
	t.Parallel()
	// A clock without a lock, which could hide a missing lock of the pool.
	pool := NewConnections(&rest.Config{Host: "http://local"}, Options{Now: func() time.Time { return time.Unix(1000, 0) }})
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for m := range 2 * maxConnections {
				connection, err := pool.For(Identity{User: fmt.Sprint(n + m)})
				if err != nil || connection == nil {
					t.Errorf("%v, %v", connection, err)
				}
			}
		})
	}
	wg.Wait()
	if n := pool.recent.Len(); n != maxConnections || len(pool.cached) != n {
		t.Errorf("%d connections are cached in a list of %d, want %d", len(pool.cached), n, maxConnections)
	}
}

// TestForErrorIsNotCached: an error leaves no connection in the pool.
func TestForErrorIsNotCached(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	for range 2 {
		if connection, err := pool.For(Identity{Kubeconfig: []byte{}}); err == nil {
			t.Errorf("an empty kubeconfig results in %s", connection.Host())
		}
	}
	if len(pool.cached) > 0 || pool.recent.Len() > 0 {
		t.Error("a connection is cached")
	}
}

// TestTransportWrapper: the wrapper sees every attempt of every request to any cluster.
func TestTransportWrapper(t *testing.T) {
	t.Parallel()
	var seen, answered atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if answered.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(leaderText))
		}
	}))
	defer server.Close()
	pool, _ := newPoolWith(t, &rest.Config{Host: server.URL}, Options{TransportWrapper: func(next http.RoundTripper) http.RoundTripper {
		return counted{&seen, next}
	}})
	for name, id := range map[string]Identity{
		"Local": {User: "u"}, "Remote": {Kubeconfig: kubeconfigFor(server.URL, "token")}, "Fresh": {Fresh: true},
	} {
		config, err := pool.mustFor(t, id).ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		seen.Store(0)
		answered.Store(0)
		resp, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := seen.Load(); got != 2 {
			t.Errorf("%s: the wrapper saw %d requests, want one for each of two attempts", name, got)
		}
	}
}

// counted counts requests.
type counted struct {
	seen *atomic.Int32
	next http.RoundTripper
}

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	c.seen.Add(1)
	return c.next.RoundTrip(req)
}
