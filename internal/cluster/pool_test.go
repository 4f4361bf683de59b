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

// clock is a time that tests move.
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
	c := &clock{now: time.Unix(1000, 0)}
	return NewConnections(local, KubeconfigOptions{}, c.Now), c
}

func (c *Connections) mustFor(t *testing.T, id Identity) *Connection {
	t.Helper()
	connection, err := c.For(id)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// kubeconfigFor leads to a server as the bearer of a token.
func kubeconfigFor(server, token string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":%q}}],
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`, server, token)
}

func TestForShares(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	elsewhere := kubeconfigFor("https://elsewhere", "a")
	cases := map[string]struct {
		a, b Identity
		same bool
	}{
		"Oneself":        {Identity{}, Identity{}, true},
		"SomebodyTwice":  {Identity{User: "x"}, Identity{User: "x"}, true},
		"SomebodyElse":   {Identity{User: "x"}, Identity{User: "y"}, false},
		"NotOneself":     {Identity{User: "x"}, Identity{}, false},
		"ClusterTwice":   {Identity{Kubeconfig: elsewhere}, Identity{Kubeconfig: kubeconfigFor("https://elsewhere", "a")}, true},
		"OtherCluster":   {Identity{Kubeconfig: elsewhere}, Identity{}, false},
		"UserThere":      {Identity{Kubeconfig: elsewhere, User: "x"}, Identity{User: "x"}, false},
		"KubeconfigNews": {Identity{Kubeconfig: elsewhere}, Identity{Kubeconfig: kubeconfigFor("https://elsewhere", "b")}, false},
		"Fresh":          {Identity{User: "x", Fresh: true}, Identity{User: "x", Fresh: true}, false},
		"FreshAndKept":   {Identity{User: "x", Fresh: true}, Identity{User: "x"}, false},
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

// TestForConfigures: whatever clients are made of a connection, they speak for the
// right user, no more often than they may.
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

// TestForReachesServer goes all the way: the server sees who it is told to serve.
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
		t.Errorf("the server saw %v, asked for %s", seen, version.GitVersion)
	}
}

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
		t.Error("it was asked for just now")
	}
	if n := len(pool.kept); n != 1 {
		t.Errorf("%d are kept, want only the one in use", n)
	}
	if pool.mustFor(t, Identity{User: "b"}) == b {
		t.Error("nobody had asked for it, but it was kept")
	}
}

func TestDropsOldest(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	user := func(n int) Identity { return Identity{User: fmt.Sprint("user-", n)} }
	zero, one := pool.mustFor(t, user(0)), pool.mustFor(t, user(1))
	for n := 2; n < maxConnections; n++ {
		pool.mustFor(t, user(n))
	}
	// So 1 is the one that was asked for the longest time ago.
	pool.mustFor(t, user(0))
	pool.mustFor(t, user(maxConnections))
	if n, m := len(pool.kept), pool.recent.Len(); n != maxConnections || m != n {
		t.Errorf("%d connections are kept in a list of %d, want %d", n, m, maxConnections)
	}
	if pool.mustFor(t, user(0)) != zero {
		t.Error("0 was dropped")
	}
	if pool.mustFor(t, user(1)) == one {
		t.Error("1 was kept")
	}
}

// TestDropCloses: a connection that is dropped does not hold on to the network,
// and whoever still has it can go on.
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
	way := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor(server.URL, "t")})
	ask := func() {
		t.Helper()
		d, _ := way.ToDiscoveryClient()
		if _, err := d.ServerVersion(); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	<-opened
	if len(opened) > 0 {
		t.Error("the second request opened a connection of its own")
	}
	clock.pass(maxIdle)
	pool.mustFor(t, Identity{})
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("the connection stays open")
	}
	ask()
}

func TestForConcurrently(t *testing.T) {
	t.Parallel()
	// This clock has no lock, which would order what must be ordered by the pool.
	pool := NewConnections(&rest.Config{Host: "http://local"}, KubeconfigOptions{}, func() time.Time { return time.Unix(1000, 0) })
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for m := range 2 * maxConnections {
				way, err := pool.For(Identity{User: fmt.Sprint(n + m)})
				if err != nil || way == nil {
					t.Errorf("%v, %v", way, err)
				}
			}
		})
	}
	wg.Wait()
	if n := pool.recent.Len(); n != maxConnections || len(pool.kept) != n {
		t.Errorf("%d connections are kept in a list of %d, want %d", len(pool.kept), n, maxConnections)
	}
}

func TestForErrorIsNotKept(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	for range 2 {
		if way, err := pool.For(Identity{Kubeconfig: []byte{}}); err == nil {
			t.Errorf("no kubeconfig leads to %s", way.Host())
		}
	}
	if len(pool.kept) > 0 || pool.recent.Len() > 0 {
		t.Error("something is kept")
	}
}

// TestThrough: whatever clients are made of a connection, to whichever cluster, what
// they send is seen by the guard, as often as it is sent.
func TestThrough(t *testing.T) {
	t.Parallel()
	var asked, answered atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if answered.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(leaderText))
		}
	}))
	defer server.Close()
	pool, _ := newPool(t, &rest.Config{Host: server.URL})
	pool.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return counted{&asked, next}
	})
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
		asked.Store(0)
		answered.Store(0)
		resp, err := client.Get(server.URL) //nolint:noctx // it is answered at once
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := asked.Load(); got != 2 {
			t.Errorf("%s: the guard was asked %d times, want one for each of two tries", name, got)
		}
	}
}

// counted counts requests.
type counted struct {
	asked *atomic.Int32
	next  http.RoundTripper
}

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	return c.next.RoundTrip(req)
}
