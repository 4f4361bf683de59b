// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// watch answers a request to watch; nil means that rec holds the answer.
func (w *Server) watch(rec *httptest.ResponseRecorder, req *http.Request) *http.Response {
	path := req.URL.Path
	w.Reads = append(w.Reads, "WATCH "+path)
	if !w.Watchable {
		fail(rec, http.StatusForbidden, "Forbidden")
		return nil
	}
	if w.Refuse != nil {
		if code := w.Refuse("WATCH", path); code != 0 {
			fail(rec, code, "refused by the test")
			return nil
		}
	}
	if w.cluster != nil {
		return w.watchCluster(rec, req)
	}
	from, err := strconv.Atoi(req.URL.Query().Get("resourceVersion"))
	if err != nil || req.URL.Query().Get("labelSelector") == "" {
		w.t.Errorf("watch of %s: %v, selected by %q", path, err, req.URL.Query().Get("labelSelector"))
	}
	return w.begin(req, &watching{at: locate(path), from: from, events: make(chan []byte, 1000)})
}

// begin starts a watch.
func (w *Server) begin(req *http.Request, s *watching) *http.Response {
	s.ctx, s.closed, s.left = req.Context(), make(chan struct{}), make(chan struct{})
	if s.from < w.oldest {
		s.events <- []byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}` + "\n")
	} else {
		w.watches = append(w.watches, s)
		for _, c := range w.log {
			if !w.Lags || c.version <= w.delivered {
				s.send(c)
			}
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: s, Request: req,
	}
}

// read keeps a read.
func (w *Server) read(req *http.Request) {
	if req.Method == http.MethodGet {
		w.Reads = append(w.Reads, "GET "+req.URL.Path)
	}
}

// Store stores an object and notifies its watches. The caller holds Mu.
func (w *Server) Store(path string, object map[string]any) {
	kind := "MODIFIED"
	before, exists := w.Objects[path]
	if !exists {
		kind = "ADDED"
	}
	if w.cluster != nil && !w.cluster.admit(before, object) {
		w.Remove(path)
		return
	}
	w.Objects[path] = object
	w.notify(kind, path, object, before)
}

// Remove deletes an object and notifies its watches. The caller holds Mu.
func (w *Server) Remove(path string) {
	object := w.Objects[path]
	delete(w.Objects, path)
	before := object
	if w.cluster != nil {
		object = (&unstructured.Unstructured{Object: object}).DeepCopy().Object
	}
	w.notify("DELETED", path, object, before)
}

// Notify appends an event to the log. The caller holds Mu.
func (w *Server) Notify(kind, path string, object map[string]any) { w.notify(kind, path, object, nil) }

func (w *Server) notify(kind, path string, object, before map[string]any) {
	if !w.Watchable {
		return
	}
	version := len(w.log) + 1
	(&unstructured.Unstructured{Object: object}).SetResourceVersion(strconv.Itoa(version))
	event, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		w.t.Error(err)
	}
	event = append(event, '\n')
	w.log = append(w.log, change{version: version, at: locate(path), event: event, kind: kind, object: object, before: before})
	if !w.Lags {
		w.Deliver()
	}
}

// Deliver sends the oldest undelivered event and reports whether there was one. The caller holds
// Mu.
func (w *Server) Deliver() bool {
	if w.delivered == len(w.log) {
		return false
	}
	w.watches = slices.DeleteFunc(w.watches, func(s *watching) bool { return !s.isOpen() })
	for _, s := range w.watches {
		s.send(w.log[w.delivered])
	}
	w.delivered++
	return true
}

// HangUp ends all watches. If the log is compacted, no watch can start before the newest
// version.
func (w *Server) HangUp(compact bool) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	for _, s := range w.watches {
		if s.isOpen() {
			close(s.closed)
		}
	}
	w.watches = nil
	if compact {
		w.oldest = len(w.log)
	}
}

// OpenWatches returns the number of watches whose requests have not ended.
func (w *Server) OpenWatches() int {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	n := 0
	for _, s := range w.watches {
		if s.isOpen() {
			n++
		}
	}
	return n
}

// TakeReads returns the reads since its last call.
func (w *Server) TakeReads() []string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	reads := w.Reads
	w.Reads = nil
	return reads
}

// Change changes an object and notifies its watches.
func (w *Server) Change(path string, edit func(object *unstructured.Unstructured)) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	u := (&unstructured.Unstructured{Object: w.Objects[path]}).DeepCopy()
	edit(u)
	w.Store(path, u.Object)
}

// Delete removes an object as another client would.
func (w *Server) Delete(path string) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Remove(path)
}

// Undelivered reports whether there are undelivered events.
func (w *Server) Undelivered() bool { return w.delivered < len(w.log) }

// Silence stops all watches without ending them. The caller holds Mu.
func (w *Server) Silence() { w.watches = nil }
