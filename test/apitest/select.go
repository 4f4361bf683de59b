// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is which objects a client lists or watches.
type selection struct {
	labels labels.Selector
	fields fields.Selector
	// metadata is true for a client that reads metadata only.
	metadata bool
}

func selected(req *http.Request) (*selection, error) {
	s := &selection{metadata: readsMetadata(req)}
	var err error
	if s.labels, err = labels.Parse(req.URL.Query().Get("labelSelector")); err != nil {
		return nil, err
	}
	s.fields, err = fields.ParseSelector(req.URL.Query().Get("fieldSelector"))
	return s, err
}

// readsMetadata reports whether a client asks for metadata only.
func readsMetadata(req *http.Request) bool {
	return strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func (s *selection) matches(object map[string]any) bool {
	if object == nil {
		return false
	}
	for _, r := range s.fields.Requirements() {
		value, _, _ := unstructured.NestedString(object, strings.Split(r.Field, ".")...)
		if (value == r.Value) != (r.Operator == "=" || r.Operator == "==") {
			return false
		}
	}
	return s.labels.Matches(labels.Set((&unstructured.Unstructured{Object: object}).GetLabels()))
}

// event returns the event of a change for a watch; nil if there is none.
func (s *selection) event(c change) []byte {
	kind, was, is := c.kind, s.matches(c.before), s.matches(c.object)
	switch {
	case !was && !is:
		return nil
	case kind == "MODIFIED" && !was:
		kind = "ADDED"
	case kind == "MODIFIED" && !is:
		kind = "DELETED"
	}
	return encodeEvent(kind, s.show(c.object))
}

// show returns an object as the client asks for it.
func (s *selection) show(object map[string]any) map[string]any {
	if !s.metadata {
		return object
	}
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]}
}

func encodeEvent(kind string, object map[string]any) []byte {
	event, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		panic(err)
	}
	return append(event, '\n')
}

// replyAs replies with an object as the client asks for it.
func replyAs(rec *httptest.ResponseRecorder, req *http.Request, code int, object map[string]any) {
	s := &selection{metadata: readsMetadata(req)}
	reply(rec, code, s.show(object))
}

// inside returns the objects of a collection that match, by path.
func (w *Server) inside(at location, s *selection) []map[string]any {
	all := []map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(w.Objects)) {
		if at.contains(locate(path)) && s.matches(w.Objects[path]) {
			all = append(all, s.show(w.Objects[path]))
		}
	}
	return all
}

func (w *Server) list(rec *httptest.ResponseRecorder, req *http.Request, at location, kind resource) {
	s, err := selected(req)
	if err != nil {
		fail(rec, http.StatusBadRequest, "BadRequest")
		return
	}
	list := map[string]any{
		"kind": kind.Kind + "List", "apiVersion": kind.apiVersion,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(len(w.log))}, "items": w.inside(at, s),
	}
	if s.metadata {
		list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	reply(rec, http.StatusOK, list)
}

// watchCluster answers a request to watch; nil means that rec holds the answer.
func (w *Server) watchCluster(rec *httptest.ResponseRecorder, req *http.Request) *http.Response {
	at, query := locate(req.URL.Path), req.URL.Query()
	kind, served := w.cluster.kinds[at.version+"/"+at.resource]
	s, err := selected(req)
	switch {
	case !served:
		http.NotFound(rec, req)
		return nil
	case err != nil:
		fail(rec, http.StatusBadRequest, "BadRequest")
		return nil
	}
	// Without a version, a watch starts with the present objects.
	from, err := strconv.Atoi(query.Get("resourceVersion"))
	initial := query.Get("sendInitialEvents") == "true"
	var first []map[string]any
	if initial || err != nil || from == 0 {
		first, from = w.inside(at, s), len(w.log)
	}
	watching := &watching{at: at, selected: s, from: from, events: make(chan []byte, 1000+len(first))}
	for _, object := range first {
		watching.events <- encodeEvent("ADDED", object)
	}
	if initial {
		mark := map[string]any{"kind": kind.Kind, "apiVersion": kind.apiVersion, "metadata": map[string]any{
			"resourceVersion": strconv.Itoa(len(w.log)), "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		}}
		watching.events <- encodeEvent("BOOKMARK", s.show(mark))
	}
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		watching.expired = time.After(time.Duration(seconds) * time.Second)
	}
	return w.begin(req, watching)
}
