// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// newDiscoveryPool returns a pool for a server. Waiting for discovery advances its clock.
func newDiscoveryPool(t *testing.T) (*Connections, *apiServer, *clock) {
	t.Helper()
	s := newAPIServer(t)
	pool, clock := newPool(t, &rest.Config{Host: s.URL, QPS: -1})
	pool.localDiscovery.sleep = clock.pass
	return pool, s, clock
}

// rounds returns how often discovery was requested.
func (s *apiServer) rounds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r == "/apis" {
			n++
		}
	}
	return n
}

func (c *Connection) mustCapabilities(t *testing.T) []string {
	t.Helper()
	server, apis, err := c.Capabilities()
	if err != nil || server.GitVersion != "v1.33.0" {
		t.Fatalf("version %v, %v", server, err)
	}
	return apis
}

// TestCapabilities: they contain versions and kinds, sorted.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	pool, s, _ := newDiscoveryPool(t)
	s.add()
	want := []string{"example.com/v1", "example.com/v1/Thing", "v1", "v1/ConfigMap"}
	if got := pool.mustFor(t, Identity{}).mustCapabilities(t); !slices.Equal(got, want) {
		t.Errorf("capabilities %v, want %v", got, want)
	}
}

// TestCapabilitiesAreCached: after the first discovery, each case leads to the expected number of
// requests for discovery.
func TestCapabilitiesAreCached(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		watched bool
		then    func(pool *Connections, clock *clock)
		want    int
	}{
		"AtOnce":         {"they are fresh", false, func(*Connections, *clock) {}, 1},
		"Unwatched":      {"changes are not observed", false, func(_ *Connections, c *clock) { c.pass(unwatchedTTL) }, 2},
		"UnwatchedYet":   {"they are used for a moment", false, func(_ *Connections, c *clock) { c.pass(unwatchedTTL - 3) }, 1},
		"Watched":        {"changes are observed", true, func(_ *Connections, c *clock) { c.pass(watchedTTL - 3) }, 1},
		"WatchedForLong": {"the server may have been replaced", true, func(_ *Connections, c *clock) { c.pass(watchedTTL) }, 2},
		"WatchEnds":      {"changes are not observed any more", true, func(p *Connections, c *clock) { p.SetAPIsWatched(false); c.pass(unwatchedTTL) }, 2},
		"WatchBegins":    {"earlier changes were not observed", false, func(p *Connections, _ *clock) { p.SetAPIsWatched(true) }, 2},
		"WatchGoesOn":    {"nothing changes", true, func(p *Connections, _ *clock) { p.SetAPIsWatched(true) }, 1},
		"Changed":        {"something changed", true, func(p *Connections, c *clock) { c.pass(time.Minute); p.APIsChanged() }, 2},
		"ChangedAtOnce":  {"something changed", true, func(p *Connections, _ *clock) { p.APIsChanged() }, 2},
		"ChangedOften": {"one request covers all changes", true, func(p *Connections, _ *clock) {
			for range 500 {
				p.APIsChanged()
			}
		}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, s, clock := newDiscoveryPool(t)
			pool.SetAPIsWatched(tc.watched)
			connection := pool.mustFor(t, Identity{})
			connection.mustCapabilities(t)
			clock.pass(1)
			tc.then(pool, clock)
			clock.pass(1)
			for range 50 {
				connection.mustCapabilities(t)
			}
			if got := s.rounds(); got != tc.want {
				t.Errorf("%s: discovery was requested %d times, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestManyVersions: a server that lists too many versions of groups is rejected before the resources
// of each are requested.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	for n, rejected := range map[int]bool{maxVersions - 1: false, maxVersions: true} {
		pool, s, _ := newDiscoveryPool(t)
		s.set(func() { s.versions = n })
		_, apis, err := pool.mustFor(t, Identity{}).Capabilities()
		if rejected != errors.As(err, new(*bounded.Error)) {
			t.Errorf("%d versions and v1: %d APIs, %v", n, len(apis), err)
		}
		s.mu.Lock()
		if got := len(s.requests); rejected != (got < 10) {
			t.Errorf("%d versions and v1: %d requests", n, got)
		}
		s.mu.Unlock()
	}
}

// TestPropagation: right after a change the server may still answer with the old capabilities.
func TestPropagation(t *testing.T) {
	t.Parallel()
	pool, s, clock := newDiscoveryPool(t)
	pool.SetAPIsWatched(true)
	connection := pool.mustFor(t, Identity{})
	connection.mustCapabilities(t)
	clock.pass(time.Minute)
	pool.APIsChanged()
	clock.pass(1)
	connection.mustCapabilities(t)
	s.add()
	clock.pass(minInterval)
	if apis := connection.mustCapabilities(t); !slices.Contains(apis, "example.com/v1/Thing") {
		t.Errorf("the added kind is missing: %v", apis)
	}
	clock.pass(propagation)
	connection.mustCapabilities(t)
	once := s.rounds()
	clock.pass(time.Minute)
	connection.mustCapabilities(t)
	if s.rounds() != once {
		t.Error("discovery is requested again long after the change")
	}
}

// TestManyChanges: hundreds of CRDs and a lookup after each cause one discovery a second.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	pool, s, clock := newDiscoveryPool(t)
	pool.SetAPIsWatched(true)
	connection := pool.mustFor(t, Identity{})
	begin := clock.Now()
	for range 500 {
		clock.pass(20 * time.Millisecond)
		pool.APIsChanged()
		m, _ := connection.ToRESTMapper()
		if _, err := m.RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	if waited := clock.Now().Sub(begin); waited > 500*20*time.Millisecond {
		t.Errorf("the REST mapper waited, %s in all", waited)
	}
	for range 500 {
		pool.APIsChanged()
		connection.mustCapabilities(t)
	}
	if got, seconds := s.rounds(), int(clock.Now().Sub(begin)/time.Second); got > seconds+1 {
		t.Errorf("discovery was requested %d times in %d seconds", got, seconds)
	}
}

// TestCapabilitiesAreShared: connections to a cluster by the same kubeconfig share discovery.
func TestCapabilitiesAreShared(t *testing.T) {
	t.Parallel()
	pool, s, _ := newDiscoveryPool(t)
	there := kubeconfigFor(s.URL, "a")
	for want, ids := range [][]Identity{
		1: {{}, {User: "x"}, {User: "y"}},
		2: {{Kubeconfig: there}, {Kubeconfig: there, User: "x"}},
		3: {{Kubeconfig: kubeconfigFor(s.URL, "b")}},
		4: {{Fresh: true}},
	} {
		for _, id := range ids {
			pool.mustFor(t, id).mustCapabilities(t)
			if got := s.rounds(); got != want {
				t.Errorf("%+v: discovery was requested %d times, want %d", id, got, want)
			}
		}
	}
}

// TestConcurrentCapabilities: concurrent callers cause one discovery.
func TestConcurrentCapabilities(t *testing.T) {
	t.Parallel()
	pool, s, _ := newDiscoveryPool(t)
	var wg sync.WaitGroup
	for range 16 {
		connection := pool.mustFor(t, Identity{})
		wg.Go(func() {
			if _, _, err := connection.Capabilities(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := s.rounds(); got != 1 {
		t.Errorf("discovery was requested %d times", got)
	}
}

// TestCapabilitiesErrors: an error for one user is not cached for others, and it ends once
// another user has filled the cache.
func TestCapabilitiesErrors(t *testing.T) {
	t.Parallel()
	pool, s, _ := newDiscoveryPool(t)
	denied, allowed := pool.mustFor(t, Identity{User: "denied"}), pool.mustFor(t, Identity{User: "allowed"})
	s.deny("denied")
	if _, _, err := denied.Capabilities(); err == nil {
		t.Error("no error although discovery was denied")
	}
	allowed.mustCapabilities(t)
	denied.mustCapabilities(t)
}

// TestIncompleteCapabilities: groups that the server could not list are requested again soon.
func TestIncompleteCapabilities(t *testing.T) {
	t.Parallel()
	pool, s, clock := newDiscoveryPool(t)
	pool.SetAPIsWatched(true)
	s.addBroken()
	connection := pool.mustFor(t, Identity{})
	_, apis, err := connection.Capabilities()
	if !discovery.IsGroupDiscoveryFailedError(err) || !slices.Contains(apis, "v1/ConfigMap") || !slices.Contains(apis, "example.com/v1") {
		t.Errorf("capabilities %v, %v", apis, err)
	}
	clock.pass(unwatchedTTL)
	s.add()
	if apis := connection.mustCapabilities(t); !slices.Contains(apis, "example.com/v1/Thing") {
		t.Errorf("capabilities %v", apis)
	}
}

// TestUnknownKindsCostOneRequest: an unknown kind causes one request, for its group and version.
func TestUnknownKindsCostOneRequest(t *testing.T) {
	t.Parallel()
	pool, s, clock := newDiscoveryPool(t)
	pool.SetAPIsWatched(true)
	connection := pool.mustFor(t, Identity{})
	connection.mustCapabilities(t)
	clock.pass(time.Minute)
	m, _ := connection.ToRESTMapper()
	thing := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	before := s.count()
	if _, err := m.RESTMapping(thing, "v1"); !meta.IsNoMatchError(err) || err.Error() != `no matches for kind "Thing" in version "example.com/v1"` {
		t.Errorf("error %v", err)
	}
	if got := s.count() - before; got != 1 {
		t.Errorf("%d requests", got)
	}
	s.add()
	if _, err := m.RESTMapping(thing, "v1"); err != nil {
		t.Errorf("the added kind is not found: %v", err)
	}
	if apis := connection.mustCapabilities(t); !slices.Contains(apis, "example.com/v1/Thing") {
		t.Errorf("the kind is mapped but is not in the capabilities: %v", apis)
	}
	for _, find := range []func() error{
		func() error { _, err := m.RESTMapping(thing); return err },
		func() error { _, err := m.RESTMappings(thing); return err },
		func() error { _, err := m.KindFor(schema.GroupVersionResource{Resource: "things"}); return err },
		func() error { _, err := m.KindsFor(schema.GroupVersionResource{Resource: "things"}); return err },
		func() error { _, err := m.ResourceFor(schema.GroupVersionResource{Resource: "thing"}); return err },
		func() error { _, err := m.ResourcesFor(schema.GroupVersionResource{Resource: "things"}); return err },
		func() error { _, err := m.ResourceSingularizer("things"); return err },
	} {
		if err := find(); err != nil {
			t.Error(err)
		}
	}
}

// TestProbeErrors: an error of the server differs from an unknown kind.
func TestProbeErrors(t *testing.T) {
	t.Parallel()
	pool, s, _ := newDiscoveryPool(t)
	s.addBroken()
	m, _ := pool.mustFor(t, Identity{}).ToRESTMapper()
	_, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "v1")
	if err == nil || meta.IsNoMatchError(err) || errors.Is(err, http.ErrServerClosed) {
		t.Errorf("error %v", err)
	}
}

// TestSizeOfKinds: an unused CRD needs little memory.
func TestSizeOfKinds(t *testing.T) {
	var before, after runtime.MemStats
	const n = 2000
	runtime.GC()
	runtime.ReadMemStats(&before)
	k := newKinds(manyGroups(n))
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	t.Logf("%d bytes for each of %d CRDs", each, len(k.groups))
	if each > 2048 {
		t.Errorf("%d bytes for each CRD", each)
	}
	runtime.KeepAlive(k)
}
