// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"
)

// Times of this file are those of synctest's clock, and exact.

// server is a transport on which some hosts, or paths, accept everything and say
// nothing. It
// counts what was asked of each, and how much of it at the same time at most.
type server struct {
	data []byte

	mu             sync.Mutex
	silent         map[string]chan struct{}
	asked, at, max map[string]int
}

func newServer(data []byte, silent ...string) *server {
	s := &server{data: data, silent: map[string]chan struct{}{}, asked: map[string]int{}, at: map[string]int{}, max: map[string]int{}}
	for _, host := range silent {
		s.silent[host] = make(chan struct{})
	}
	return s
}

// speak lets a silent host answer what it was asked and will be asked.
func (s *server) speak(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.silent[host])
	delete(s.silent, host)
}

func (s *server) requests(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[host]
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	s.mu.Lock()
	silent := s.silent[host]
	if silent == nil {
		silent = s.silent[host+req.URL.Path]
	}
	s.asked[host]++
	s.at[host]++
	s.max[host] = max(s.max[host], s.at[host])
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.at[host]--
		s.mu.Unlock()
	}()
	if silent != nil {
		select {
		case <-silent:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	rec := httptest.NewRecorder()
	if strings.HasSuffix(req.URL.Path, "/gone") {
		rec.WriteHeader(http.StatusNotFound)
	} else {
		_, _ = rec.Write(s.data)
	}
	return rec.Result(), nil
}

func (s *server) store() *Store {
	return NewStore(&http.Client{Transport: s, Timeout: 30 * time.Second}, megabyte)
}

func (s *server) artifact(host, path string) Artifact {
	return Artifact{URL: "http://" + host + "/" + path, Digest: digest.FromBytes(s.data).String()}
}

// pending asks for an artifact and requires to be told to come back.
func pending(t *testing.T, s *Store, a Artifact, waiter string) *Pending {
	t.Helper()
	_, _, err := s.Identify(t.Context(), a, waiter)
	var p *Pending
	if !errors.As(err, &p) {
		t.Fatalf("%s is told: %v; want to be told to come back", waiter, err)
	}
	return p
}

func TestSilentServerHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute")
		s := srv.store()
		begun := time.Now()
		p := pending(t, s, srv.artifact("mute", "a"), "first")
		if waited := time.Since(begun); waited != DefaultGrace || p.Slow || p.URL != "http://mute/a" {
			t.Errorf("the first waits for %s and is told %+v", waited, p)
		}
		// Neither the same artifact nor others of that server are waited for again.
		_ = pending(t, s, srv.artifact("mute", "a"), "second")
		for i := range 100 {
			_ = pending(t, s, srv.artifact("mute", fmt.Sprint(i)), fmt.Sprint("other", i))
		}
		if waited := time.Since(begun); waited != DefaultGrace {
			t.Errorf("the others wait for %s more", waited-DefaultGrace)
		}
		// A server that is well is waited for.
		if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "well"); err != nil {
			t.Errorf("another server: %v", err)
		}
		synctest.Wait()
		if srv.max["mute"] != perHost || srv.requests("well") != 1 {
			t.Errorf("%d connections to the silent server, want %d", srv.max["mute"], perHost)
		}
		srv.speak("mute")
		<-p.Ended
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.running)+len(s.hosts) > 0 {
			t.Errorf("something is left of what has ended: %v, %v", s.running, s.hosts)
		}
	})
}

// A server that has got over it is waited for again.
func TestServerThatWasLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "slow/a", "slow/b", "slow/c")
		s := srv.store()
		begun := time.Now()
		a := pending(t, s, srv.artifact("slow", "a"), "a")
		b := pending(t, s, srv.artifact("slow", "b"), "b")
		if waited := time.Since(begun); waited != DefaultGrace {
			t.Errorf("both wait for %s", waited)
		}
		srv.speak("slow/a")
		<-a.Ended
		begun = time.Now()
		other := srv.artifact("slow", "c")
		other.Digest = digest.FromString("c").String()
		c := pending(t, s, other, "c")
		if waited := time.Since(begun); waited != DefaultGrace {
			t.Errorf("the next one waits for %s", waited)
		}
		srv.speak("slow/b")
		srv.speak("slow/c")
		<-b.Ended
		<-c.Ended
	})
}

