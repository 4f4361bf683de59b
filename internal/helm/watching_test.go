// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// change is one thing that happened to an object.
type change struct {
	version int
	path    string
	event   []byte
}

// watching is a watch that somebody reads. Nothing but the reader runs for it.
type watching struct {
	prefix string
	// from is the version after which events are sent.
	from   int
	ctx    context.Context
	events chan []byte
	closed chan struct{}
	rest   []byte
}

// Read implements io.Reader.
func (w *watching) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		select {
		case w.rest = <-w.events:
		case <-w.closed:
			return 0, io.EOF
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (w *watching) Close() error { return nil }

// watch answers a request to watch; nil means that rec holds the answer.
func (w *world) watch(rec *httptest.ResponseRecorder, req *http.Request) *http.Response {
	path := req.URL.Path
	w.reads = append(w.reads, "WATCH "+path)
	if !w.watchable {
		fail(rec, http.StatusForbidden, "Forbidden")
		return nil
	}
	if w.refuse != nil {
		if code := w.refuse("WATCH", path); code != 0 {
			fail(rec, code, "refused by the test")
			return nil
		}
	}
	from, err := strconv.Atoi(req.URL.Query().Get("resourceVersion"))
	if err != nil || req.URL.Query().Get("labelSelector") == "" {
		w.t.Errorf("watch of %s: %v, selected by %q", path, err, req.URL.Query().Get("labelSelector"))
	}
	s := &watching{prefix: path + "/", from: from, ctx: req.Context(), events: make(chan []byte, 1000), closed: make(chan struct{})}
	if from < w.oldest {
		s.events <- []byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}` + "\n")
	} else {
		w.watches = append(w.watches, s)
		for _, c := range w.log {
			if !w.lags || c.version <= w.delivered {
				s.send(c)
			}
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: s, Request: req,
	}
}

// read notes that an object is read.
func (w *world) read(req *http.Request) {
	if req.Method == http.MethodGet {
		w.reads = append(w.reads, "GET "+req.URL.Path)
	}
}

// store keeps an object and tells who watches.
func (w *world) store(path string, object map[string]any) {
	kind := "MODIFIED"
	if _, exists := w.objects[path]; !exists {
		kind = "ADDED"
	}
	w.objects[path] = object
	w.tell(kind, path, object)
}

// remove deletes an object and tells who watches.
func (w *world) remove(path string) {
	object := w.objects[path]
	delete(w.objects, path)
	w.tell("DELETED", path, object)
}

func (w *world) tell(kind, path string, object map[string]any) {
	if !w.watchable {
		return
	}
	version := len(w.log) + 1
	(&unstructured.Unstructured{Object: object}).SetResourceVersion(strconv.Itoa(version))
	event, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		w.t.Error(err)
	}
	event = append(event, '\n')
	w.log = append(w.log, change{version: version, path: path, event: event})
	if !w.lags {
		w.deliver()
	}
}

// deliver sends the oldest event that was not sent yet, and reports whether there was one.
func (w *world) deliver() bool {
	if w.delivered == len(w.log) {
		return false
	}
	for _, s := range w.watches {
		if s.ctx.Err() == nil {
			s.send(w.log[w.delivered])
		}
	}
	w.delivered++
	return true
}

// send queues an event for the reader, if the watch is about it.
func (w *watching) send(c change) {
	if c.version > w.from && strings.HasPrefix(c.path, w.prefix) {
		w.events <- c.event
	}
}

// hangUp ends all watches; if all is forgotten, none can go on from what is older
// than the newest version.
func (w *world) hangUp(forget bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.watches {
		if s.ctx.Err() == nil {
			close(s.closed)
		}
	}
	w.watches = nil
	if forget {
		w.oldest = len(w.log)
	}
}

// open counts the watches that somebody reads.
func (w *world) open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.watches {
		if s.ctx.Err() == nil {
			n++
		}
	}
	return n
}

// asked returns what was read since the last time, and forgets it.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	reads := w.reads
	w.reads = nil
	return reads
}

// change changes an object and tells who watches.
func (w *world) change(path string, edit func(object *unstructured.Unstructured)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := (&unstructured.Unstructured{Object: w.objects[path]}).DeepCopy()
	edit(u)
	w.store(path, u.Object)
}

// vanish removes an object as somebody else would.
func (w *world) vanish(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(path)
}
