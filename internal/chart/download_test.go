// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
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

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// The times in this file are those of synctest's clock, and exact.

// server is a transport on which some hosts or paths do not respond. It counts the requests to each
// host, and the maximum of concurrent ones.
type server struct {
	data []byte

	mu             sync.Mutex
	silent         map[string]chan struct{}
	total, at, max map[string]int
}

func newServer(data []byte, silent ...string) *server {
	s := &server{data: data, silent: map[string]chan struct{}{}, total: map[string]int{}, at: map[string]int{}, max: map[string]int{}}
	for _, host := range silent {
		s.silent[host] = make(chan struct{})
	}
	return s
}

// open lets a silent host respond to all requests.
func (s *server) open(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.silent[host])
	delete(s.silent, host)
}

func (s *server) requests(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total[host]
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	s.mu.Lock()
	silent := s.silent[host]
	if silent == nil {
		silent = s.silent[host+req.URL.Path]
	}
	s.total[host]++
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

func (s *server) store() *Store { return s.storeWith(Options{}) }

func (s *server) storeWith(o Options) *Store {
	o.Client, o.MaxBytes = &http.Client{Transport: s, Timeout: 30 * time.Second}, megabyte
	o.Workers = workers()
	return NewStore(o)
}

func (s *server) artifact(host, path string) Artifact {
	return Artifact{URL: "http://" + host + "/" + path, Digest: digest.FromBytes(s.data).String()}
}

// pending calls Identify and requires a Pending.
func pending(t *testing.T, s *Store, a Artifact, waiter string) *Pending {
	t.Helper()
	_, _, err := s.Identify(t.Context(), a, waiter)
	var p *Pending
	if !errors.As(err, &p) {
		t.Fatalf("%s got %v, want a Pending", waiter, err)
	}
	return p
}

// TestSilentServerBlocksNoCaller: one caller waits for a server that does not respond, for the
// grace. Others do not wait, and other servers are not affected.
func TestSilentServerBlocksNoCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute")
		s := srv.store()
		begun := time.Now()
		p := pending(t, s, srv.artifact("mute", "a"), "first")
		if waited := time.Since(begun); waited != DefaultGrace || p.Slow || p.URL != "http://mute/a" {
			t.Errorf("the first waited for %s and got %+v", waited, p)
		}
		// Callers do not wait for this server again, whatever the artifact.
		_ = pending(t, s, srv.artifact("mute", "a"), "second")
		for i := range 100 {
			_ = pending(t, s, srv.artifact("mute", fmt.Sprint(i)), fmt.Sprint("other", i))
		}
		if waited := time.Since(begun); waited != DefaultGrace {
			t.Errorf("the others waited for %s more", waited-DefaultGrace)
		}
		synctest.Wait()
		// Callers wait for a healthy server.
		if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "well"); err != nil {
			t.Errorf("another server: %v", err)
		}
		synctest.Wait()
		if srv.max["mute"] != downloadsPerHost || srv.requests("well") != 1 {
			t.Errorf("%d connections to the silent server, want %d", srv.max["mute"], downloadsPerHost)
		}
		srv.open("mute")
		<-p.Ended
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.running)+len(s.hosts) > 0 {
			t.Errorf("downloads that have ended are left: %v, %v", s.running, s.hosts)
		}
	})
}

// TestChartsThatAreRead: charts that take long to read delay no download from their server, and are
// read for their tenant.
func TestChartsThatAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"))
		s, tenants := srv.storeWith(Options{NoCache: true}), make(chan string, downloadsPerHost+1)
		end := make(chan struct{})
		s.charts = remote.New(calledBack(func(c worker.Call) { tenants <- c.Tenant; <-end }))
		for i := range downloadsPerHost + 1 {
			a := srv.artifact("well", fmt.Sprint(i))
			a.Tenant = "prod"
			_ = pending(t, s, a, fmt.Sprint(i))
		}
		synctest.Wait()
		if n := len(tenants); n != downloadsPerHost+1 || <-tenants != "prod" {
			t.Errorf("%d charts are read", n)
		}
		if most := srv.requests("well"); most != downloadsPerHost+1 {
			t.Errorf("%d downloads", most)
		}
		close(end)
	})
}

