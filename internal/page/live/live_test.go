// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	releases   = schema.GroupVersionResource{Group: "helm", Version: "v2", Resource: "helmreleases"}
	operations = schema.GroupVersionResource{Group: "ops", Version: "v1", Resource: "operations"}
)

// release and operation are objects of two kinds.
type (
	release   struct{ metav1.PartialObjectMetadata }
	operation struct{ metav1.PartialObjectMetadata }
)

// informers are the informers of a test. The key is the type of an object.
type informers struct {
	mu    sync.Mutex
	kinds map[string]*informer
	err   error
}

// informer passes events to its handlers.
type informer struct {
	cache.Informer

	mu       sync.Mutex
	handlers []toolscache.ResourceEventHandler
}

// registration is the handle of a handler.
type registration struct {
	handler toolscache.ResourceEventHandler
}

func (registration) HasSynced() bool { return true }

func (registration) HasSyncedChecker() toolscache.DoneChecker { return nil }

func (i *informers) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return i.of(obj), i.err
}

func (i *informers) of(obj client.Object) *informer {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := fmt.Sprintf("%T", obj)
	if i.kinds == nil {
		i.kinds = map[string]*informer{}
	}
	if i.kinds[key] == nil {
		i.kinds[key] = &informer{}
	}
	return i.kinds[key]
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = append(i.handlers, h)
	return &registration{h}, nil
}

func (i *informer) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.handlers) != 1 {
		return errors.New("not one handler")
	}
	i.handlers = nil
	return nil
}

// each calls a function with each handler.
func (i *informer) each(do func(toolscache.ResourceEventHandler)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.handlers {
		do(h)
	}
}

// fixture is a hub in a synctest bubble.
type fixture struct {
	*Hub
	informers *informers
}

func newFixture() *fixture {
	i := &informers{}
	return &fixture{informers: i, Hub: New(i, []Kind{
		{Object: &release{}, Resource: releases, Path: "/releases/"},
		{Object: &operation{}, Resource: operations, Path: "/operations/"},
	}, time.Now)}
}

// update reports a new version of an object.
func (f *fixture) update(obj client.Object, key string) {
	namespace, name, _ := strings.Cut(key, "/")
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetResourceVersion("2")
	before := &metav1.PartialObjectMetadata{}
	before.SetResourceVersion("1")
	f.informers.of(obj).each(func(h toolscache.ResourceEventHandler) { h.OnUpdate(before, obj) })
}

// viewer is the client of a stream, and its response writer.
type viewer struct {
	mu     sync.Mutex
	header http.Header
	text   strings.Builder
	// read and write are the deadlines that are set.
	read, write *time.Time
	// bare is the number of writes without a deadline.
	bare int
	err  error
	// done is closed when the stream has ended.
	done chan struct{}
	stop context.CancelFunc
}

func (v *viewer) Header() http.Header { return v.header }

func (v *viewer) WriteHeader(int) {}

func (v *viewer) Write(text []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.write == nil || v.write.IsZero() {
		v.bare++
	}
	v.text.Write(text)
	return len(text), v.err
}

func (v *viewer) FlushError() error { return nil }

func (v *viewer) SetReadDeadline(t time.Time) error { v.read = &t; return nil }

func (v *viewer) SetWriteDeadline(t time.Time) error { v.write = &t; return nil }

// events returns the data of the events so far, one a line.
func (v *viewer) events() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines []string
	for line := range strings.Lines(v.text.String()) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			lines = append(lines, strings.TrimSpace(data))
		}
	}
	return strings.Join(lines, "\n")
}

// last returns the last ID so far.
func (v *viewer) last() (id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for line := range strings.Lines(v.text.String()) {
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(text)
		}
	}
	return id
}

func everything(context.Context, schema.GroupVersionResource, string) (bool, error) { return true, nil }

