// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// server is an API server with ReleasePolicies.
type server struct {
	mu sync.Mutex
	// code is the answer to lists and watches; 0 serves them. served is true if discovery lists the
	// kind, and undiscovered is another answer of discovery.
	code, undiscovered int
	served             bool
	items              []map[string]any
	lists, discoveries int
	// watches are open.
	watches []chan struct{}
}

func newServer() *server { return &server{served: true} }

// answer is an http.ResponseWriter in a bubble, where there is no network.
type answer struct {
	header http.Header
	body   *io.PipeWriter
	// begun receives the status code.
	begun chan int
	once  sync.Once
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) { a.once.Do(func() { a.begun <- code }) }

func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	a := &answer{header: http.Header{}, body: w, begun: make(chan int, 1)}
	go func() {
		s.serve(a, r)
		_ = w.Close()
	}()
	return &http.Response{StatusCode: <-a.begun, Header: a.header, Body: body, Request: r}, nil
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !strings.HasSuffix(r.URL.Path, "/releasepolicies"):
		s.discoveries++
		defer s.mu.Unlock()
		switch {
		case s.undiscovered != 0:
			fail(w, s.undiscovered)
		case !s.served:
			fail(w, http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"pintle.dev/v1alpha1","resources":[{"name":"releasepolicies","namespaced":true,"kind":"ReleasePolicy","verbs":["list"]}]}`))
		}
	case s.code != 0:
		defer s.mu.Unlock()
		s.lists++
		fail(w, s.code)
	case r.URL.Query().Get("watch") == "":
		defer s.mu.Unlock()
		s.lists++
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "ReleasePolicyList", "apiVersion": "pintle.dev/v1alpha1", "metadata": map[string]any{"resourceVersion": "1"}, "items": s.items,
		})
	default:
		end := make(chan struct{})
		s.watches = append(s.watches, end)
		s.mu.Unlock()
		w.WriteHeader(http.StatusOK)
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}
}

func fail(w http.ResponseWriter, code int) {
	reason := metav1.StatusReasonNotFound
	switch code {
	case http.StatusForbidden:
		reason = metav1.StatusReasonForbidden
	case http.StatusInternalServerError:
		reason = metav1.StatusReasonInternalError
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "refused by the test",
	})
}

// watched reports whether a watch is open.
func (s *server) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches) > 0
}

// cut ends all watches.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		close(w)
	}
	s.watches = nil
}

func (s *server) set(change func(s *server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func object(name string) map[string]any {
	return map[string]any{
		"apiVersion": "pintle.dev/v1alpha1", "kind": "ReleasePolicy",
		"metadata": map[string]any{"name": name, "namespace": "apps", "resourceVersion": "1"},
		"spec":     map[string]any{"freeze": "because of " + name},
	}
}

// clock is a time that can be moved.
type clock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
}

type running struct {
	*Kind[*v1alpha1.ReleasePolicy]
	clock *clock
	mu    sync.Mutex
	all   int
}

func start(t *testing.T, s *server, edit ...func(*Options[*v1alpha1.ReleasePolicy])) *running {
	t.Helper()
	r := &running{clock: &clock{}}
	o := Options[*v1alpha1.ReleasePolicy]{
		Resource: v1alpha1.GroupVersion.WithResource("releasepolicies"), New: func() *v1alpha1.ReleasePolicy { return &v1alpha1.ReleasePolicy{} },
		Changed: func(key types.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if key.Name == "" {
				r.all++
			}
		},
		Log: logr.Discard(), Now: r.clock.now,
	}
	for _, e := range edit {
		e(&o)
	}
	var err error
	if r.Kind, err = New(&rest.Config{Host: "http://local"}, &http.Client{Transport: s}, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		s.cut()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 10_000 {
		if synctest.Wait(); ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func (r *running) isKnown() bool {
	select {
	case <-r.Known():
		return true
	default:
		return false
	}
}

// TestListed: the objects of the first list are known, and those of later ones.
func TestListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.items = []map[string]any{object("a")}
		r := start(t, s)
		until(t, "the list", r.isKnown)
		got, found := r.Object(types.NamespacedName{Namespace: "apps", Name: "a"})
		if !found || got.Spec.Freeze != "because of a" || len(r.Objects()) != 1 || r.Unknown() != "" || !r.Served() {
			t.Errorf("%+v, unknown: %q", got, r.Unknown())
		}
		until(t, "the watch", s.watched)
		s.set(func(s *server) { s.items = []map[string]any{object("b"), object("c")} })
		s.cut()
		until(t, "the next list", func() bool { return len(r.Objects()) == 2 })
	})
}

// TestAbsent: a kind that is not served has no objects. It is not looked for until the capabilities
// change.
func TestAbsent(t *testing.T) {
	for name, code := range map[string]int{"NotFound": http.StatusNotFound, "ForbiddenButNotServed": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.code, s.served = code, false
				r := start(t, s)
				until(t, "the answer", r.isKnown)
				if r.Unknown() != "" || r.Served() {
					t.Errorf("unknown: %q", r.Unknown())
				}
				time.Sleep(absentRetry / 2)
				s.set(func(s *server) {
					if s.lists > 2 || s.discoveries > 1 {
						t.Errorf("%d lists, %d discoveries", s.lists, s.discoveries)
					}
					s.code, s.served, s.items = 0, true, []map[string]any{object("a")}
				})
				r.CapabilitiesChanged()
				until(t, "the list", func() bool { return len(r.Objects()) == 1 })
				until(t, "the watch", s.watched)
				// The CRD is deleted.
				s.set(func(s *server) { s.code, s.served = http.StatusNotFound, false })
				s.cut()
				until(t, "the end", func() bool { return len(r.Objects()) == 0 && !r.Served() })
				if r.Unknown() != "" {
					t.Errorf("unknown: %q", r.Unknown())
				}
			})
		})
	}
}

// TestUnknown: the objects of a kind that is served and cannot be listed are not known.
func TestUnknown(t *testing.T) {
	for name, edit := range map[string]func(s *server){
		"Forbidden":           func(s *server) { s.code = http.StatusForbidden },
		"Broken":              func(s *server) { s.code = http.StatusInternalServerError },
		"NotFoundButServed":   func(s *server) { s.code = http.StatusNotFound },
		"DiscoveryForbidden":  func(s *server) { s.code, s.undiscovered = http.StatusForbidden, http.StatusForbidden },
		"DiscoveryIsBroken":   func(s *server) { s.code, s.undiscovered = http.StatusNotFound, http.StatusInternalServerError },
		"ForbiddenUndiscover": func(s *server) { s.code, s.undiscovered = http.StatusForbidden, http.StatusInternalServerError },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				edit(s)
				r := start(t, s)
				if r.Unknown() == "" {
					t.Error("known before the first answer")
				}
				until(t, "the answer", func() bool {
					return strings.Contains(r.Unknown(), "releasepolicies.pintle.dev cannot be listed and watched")
				})
				if r.isKnown() {
					t.Error("known")
				}
				s.set(func(s *server) { s.code, s.undiscovered = 0, 0 })
				until(t, "the list", r.isKnown)
				if r.Unknown() != "" {
					t.Errorf("unknown: %q", r.Unknown())
				}
			})
		})
	}
}

// TestLost: objects that may not be listed any more are not known at once. Those whose watch is
// interrupted count as known for a while.
func TestLost(t *testing.T) {
	for name, tc := range map[string]struct {
		code    int
		atOnce  bool
		message string
	}{
		"Forbidden": {http.StatusForbidden, true, "refused by the test"},
		"Broken":    {http.StatusInternalServerError, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.items = []map[string]any{object("a")}
				r := start(t, s)
				until(t, "the list", r.isKnown)
				until(t, "the watch", s.watched)
				s.set(func(s *server) { s.code, s.lists = tc.code, 0 })
				s.cut()
				until(t, "a failed list", func() bool {
					r.store.mu.Lock()
					defer r.store.mu.Unlock()
					return r.broken != nil
				})
				if why := r.Unknown(); (why != "") != tc.atOnce || !strings.Contains(why, tc.message) {
					t.Errorf("unknown: %q", why)
				}
				r.clock.advance(staleAfter)
				if r.Unknown() == "" {
					t.Error("still known")
				}
				if len(r.Objects()) != 1 {
					t.Error("the objects that were known are gone")
				}
				r.mu.Lock()
				before := r.all
				r.mu.Unlock()
				s.set(func(s *server) { s.code = 0 })
				until(t, "the list", func() bool { return r.Unknown() == "" })
				r.mu.Lock()
				defer r.mu.Unlock()
				if r.all == before {
					t.Error("the end is not reported")
				}
			})
		})
	}
}

// TestIgnoreForbidden: a kind that need not be listed has no objects then.
func TestIgnoreForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.code = http.StatusForbidden
		r := start(t, s, func(o *Options[*v1alpha1.ReleasePolicy]) { o.IgnoreForbidden = true })
		until(t, "the answer", r.isKnown)
		if r.Unknown() != "" {
			t.Errorf("unknown: %q", r.Unknown())
		}
	})
}

// TestLazy: a lazy kind is not listed before it is used.
func TestLazy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.items = []map[string]any{object("a")}
		r := start(t, s, func(o *Options[*v1alpha1.ReleasePolicy]) { o.Lazy = true })
		time.Sleep(absentRetry)
		s.set(func(s *server) {
			if s.lists > 0 || r.isKnown() {
				t.Errorf("%d lists of a kind that is not used", s.lists)
			}
		})
		r.Use()
		until(t, "the list", r.isKnown)
		if len(r.Objects()) != 1 {
			t.Errorf("%d objects", len(r.Objects()))
		}
	})
}

// TestUndecodable: an object that cannot be decoded makes the objects unknown.
func TestUndecodable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		bad := object("bad")
		bad["spec"] = map[string]any{"freeze": map[string]any{"no": "text"}}
		s.items = []map[string]any{object("a"), bad}
		r := start(t, s)
		until(t, "the list", r.isKnown)
		if why := r.Unknown(); !strings.Contains(why, "ReleasePolicy bad") || len(r.Objects()) != 1 {
			t.Errorf("unknown: %q, %d objects", why, len(r.Objects()))
		}
	})
}