// TestCachedArchiveIsRead: an archive that is cached without its facts is read in the background, and
// not downloaded again. The facts of a result need no cache.
func TestCachedArchiveIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"))
		s := srv.store()
		alive := s.charts
		s.charts = remote.New(calledBack(func(worker.Call) {}))
		if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "app"); err == nil {
			t.Fatal("the chart was read")
		}
		s.charts = remote.New(calledBack(func(worker.Call) { time.Sleep(time.Minute) }))
		p := pending(t, s, srv.artifact("well", "a"), "app")
		<-p.Ended
		s.charts = alive
		if id, _, err := s.Identify(t.Context(), srv.artifact("well", "b"), "app"); err != nil || id.Name != "note" || srv.requests("well") != 1 {
			t.Errorf("%v, %v, %d downloads", id, err, srv.requests("well"))
		}
		facts := remote.Facts{Name: "known"}
		s.cache = newCache(0)
		s.charts = remote.New(calledBack(func(worker.Call) { t.Error("it is read again") }))
		a := Artifact{Digest: "other", result: &result{facts: &facts}}
		if got, err := s.Facts(t.Context(), a); err != nil || got != facts {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// calledBack is a worker that calls a function, and is not available then.
type calledBack func(worker.Call)

func (f calledBack) Call(_ context.Context, c worker.Call, _ worker.Answer) ([]byte, error) {
	f(c)
	return nil, &worker.Unavailable{}
}

// TestServerThatWasLate: callers wait for a server again after its late downloads have ended.
func TestServerThatWasLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "slow/a", "slow/b", "slow/c")
		s := srv.store()
		begun := time.Now()
		a := pending(t, s, srv.artifact("slow", "a"), "a")
		b := pending(t, s, srv.artifact("slow", "b"), "b")
		if waited := time.Since(begun); waited != DefaultGrace {
			t.Errorf("both waited for %s", waited)
		}
		srv.open("slow/a")
		<-a.Ended
		begun = time.Now()
		other := srv.artifact("slow", "c")
		other.Digest = digest.FromString("c").String()
		c := pending(t, s, other, "c")
		if waited := time.Since(begun); waited != DefaultGrace {
			t.Errorf("the next one waited for %s", waited)
		}
		srv.open("slow/b")
		srv.open("slow/c")
		<-b.Ended
		<-c.Ended
	})
}

// TestSlowDownload: a Pending becomes slow after SlowAfter, and contains no password.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute")
		s := srv.store()
		p := pending(t, s, Artifact{URL: "http://me:hunter22@mute/a", Digest: srv.artifact("", "").Digest}, "app")
		if strings.Contains(p.Error(), "hunter22") {
			t.Errorf("the error contains a password: %s", p.Error())
		}
		time.Sleep(SlowAfter)
		synctest.Wait()
		if p := pending(t, s, Artifact{URL: "http://me:hunter22@mute/a", Digest: srv.artifact("", "").Digest}, "app"); !p.Slow {
			t.Errorf("after %s it is not slow", SlowAfter)
		}
		srv.open("mute")
		<-p.Ended
	})
}

// TestEveryWaiterGetsTheResultOnce: callers share one download. Each gets its result once, and
// starts another download only afterwards.
func TestEveryWaiterGetsTheResultOnce(t *testing.T) {
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
				t.Errorf("%s got %v", w, err)
			}
			time.Sleep(10 * time.Second)
		}
		if n := srv.requests("mute"); n != 1 {
			t.Fatalf("%d downloads, want one", n)
		}
		// After the result, they start another download together.
		for _, w := range waiters {
			p = pending(t, s, a, w)
		}
		srv.open("mute")
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

// TestWaitersAreDropped: results that a waiter does not take are dropped, and a waiter for another
// artifact does not get them.
func TestWaitersAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"), "mute", "other")
		s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: srv, Timeout: time.Hour}, MaxBytes: megabyte})
		gone := pending(t, s, srv.artifact("mute", "a"), "gone")
		_ = pending(t, s, srv.artifact("mute", "a"), "changed")
		changed := pending(t, s, srv.artifact("other", "b"), "changed")
		srv.open("mute")
		<-gone.Ended
		synctest.Wait()
		time.Sleep(resultTTL)
		synctest.Wait()
		s.mu.Lock()
		if len(s.waiting) != 1 || s.waiting["changed"].artifact.URL != "http://other/b" {
			t.Errorf("waiters are left: %v", s.waiting)
		}
		s.mu.Unlock()
		srv.open("other")
		<-changed.Ended
		if _, a, err := s.Identify(t.Context(), srv.artifact("elsewhere", "c"), "changed"); err != nil || a.Fetched() {
			t.Errorf("a waiter got the result of another artifact: %v", err)
		}
	})
}