// connect starts a stream.
func (f *fixture) connect(t *testing.T, last string, may May) *viewer {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	v := &viewer{header: http.Header{}, done: make(chan struct{}), stop: stop}
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil)
	request.Header.Set("Last-Event-ID", last)
	go func() {
		defer close(v.done)
		v.err = f.Serve(v, request, may)
	}()
	synctest.Wait()
	return v
}

// leave ends a stream.
func (v *viewer) leave() {
	v.stop()
	<-v.done
}

// TestEvents: an event has the paths of changed objects that the user may get, and only those.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		all := f.connect(t, "", everything)
		some := f.connect(t, "", func(_ context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
			return resource == releases && namespace == "shop", nil
		})
		f.update(&release{}, "shop/cart")
		synctest.Wait()
		f.update(&release{}, "bank/vault")
		f.update(&release{}, "shop/till")
		f.update(&release{}, "shop/till")
		f.update(&operation{}, "shop/backup")
		time.Sleep(pause)
		synctest.Wait()
		if want := "[\"/releases/shop/cart\"]\n[\"/operations/shop/backup\",\"/releases/bank/vault\",\"/releases/shop/till\"]"; all.events() != want {
			t.Errorf("all: %s", all.events())
		}
		if want := "[\"/releases/shop/cart\"]\n[\"/releases/shop/till\"]"; some.events() != want {
			t.Errorf("some: %s", some.events())
		}
		f.update(&release{}, "bank/vault")
		before := some.text.Len()
		time.Sleep(2 * pause)
		synctest.Wait()
		if some.text.Len() != before {
			t.Errorf("a change that the user may not see is written: %s", some.text.String())
		}
		all.leave()
		some.leave()
	})
}

// TestIgnored: objects that exist and updates without a change are no changes. An added and a deleted
// one is.
func TestIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		v := f.connect(t, "", everything)
		obj := &release{}
		obj.SetNamespace("shop")
		obj.SetName("cart")
		report := func(do func(toolscache.ResourceEventHandler)) string {
			before := v.events()
			f.informers.of(obj).each(do)
			time.Sleep(pause)
			synctest.Wait()
			return strings.TrimSpace(strings.TrimPrefix(v.events(), before))
		}
		const path = `["/releases/shop/cart"]`
		for i, tc := range []struct {
			do   func(toolscache.ResourceEventHandler)
			want string
		}{
			{func(h toolscache.ResourceEventHandler) { h.OnAdd(obj, true) }, ""},
			{func(h toolscache.ResourceEventHandler) { h.OnUpdate(obj, obj) }, ""},
			{func(h toolscache.ResourceEventHandler) { h.OnAdd(obj, false) }, path},
			{func(h toolscache.ResourceEventHandler) { h.OnDelete(obj) }, path},
			{func(h toolscache.ResourceEventHandler) {
				h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "shop/cart"})
			}, path},
		} {
			if got := report(tc.do); got != tc.want {
				t.Errorf("%d: %q", i, got)
			}
		}
		v.leave()
	})
}

// TestCoalesced: there is at most one event a second, and it has a bounded number of paths.
func TestCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		v := f.connect(t, "", everything)
		for i := range 10 * maxNames {
			f.update(&release{}, fmt.Sprintf("shop/app-%d", i%(2*maxNames)))
			time.Sleep(pause / 100)
		}
		time.Sleep(pause)
		synctest.Wait()
		events := strings.Split(v.events(), "\n")
		if len(events) != 6 {
			t.Errorf("%d events in 5 seconds", len(events))
		}
		if !slices.Contains(events, `["/releases/shop/"]`) {
			t.Errorf("events: %v", events)
		}
		v.leave()
	})
}

// TestMissed: a client that connects again gets an event exactly if it may have missed a change.
func TestMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		v := f.connect(t, "", everything)
		f.update(&release{}, "shop/cart")
		synctest.Wait()
		v.leave()
		for _, tc := range []struct {
			name string
			away func()
			want string
		}{
			{"soon", func() { time.Sleep(retry) }, ""},
			{"after a change", func() { f.update(&release{}, "shop/cart") }, `["/"]`},
			{"after the handlers are gone", func() { time.Sleep(2 * linger); synctest.Wait() }, `["/"]`},
		} {
			tc.away()
			v = f.connect(t, v.last(), everything)
			if got := v.events(); got != tc.want {
				t.Errorf("%s: %q", tc.name, got)
			}
			v.leave()
		}
	})
}

