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
)

// catalogues returns connections to a server, whose waits move the clock.
func catalogues(t *testing.T) (*Connections, *apiServer, *clock) {
	t.Helper()
	s := newAPIServer(t)
	pool, clock := newPool(t, &rest.Config{Host: s.URL, QPS: -1})
	pool.home.sleep = clock.pass
	return pool, s, clock
}

// rounds counts how often the server was asked for all it offers.
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

func (c *Connection) mustOffer(t *testing.T) []string {
	t.Helper()
	server, apis, err := c.Capabilities()
	if err != nil || server.GitVersion != "v1.33.0" {
		t.Fatalf("version %v, %v", server, err)
	}
	return apis
}

func TestOffers(t *testing.T) {
	t.Parallel()
	pool, s, _ := catalogues(t)
	s.add()
	want := []string{"example.com/v1", "example.com/v1/Thing", "v1", "v1/ConfigMap"}
	if got := pool.mustFor(t, Identity{}).mustOffer(t); !slices.Equal(got, want) {
		t.Errorf("offers %v, want %v", got, want)
	}
}

// TestOffersAreRemembered plays, for each case, what happens after the server was
// asked, and counts how often it is asked in the end.
func TestOffersAreRemembered(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		watched bool
		then    func(pool *Connections, clock *clock)
		want    int
	}{
		"AtOnce":         {"it was asked just now", false, func(*Connections, *clock) {}, 1},
		"Unwatched":      {"changes would not be noticed", false, func(_ *Connections, c *clock) { c.pass(unwatchedFor) }, 2},
		"UnwatchedYet":   {"for a moment that is accepted", false, func(_ *Connections, c *clock) { c.pass(unwatchedFor - 3) }, 1},
		"Watched":        {"changes are told", true, func(_ *Connections, c *clock) { c.pass(watchedFor - 3) }, 1},
		"WatchedForLong": {"the server may have been replaced", true, func(_ *Connections, c *clock) { c.pass(watchedFor) }, 2},
		"NoLonger":       {"nobody watches", true, func(p *Connections, c *clock) { p.SetAPIsWatched(false); c.pass(unwatchedFor) }, 2},
		"WatchBegins":    {"what changed before was not told", false, func(p *Connections, _ *clock) { p.SetAPIsWatched(true) }, 2},
		"WatchGoesOn":    {"it began long ago", true, func(p *Connections, _ *clock) { p.SetAPIsWatched(true) }, 1},
		"Changed":        {"something changed", true, func(p *Connections, c *clock) { c.pass(time.Minute); p.APIsChanged() }, 2},
		"ChangedAtOnce":  {"something changed", true, func(p *Connections, _ *clock) { p.APIsChanged() }, 2},
		"ChangedOften": {"it is one change", true, func(p *Connections, _ *clock) {
			for range 500 {
				p.APIsChanged()
			}
		}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, s, clock := catalogues(t)
			pool.SetAPIsWatched(tc.watched)
			way := pool.mustFor(t, Identity{})
			way.mustOffer(t)
			clock.pass(1)
			tc.then(pool, clock)
			clock.pass(1)
			for range 50 {
				way.mustOffer(t)
			}
			if got := s.rounds(); got != tc.want {
				t.Errorf("%s: asked %d times, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOffersSettle: right after a change the server may not know of it yet.
func TestOffersSettle(t *testing.T) {
	t.Parallel()
	pool, s, clock := catalogues(t)
	pool.SetAPIsWatched(true)
	way := pool.mustFor(t, Identity{})
	way.mustOffer(t)
	clock.pass(time.Minute)
	pool.APIsChanged()
	clock.pass(1)
	way.mustOffer(t)
	s.add()
	clock.pass(between)
	if apis := way.mustOffer(t); !slices.Contains(apis, "example.com/v1/Thing") {
		t.Errorf("what came a moment after the change is not seen: %v", apis)
	}
	clock.pass(settling)
	way.mustOffer(t)
	once := s.rounds()
	clock.pass(time.Minute)
	way.mustOffer(t)
	if s.rounds() != once {
		t.Error("all has settled long ago, but the server is asked again")
	}
}

// TestManyChanges: hundreds of definitions that come one by one, and somebody who
// wants to know after each, are about one question a second.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	pool, s, clock := catalogues(t)
	pool.SetAPIsWatched(true)
	way := pool.mustFor(t, Identity{})
	begin := clock.Now()
	for range 500 {
		clock.pass(20 * time.Millisecond)
		pool.APIsChanged()
		m, _ := way.ToRESTMapper()
		if _, err := m.RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1"); err != nil {
			t.Fatal(err)
		}
	}
	if waited := clock.Now().Sub(begin); waited > 500*20*time.Millisecond {
		t.Errorf("who maps a kind waited, %s in all", waited)
	}
	for range 500 {
		pool.APIsChanged()
		way.mustOffer(t)
	}
	if got, seconds := s.rounds(), int(clock.Now().Sub(begin)/time.Second); got > seconds+1 {
		t.Errorf("asked %d times in %d seconds", got, seconds)
	}
}

func TestOffersAreShared(t *testing.T) {
	t.Parallel()
	pool, s, _ := catalogues(t)
	there := kubeconfigFor(s.URL, "a")
	for want, ids := range [][]Identity{
		1: {{}, {User: "x"}, {User: "y"}},
		2: {{Kubeconfig: there}, {Kubeconfig: there, User: "x"}},
		3: {{Kubeconfig: kubeconfigFor(s.URL, "b")}},
		4: {{Fresh: true}},
	} {
		for _, id := range ids {
			pool.mustFor(t, id).mustOffer(t)
			if got := s.rounds(); got != want {
				t.Errorf("%+v: asked %d times, want %d", id, got, want)
			}
		}
	}
}

// TestOffersAreAskedForOnce: everybody waits for who asks.
func TestOffersAreAskedForOnce(t *testing.T) {
	t.Parallel()
	pool, s, _ := catalogues(t)
	var wg sync.WaitGroup
	for range 16 {
		way := pool.mustFor(t, Identity{})
		wg.Go(func() {
			if _, _, err := way.Capabilities(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := s.rounds(); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// TestOffersErrors: who may not ask does not keep others from asking, and gets what
// others were told.
func TestOffersErrors(t *testing.T) {
	t.Parallel()
	pool, s, _ := catalogues(t)
	nobody, somebody := pool.mustFor(t, Identity{User: "nobody"}), pool.mustFor(t, Identity{User: "somebody"})
	s.refuse("nobody")
	if _, _, err := nobody.Capabilities(); err == nil {
		t.Error("it was refused")
	}
	somebody.mustOffer(t)
	nobody.mustOffer(t)
}

// TestIncompleteOffers: what the server could not tell is asked for again soon.
func TestIncompleteOffers(t *testing.T) {
	t.Parallel()
	pool, s, clock := catalogues(t)
	pool.SetAPIsWatched(true)
	s.addBroken()
	way := pool.mustFor(t, Identity{})
	_, apis, err := way.Capabilities()
	if !discovery.IsGroupDiscoveryFailedError(err) || !slices.Contains(apis, "v1/ConfigMap") || !slices.Contains(apis, "example.com/v1") {
		t.Errorf("offers %v, %v", apis, err)
	}
	clock.pass(unwatchedFor)
	s.add()
	if apis := way.mustOffer(t); !slices.Contains(apis, "example.com/v1/Thing") {
		t.Errorf("offers %v", apis)
	}
}

// TestUnknownKindsCostOneRequest: no more than the one for its group and version.
func TestUnknownKindsCostOneRequest(t *testing.T) {
	t.Parallel()
	pool, s, clock := catalogues(t)
	pool.SetAPIsWatched(true)
	way := pool.mustFor(t, Identity{})
	way.mustOffer(t)
	clock.pass(time.Minute)
	m, _ := way.ToRESTMapper()
	thing := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	before := s.asked()
	if _, err := m.RESTMapping(thing, "v1"); !meta.IsNoMatchError(err) || err.Error() != `no matches for kind "Thing" in version "example.com/v1"` {
		t.Errorf("error %v", err)
	}
	if got := s.asked() - before; got != 1 {
		t.Errorf("%d requests", got)
	}
	s.add()
	if _, err := m.RESTMapping(thing, "v1"); err != nil {
		t.Errorf("what was added is not found: %v", err)
	}
	if apis := way.mustOffer(t); !slices.Contains(apis, "example.com/v1/Thing") {
		t.Errorf("it is mapped, but not offered: %v", apis)
	}
	for _, ask := range []func() error{
		func() error { _, err := m.RESTMapping(thing); return err },
		func() error { _, err := m.RESTMappings(thing); return err },
		func() error { _, err := m.KindFor(schema.GroupVersionResource{Resource: "things"}); return err },
		func() error { _, err := m.KindsFor(schema.GroupVersionResource{Resource: "things"}); return err },
		func() error { _, err := m.ResourceFor(schema.GroupVersionResource{Resource: "thing"}); return err },
		func() error { _, err := m.ResourcesFor(schema.GroupVersionResource{Resource: "things"}); return err },
		func() error { _, err := m.ResourceSingularizer("things"); return err },
	} {
		if err := ask(); err != nil {
			t.Error(err)
		}
	}
}

// TestProbeErrors: a server in trouble is not a server without the kind.
func TestProbeErrors(t *testing.T) {
	t.Parallel()
	pool, s, _ := catalogues(t)
	s.addBroken()
	m, _ := pool.mustFor(t, Identity{}).ToRESTMapper()
	_, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "v1")
	if err == nil || meta.IsNoMatchError(err) || errors.Is(err, http.ErrServerClosed) {
		t.Errorf("error %v", err)
	}
}

// TestSizeOfKinds: what is kept of a definition that no release uses is small.
func TestSizeOfKinds(t *testing.T) {
	var before, after runtime.MemStats
	const n = 2000
	runtime.GC()
	runtime.ReadMemStats(&before)
	k := newKinds(manyGroups(n))
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	t.Logf("%d bytes for each of %d definitions", each, len(k.groups))
	if each > 2048 {
		t.Errorf("%d bytes for each definition", each)
	}
	runtime.KeepAlive(k)
}