// TestTimeoutBoundsTheBody: the timeout ends a download whose body does not end.
func TestTimeoutBoundsTheBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: drip{}, Timeout: time.Minute}, MaxBytes: megabyte})
		begun := time.Now()
		p := pending(t, s, Artifact{URL: "http://mute/a", Digest: digest.FromString("never").String()}, "app")
		<-p.Ended
		if took := time.Since(begun); took > time.Minute+time.Second {
			t.Errorf("it took %s", took)
		}
		_, _, err := s.Identify(t.Context(), Artifact{URL: "http://mute/a", Digest: digest.FromString("never").String()}, "app")
		if err == nil || !strings.Contains(err.Error(), "was not received completely") {
			t.Errorf("the error is %v", err)
		}
	})
}

// panicking is a transport that panics while a body is read, as a parser may.
type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(reader(func([]byte) (int, error) { panic("strange bytes") }))}, nil
}

// TestPanicEndsTheDownloadOnly: a panic in a download becomes an error.
func TestPanicEndsTheDownloadOnly(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: panicking{}}, MaxBytes: megabyte, Grace: time.Minute})
	for range downloadsPerHost + 1 {
		_, _, err := s.Identify(t.Context(), Artifact{URL: "http://strange/a", Digest: digest.FromString("strange").String()}, "app")
		if err == nil || !strings.Contains(err.Error(), "chart in http://strange/a cannot be read: strange bytes") {
			t.Errorf("the error is %v", err)
		}
	}
}

// drip is a transport whose body yields one byte a second and does not end.
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

// TestFetch: Fetch returns the bytes that Identify has downloaded, even if the store caches
// nothing.
func TestFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"))
		s := srv.storeWith(Options{NoCache: true})
		act := func(waiter string) {
			t.Helper()
			_, a, err := s.Identify(t.Context(), srv.artifact("well", "a"), waiter)
			if err != nil {
				t.Fatal(err)
			}
			if a, err = s.Fetch(t.Context(), a, waiter); err != nil || !a.Fetched() {
				t.Fatalf("fetched: %t, %v", a.Fetched(), err)
			}
			if archive, err := s.Load(t.Context(), a); err != nil || len(archive) == 0 {
				t.Fatalf("%d bytes, %v", len(archive), err)
			}
		}
		act("first")
		if n := srv.requests("well"); n != 1 {
			t.Errorf("%d downloads for the first action", n)
		}
		// The identity is cached now, but the bytes are not.
		act("second")
		if n := srv.requests("well"); n != 2 || s.cache.archiveBytes != 0 {
			t.Errorf("%d downloads for two actions, and %d bytes cached", n, s.cache.archiveBytes)
		}
	})
}

// TestFetchPending: Fetch returns a Pending during a download, and its result or error afterwards.
func TestFetchPending(t *testing.T) {
	t.Parallel()
	for path, gone := range map[string]bool{"a": false, "gone": true} {
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(pack(t, "note", "1.2.3"), "mute")
			s := srv.storeWith(Options{NoCache: true})
			if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "other"); err != nil {
				t.Fatal(err)
			}
			fetch := func() (Artifact, error) {
				_, a, err := s.Identify(t.Context(), srv.artifact("mute", path), "app")
				if err != nil {
					t.Fatalf("a cached identity needs no server: %v", err)
				}
				return s.Fetch(t.Context(), a, "app")
			}
			_, err := fetch()
			var p *Pending
			if !errors.As(err, &p) {
				t.Fatalf("want a Pending, got %v", err)
			}
			// Another call during the download changes nothing.
			if _, err := fetch(); !errors.As(err, &p) {
				t.Fatalf("want a Pending, got %v", err)
			}
			srv.open("mute")
			<-p.Ended
			a, err := fetch()
			if errors.Is(err, ErrNotFound) != gone || a.Fetched() == gone || srv.requests("mute") != 1 {
				t.Errorf("fetched: %t after %d downloads, %v", a.Fetched(), srv.requests("mute"), err)
			}
		})
	}
}

// TestIdentifyNeedsNoBytes: a cached identity needs neither a download nor cached bytes.
func TestIdentifyNeedsNoBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(pack(t, "note", "1.2.3"))
		s := srv.store()
		if _, _, err := s.Identify(t.Context(), srv.artifact("well", "a"), "app"); err != nil {
			t.Fatal(err)
		}
		s.cache.archives.Purge()
		for i := range 3 {
			id, a, err := s.Identify(t.Context(), srv.artifact("well", "a"), fmt.Sprint(i))
			if err != nil || id.Name != "note" || a.Fetched() {
				t.Errorf("%+v, fetched: %t, %v", id, a.Fetched(), err)
			}
		}
		if n := srv.requests("well"); n != 1 {
			t.Errorf("%d downloads", n)
		}
	})
}
