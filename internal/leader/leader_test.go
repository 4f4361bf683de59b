// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	us, them = "us", "them"
	limit    = 10 * time.Second
)

// lease is a lock whose results tests set.
type lease struct {
	resourcelock.Interface

	holder string
	err    error
	// takes is how long a write of the lock takes.
	takes time.Duration
}

func (l *lease) Identity() string { return us }

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.err
}

func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *lease) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.takes)
	if l.err == nil {
		l.holder = r.HolderIdentity
	}
	return l.err
}

// server answers requests once answer is closed.
type server struct {
	sent   []string
	answer chan struct{}
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.sent = append(s.sent, req.Method+" "+req.URL.Path)
	<-s.answer
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// world is a fence around a lease in front of a server that answers at once.
type world struct {
	*Fence
	lease  *lease
	server *server
	losses int
}

func newWorld() *world {
	w := &world{lease: &lease{}, server: &server{answer: make(chan struct{})}}
	close(w.server.answer)
	w.Fence = New(w.lease, Options{Limit: limit, Now: time.Now, Lost: func() { w.losses++ }})
	return w
}

func (w *world) renew(t *testing.T) {
	t.Helper()
	if err := w.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: us}); err != nil {
		t.Fatal(err)
	}
}

// send sends a request through the fence.
func (w *world) send(ctx context.Context, method, path string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://h"+path, io.NopCloser(strings.NewReader("content")))
	if err != nil {
		return err
	}
	resp, err := w.Guard(w.server).RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

const secret = "/api/v1/namespaces/n/secrets/s"

// begin sends a write. It returns whether the fence has let it pass, and its result.
func (w *world) begin(t *testing.T) (bool, <-chan error) {
	t.Helper()
	before, end := len(w.server.sent), make(chan error, 1)
	go func() { end <- w.send(t.Context(), http.MethodPut, secret) }()
	synctest.Wait()
	return len(w.server.sent) > before, end
}

// TestWritesWaitForTheLease: no write is sent before the lease is acquired.
func TestWritesWaitForTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		sent, end := w.begin(t)
		if sent {
			t.Fatal("a write was sent before the lease was held")
		}
		w.lease.err = errors.New("no")
		if err := w.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: us}); err == nil {
			t.Error("Create returned no error")
		}
		synctest.Wait()
		if len(w.server.sent) > 0 {
			t.Error("a write was sent although the lease could not be created")
		}
		w.lease.err = nil
		if err := w.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: us}); err != nil {
			t.Fatal(err)
		}
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

// TestWritesWaitForARenewal: the fence counts from when a renewal was sent, not answered.
func TestWritesWaitForARenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.lease.takes = 3 * time.Second
		w.renew(t)
		w.lease.takes = 0
		time.Sleep(limit - 3*time.Second - 1)
		if sent, _ := w.begin(t); !sent {
			t.Error("a write waits although the lease is held")
		}
		time.Sleep(time.Nanosecond)
		sent, end := w.begin(t)
		if sent {
			t.Error("a write was sent although another replica may hold the lease")
		}
		w.lease.err = errors.New("no")
		_ = w.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: us})
		synctest.Wait()
		if len(w.server.sent) > 1 {
			t.Error("a write was sent although the lease was not renewed")
		}
		w.lease.err = nil
		w.renew(t)
		if err := <-end; err != nil {
			t.Errorf("a write that waited failed: %v", err)
		}
	})
}

// TestWaitEndsWithRequest: a canceled write does not wait.
func TestWaitEndsWithRequest(t *testing.T) {
	t.Parallel()
	w := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.send(ctx, http.MethodPut, secret); !errors.Is(err, context.Canceled) || len(w.server.sent) > 0 {
		t.Errorf("a canceled request ended with %v, sent %v", err, w.server.sent)
	}
}

// TestUnfenced: reads, dry runs and events pass a closed fence.
func TestUnfenced(t *testing.T) {
	t.Parallel()
	for request, pass := range map[string]bool{
		"GET " + secret: true, "HEAD " + secret: true, "OPTIONS " + secret: true,
		"POST /api/v1/namespaces/n/events": true, "PATCH /api/v1/namespaces/n/events/e": true,
		"POST /apis/events.k8s.io/v1/namespaces/n/events": true,
		"PATCH " + secret + "?fieldManager=a&dryRun=All":  true, "POST " + secret + "?dryRun=All": true,
		"PUT " + secret:                          false,
		"PUT " + secret + "?dryRun=":             false,
		"PUT " + secret + "?dryRun=All&dryRun=":  false,
		"POST /api/v1/namespaces/events/secrets": false,
		"DELETE /api/v1/namespaces/events":       false,
		"PATCH /api/v1/nodes/events":             false,
	} {
		w := newWorld()
		w.close()
		method, path, _ := strings.Cut(request, " ")
		err := w.send(t.Context(), method, path)
		if pass && err != nil || !pass && !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want it to pass: %v", request, err, pass)
		}
	}
}

// TestLost: a lease that another replica holds is lost, which is reported once.
func TestLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		read := func(holder string) {
			t.Helper()
			w.lease.holder = holder
			if _, _, err := w.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		read(them)
		if w.losses != 0 {
			t.Error("a lease that was not held was lost")
		}
		w.renew(t)
		read(us)
		if w.losses != 0 {
			t.Error("a lease that is held was lost")
		}
		time.Sleep(limit)
		_, end := w.begin(t)
		read(them)
		if w.losses != 1 {
			t.Errorf("the loss was reported %d times", w.losses)
		}
		if err := <-end; !errors.Is(err, ErrClosed) {
			t.Errorf("a write that waited ended with %v", err)
		}
		read(them)
		if w.losses != 1 {
			t.Errorf("the loss was reported %d times", w.losses)
		}
		w.renew(t)
		if err := w.send(t.Context(), http.MethodPut, secret); !errors.Is(err, ErrClosed) {
			t.Errorf("after the loss, a write ended with %v", err)
		}
	})
}

// TestReleased: the lease is released when no write is in flight, and none is sent afterwards.
func TestReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.renew(t)
		w.server.answer = make(chan struct{})
		sent, end := w.begin(t)
		if !sent {
			t.Fatal("a write was not sent")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Update(ctx, resourcelock.LeaderElectionRecord{}); !errors.Is(err, context.DeadlineExceeded) || w.lease.holder != us {
			t.Errorf("with a write in flight the lease has holder %q, %v", w.lease.holder, err)
		}
		released := make(chan error, 1)
		go func() { released <- w.Update(t.Context(), resourcelock.LeaderElectionRecord{}) }()
		synctest.Wait()
		if w.lease.holder != us {
			t.Error("the lease was released before a write was answered")
		}
		close(w.server.answer)
		if err := errors.Join(<-end, <-released); err != nil || w.lease.holder != "" {
			t.Errorf("the lease was not released: %v, its holder is %q", err, w.lease.holder)
		}
		if err := w.send(t.Context(), http.MethodPut, secret); !errors.Is(err, ErrClosed) {
			t.Errorf("a write after that ended with %v", err)
		}
		if _, _, err := w.Get(t.Context()); err != nil || w.losses != 0 {
			t.Errorf("a released lease was lost: %d times, %v", w.losses, err)
		}
	})
}