// After a while people should know what is waited for.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute")
		s := srv.store()
		p := pending(t, s, Artifact{URL: "http://me:hunter22@mute/a", Digest: srv.artifact("", "").Digest}, "app")
		if strings.Contains(p.Error(), "hunter22") {
			t.Errorf("a password is told: %s", p.Error())
		}
		time.Sleep(SlowAfter)
		synctest.Wait()
		if p := pending(t, s, Artifact{URL: "http://me:hunter22@mute/a", Digest: srv.artifact("", "").Digest}, "app"); !p.Slow {
			t.Errorf("after %s it is not slow", SlowAfter)
		}
		srv.speak("mute")
		<-p.Ended
	})
}

// One download for all, and each who waited is told once how it ended, whenever
// it comes; only then it may begin another one.
func TestEveryWaiterIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute")
		s := srv.store()
		a := srv.artifact("mute", "a")
		waiters := []string{"a", "b", "c"}
		var p *Pending
		for range 2 {
			for _, w := range waiters {
				p = pending(t, s, a, w)
			}
		}
		<-p.Ended
		identify := func(waiter string) error { _, _, err := s.Identify(t.Context(), a, waiter); return err }
		for _, w := range waiters {
			if err := identify(w); err == nil || err.Error() != "artifact cannot be downloaded: GET http://mute/a was not answered within 30s" {
				t.Errorf("%s is told: %v", w, err)
			}
			time.Sleep(10 * time.Second)
		}
		if n := srv.requests("mute"); n != 1 {
			t.Fatalf("%d downloads, want one", n)
		}
		// Told, they try again, together.
		for _, w := range waiters {
			p = pending(t, s, a, w)
		}
		srv.speak("mute")
		<-p.Ended
		for _, w := range waiters {
			if err := identify(w); err != nil {
				t.Errorf("%s: %v", w, err)
			}
		}
		if n := srv.requests("mute"); n != 2 {
			t.Errorf("%d downloads, want a second one", n)
		}
	})
}

// Who does not come back, or wants something else by then, keeps nothing alive.
func TestTicketsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute", "other")
		s := NewStore(&http.Client{Transport: srv, Timeout: time.Hour}, megabyte)
		gone := pending(t, s, srv.artifact("mute", "a"), "gone")
		_ = pending(t, s, srv.artifact("mute", "a"), "changed")
		changed := pending(t, s, srv.artifact("other", "b"), "changed")
		srv.speak("mute")
		<-gone.Ended
		synctest.Wait()
		time.Sleep(remembered)
		synctest.Wait()
		s.mu.Lock()
		if len(s.tickets) != 1 || s.tickets["changed"].artifact.URL != "http://other/b" {
			t.Errorf("tickets are left: %v", s.tickets)
		}
		s.mu.Unlock()
		srv.speak("other")
		<-changed.Ended
		if _, a, err := s.Identify(t.Context(), srv.artifact("elsewhere", "c"), "changed"); err != nil || a.Fetched() {
			t.Errorf("what was waited for is given to somebody who wants something else: %v", err)
		}
	})
}

// A body that never ends is bounded like an answer that never begins.
func TestTimeoutBoundsTheBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(&http.Client{Transport: drip{}, Timeout: time.Minute}, megabyte)
		begun := time.Now()
		p := pending(t, s, Artifact{URL: "http://mute/a", Digest: digest.FromString("never").String()}, "app")
		<-p.Ended
		if took := time.Since(begun); took > time.Minute+time.Second {
			t.Errorf("it took %s", took)
		}
		_, _, err := s.Identify(t.Context(), Artifact{URL: "http://mute/a", Digest: digest.FromString("never").String()}, "app")
		if err == nil || !strings.Contains(err.Error(), "broke off") {
			t.Errorf("it ends with %v", err)
		}
	})
}

// panicking breaks while an answer is read, as a parser of strange bytes may.
type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(reader(func([]byte) (int, error) { panic("strange bytes") }))}, nil
}

// A download runs on its own, where nobody else would catch a panic.
func TestPanicEndsTheDownloadOnly(t *testing.T) {
	t.Parallel()
	s := NewStore(&http.Client{Transport: panicking{}}, megabyte).WithGrace(time.Minute)
	for range perHost + 1 {
		_, _, err := s.Identify(t.Context(), Artifact{URL: "http://strange/a", Digest: digest.FromString("strange").String()}, "app")
		if err == nil || !strings.Contains(err.Error(), "chart in http://strange/a cannot be read: strange bytes") {
			t.Errorf("it ends with %v", err)
		}
	}
}