// TestHandlers: informers have one handler while there are streams, and none some seconds after the
// last one.
func TestHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		count := func() (n int) {
			for _, obj := range []client.Object{&release{}, &operation{}} {
				f.informers.of(obj).each(func(toolscache.ResourceEventHandler) { n++ })
			}
			return n
		}
		if len(f.informers.kinds) != 0 {
			t.Error("informers are started without a stream")
		}
		a, b := f.connect(t, "", everything), f.connect(t, "", everything)
		if n := count(); n != 2 {
			t.Errorf("%d handlers with two streams", n)
		}
		a.leave()
		time.Sleep(2 * linger)
		if n := count(); n != 2 {
			t.Errorf("%d handlers with one stream", n)
		}
		b.leave()
		time.Sleep(linger / 2)
		c := f.connect(t, "", everything)
		time.Sleep(linger)
		if n := count(); n != 2 {
			t.Errorf("%d handlers with a new stream", n)
		}
		c.leave()
		time.Sleep(2 * linger)
		synctest.Wait()
		if n := count(); n != 0 || f.handlers != nil {
			t.Errorf("%d handlers after the last stream", n)
		}
	})
}

// TestInformerFails: a kind without an informer is an error, and leaves no handler.
func TestInformerFails(t *testing.T) {
	f := newFixture()
	f.informers.err = errors.New("no such kind")
	v := &viewer{header: http.Header{}}
	err := f.Serve(v, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil), everything)
	if err == nil || !strings.Contains(err.Error(), "informer of helmreleases: no such kind") || v.text.Len() > 0 {
		t.Errorf("error %v, written %q", err, v.text.String())
	}
	if len(f.streams) > 0 || f.handlers != nil {
		t.Errorf("streams %v, handlers %v", f.streams, f.handlers)
	}
}

// TestEnd: a stream is quiet but for heartbeats, and ends at its maximum age, when a client does not
// read, and when rights cannot be checked.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		begin := time.Now()
		v := f.connect(t, "", everything)
		<-v.done
		if age := time.Since(begin); age != maxAge || v.err != nil {
			t.Errorf("ended after %s: %v", age, v.err)
		}
		if n := strings.Count(v.text.String(), ": heartbeat\n"); n < 10 || n > 12 {
			t.Errorf("%d heartbeats", n)
		}
		if v.read == nil || !v.read.IsZero() || v.write == nil || !v.write.IsZero() || v.bare > 0 {
			t.Errorf("read deadline %v, write deadline %v, %d writes without one", v.read, v.write, v.bare)
		}

		v = f.connect(t, "", everything)
		v.mu.Lock()
		v.err = errors.New("gone")
		v.mu.Unlock()
		time.Sleep(heartbeat)
		<-v.done

		v = f.connect(t, "", func(context.Context, schema.GroupVersionResource, string) (bool, error) {
			return true, errors.New("no answer")
		})
		f.update(&release{}, "shop/cart")
		<-v.done
		if v.events() != "" {
			t.Errorf("events: %s", v.events())
		}
	})
}

// TestServer: events reach a client at once, and a stream ends with the context of the process.
func TestServer(t *testing.T) {
	f := newFixture()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f.Serve(w, r.WithContext(ctx), everything); err != nil {
			t.Error(err)
		}
	}))
	server.Start()
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type: %s", kind)
	}
	f.update(&release{}, "shop/cart")
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
	}
	if lines.Text() != `data: ["/releases/shop/cart"]` {
		t.Errorf("event: %q, %v", lines.Text(), lines.Err())
	}
	stop()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Errorf("end: %v", err)
	}
}
