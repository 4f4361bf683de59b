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

// lease is a lock that does what it is told.
type lease struct {
	resourcelock.Interface

	holder string
	err    error
	// takes is how long a write of it takes.
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

// server answers when it is told to.
type server struct {
	sent   []string
	answer chan struct{}
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.sent = append(s.sent, req.Method+" "+req.URL.Path)
	<-s.answer
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// world is a fence around lease, with a server behind it that answers at once.
type world struct {
	*Fence
	lease  *lease
	server *server
	losses int
}

func newWorld() *world {
	w := &world{lease: &lease{}, server: &server{answer: make(chan struct{})}}
	close(w.server.answer)
	w.Fence = New(w.lease, limit, time.Now, func() { w.losses++ })
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

// begin sends a write, and returns whether it has been sent by now, and what comes of it.
func (w *world) begin(t *testing.T) (bool, <-chan error) {
	t.Helper()
	before, end := len(w.server.sent), make(chan error, 1)
	go func() { end <- w.send(t.Context(), http.MethodPut, secret) }()
	synctest.Wait()
	return len(w.server.sent) > before, end
}

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
			t.Error("an error got lost")
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

// TestWritesWaitForARenewal: what counts is when a renewal was sent, not answered.
func TestWritesWaitForARenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.lease.takes = 3 * time.Second
		w.renew(t)
		w.lease.takes = 0
		time.Sleep(limit - 3*time.Second - 1)
		if sent, _ := w.begin(t); !sent {
			t.Error("a write waits although the lease is held for certain")
		}
		time.Sleep(time.Nanosecond)
		sent, end := w.begin(t)
		if sent {
			t.Error("a write was sent although somebody else may hold the lease")
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

func TestWaitEndsWithRequest(t *testing.T) {
	t.Parallel()
	w := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.send(ctx, http.MethodPut, secret); !errors.Is(err, context.Canceled) || len(w.server.sent) > 0 {
		t.Errorf("a request nobody waits for ended with %v, sent %v", err, w.server.sent)
	}
}

func TestWhatPassesAnyway(t *testing.T) {
	t.Parallel()
	for what, pass := range map[string]bool{
		"GET " + secret: true, "HEAD " + secret: true, "OPTIONS " + secret: true,
		"POST /api/v1/namespaces/n/events": true, "PATCH /api/v1/namespaces/n/events/e": true,
		"POST /apis/events.k8s.io/v1/namespaces/n/events": true,
		"PUT " + secret:                          false,
		"POST /api/v1/namespaces/events/secrets": false,
		"DELETE /api/v1/namespaces/events":       false,
		"PATCH /api/v1/nodes/events":             false,
	} {
		w := newWorld()
		w.close()
		method, path, _ := strings.Cut(what, " ")
		err := w.send(t.Context(), method, path)
		if pass && err != nil || !pass && !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want it to pass: %v", what, err, pass)
		}
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		look := func(holder string) {
			t.Helper()
			w.lease.holder = holder
			if _, _, err := w.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		look(them)
		if w.losses != 0 {
			t.Error("what was never held was lost")
		}
		w.renew(t)
		look(us)
		if w.losses != 0 {
			t.Error("what is held was lost")
		}
		time.Sleep(limit)
		_, end := w.begin(t)
		look(them)
		if w.losses != 1 {
			t.Errorf("the loss was told %d times", w.losses)
		}
		if err := <-end; !errors.Is(err, ErrClosed) {
			t.Errorf("a write that waited ended with %v", err)
		}
		look(them)
		if w.losses != 1 {
			t.Errorf("the loss was told %d times", w.losses)
		}
		w.renew(t)
		if err := w.send(t.Context(), http.MethodPut, secret); !errors.Is(err, ErrClosed) {
			t.Errorf("after the loss, a write ended with %v", err)
		}
	})
}

// TestGivenAway: the lease goes only when no write is on its way, and none follows.
func TestGivenAway(t *testing.T) {
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
			t.Errorf("with a write on its way, the lease was given to %q, %v", w.lease.holder, err)
		}
		given := make(chan error, 1)
		go func() { given <- w.Update(t.Context(), resourcelock.LeaderElectionRecord{}) }()
		synctest.Wait()
		if w.lease.holder != us {
			t.Error("the lease did not wait for a write")
		}
		close(w.server.answer)
		if err := errors.Join(<-end, <-given); err != nil || w.lease.holder != "" {
			t.Errorf("the lease was not given away: %v, it is of %q", err, w.lease.holder)
		}
		if err := w.send(t.Context(), http.MethodPut, secret); !errors.Is(err, ErrClosed) {
			t.Errorf("a write after that ended with %v", err)
		}
		if _, _, err := w.Get(t.Context()); err != nil || w.losses != 0 {
			t.Errorf("what was given away was lost: %d times, %v", w.losses, err)
		}
	})
}