// drip sends a byte every second, for ever.
type drip struct{}

func (drip) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(reader(func(p []byte) (int, error) {
		select {
		case <-time.After(time.Second):
			return copy(p, "x"), nil
		case <-req.Context().Done():
			return 0, req.Context().Err()
		}
	}))}, nil
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// A store that keeps nothing downloads once for an action, not twice: what was
// downloaded to see what it is, is at hand.
func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"))
		s := srv.store().WithCacheLimit(0)
		act := func(waiter string) {
			t.Helper()
			_, a, err := s.Identify(t.Context(), srv.artifact("well", "a"), waiter)
			if err != nil {
				t.Fatal(err)
			}
			if a, err = s.Fetch(t.Context(), a, waiter); err != nil || !a.Fetched() {
				t.Fatalf("held: %t, %v", a.Fetched(), err)
			}
			if c, err := s.Load(t.Context(), a); err != nil || c.Name() != "note" {
				t.Fatalf("%v, %v", c, err)
			}
		}
		act("first")
		if n := srv.requests("well"); n != 1 {
			t.Errorf("%d downloads for the first action", n)
		}
		// The identity is known by now, and the bytes are needed all the same.
		act("second")
		if n := srv.requests("well"); n != 2 || s.cache.bytesHeld+s.cache.parsedHeld != 0 {
			t.Errorf("%d downloads for two actions, and %d bytes kept", n, s.cache.bytesHeld)
		}
	})
}

// What was parsed to see what it is, is not parsed again for the action that
// follows; and kept only if one does.
func TestHoldKeepsWhatIsParsed(t *testing.T) {
	t.Parallel()
	srv := newServer(pack(t, "note", "1.2.3"))
	s := srv.store().WithGrace(time.Minute)
	_, a, err := s.Identify(t.Context(), srv.artifact("well", "a"), "app")
	if err != nil || s.cache.parsed.Len() != 0 {
		t.Fatalf("%d kept before anybody acts, %v", s.cache.parsed.Len(), err)
	}
	if _, err := s.Fetch(t.Context(), a, "app"); err != nil || s.cache.parsed.Len() != 1 {
		t.Errorf("%d kept for the action, %v", s.cache.parsed.Len(), err)
	}
}

// To hold the bytes of a chart that is known takes no longer than to identify
// one, and how it failed is told just so.
func TestHoldPends(t *testing.T) {
	t.Parallel()
	for path, gone := range map[string]bool{"a": false, "gone": true} {
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(pack(t, "note", "1.2.3"), "mute")
			s := srv.store().WithCacheLimit(0)
			if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "other"); err != nil {
				t.Fatal(err)
			}
			hold := func() (Artifact, error) {
				_, a, err := s.Identify(t.Context(), srv.artifact("mute", path), "app")
				if err != nil {
					t.Fatalf("what is known needs no server: %v", err)
				}
				return s.Fetch(t.Context(), a, "app")
			}
			_, err := hold()
			var p *Pending
			if !errors.As(err, &p) {
				t.Fatalf("want to be told to come back: %v", err)
			}
			// A visit meanwhile changes nothing.
			if _, err := hold(); !errors.As(err, &p) {
				t.Fatalf("want to be told to come back: %v", err)
			}
			srv.speak("mute")
			<-p.Ended
			a, err := hold()
			if errors.Is(err, ErrNotFound) != gone || a.Fetched() == gone || srv.requests("mute") != 1 {
				t.Errorf("held: %t after %d downloads, %v", a.Fetched(), srv.requests("mute"), err)
			}
		})
	}
}

// A no-op visit needs to know what the artifact is, and nothing of it.
func TestIdentifyTouchesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"))
		s := srv.store()
		if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "app"); err != nil {
			t.Fatal(err)
		}
		s.cache = &cache{identities: s.cache.identities, bytes: newCache(0).bytes, parsed: newCache(0).parsed}
		for i := range 3 {
			id, a, err := s.Identify(t.Context(), srv.artifact("well", "a"), fmt.Sprint(i))
			if err != nil || id.Name != "note" || a.Fetched() {
				t.Errorf("%+v, held: %t, %v", id, a.Fetched(), err)
			}
		}
		if n := srv.requests("well"); n != 1 {
			t.Errorf("%d downloads", n)
		}
	})
}
