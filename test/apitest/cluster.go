// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// cluster is what a server of NewCluster has in addition.
type cluster struct {
	// kinds are the resources by their path without a namespace, and with the subresource "status".
	kinds map[string]resource
	// objects is the number of objects that were created.
	objects int
	fields  fieldManagers
}

type resource struct{ Name, Kind, apiVersion string }

// NewCluster returns a server for a manager. It lists and watches all kinds, in all namespaces, by
// selectors and as metadata, and streams lists. Objects have UIDs, creation times, generations and
// managedFields. They are immutable: Change, Put and requests store new ones. offered are resources
// besides the default ones, by group and version. A kind whose status is a subresource has an entry
// of the name "<resource>/status".
func NewCluster(t testing.TB, offered map[string][]string) *Server {
	t.Helper()
	w := New(t)
	w.Watchable, w.Offered = true, map[string][]string{}
	w.cluster = &cluster{kinds: map[string]resource{}, fields: fieldManagers{}}
	for gv, entries := range resources() {
		w.Offer(gv, entries...)
	}
	for gv, entries := range offered {
		w.Offer(gv, entries...)
	}
	return w
}

// Offer serves more resources of a group and version.
func (w *Server) Offer(gv string, entries ...string) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Offered[gv] = append(w.Offered[gv], entries...)
	prefix := "/apis/" + gv
	if gv == "v1" {
		prefix = "/api/v1"
	}
	for _, e := range entries {
		r := resource{apiVersion: gv}
		if err := json.Unmarshal([]byte(e), &r); err != nil {
			w.t.Error(err)
		}
		w.cluster.kinds[prefix+"/"+r.Name] = r
	}
}

// Withdraw stops serving a group and version. Its objects stay, and its watches end.
func (w *Server) Withdraw(gv string) {
	w.Mu.Lock()
	delete(w.Offered, gv)
	for path, r := range w.cluster.kinds {
		if r.apiVersion == gv {
			delete(w.cluster.kinds, path)
		}
	}
	w.Mu.Unlock()
	w.HangUp(false)
}

// hasStatus reports whether status is a subresource of the kind.
func (c *cluster) hasStatus(at location) bool {
	_, is := c.kinds[at.version+"/"+at.resource+"/status"]
	return is
}

// serveCluster answers a request for objects.
func (w *Server) serveCluster(rec *httptest.ResponseRecorder, req *http.Request) {
	at := locate(req.URL.Path)
	kind, served := w.cluster.kinds[at.version+"/"+at.resource]
	if !served || at.subresource != "" && at.subresource != "status" {
		http.NotFound(rec, req)
		return
	}
	live, exists := w.Objects[at.object()]
	switch {
	case req.Method == http.MethodGet && at.name == "":
		w.list(rec, req, at, kind)
	case req.Method == http.MethodGet && exists:
		replyAs(rec, req, http.StatusOK, live)
	case req.Method == http.MethodPost:
		w.post(rec, req, at, kind)
	case req.Method == http.MethodPatch && (exists || isApply(req)):
		w.patchCluster(rec, req, at, live)
	case !exists:
		fail(rec, http.StatusNotFound, "NotFound")
	case req.Method == http.MethodPut:
		w.put(rec, req, at, live)
	case req.Method == http.MethodDelete:
		w.deleteCluster(rec, req, at, live)
	}
}

func (w *Server) post(rec *httptest.ResponseRecorder, req *http.Request, at location, kind resource) {
	u := &unstructured.Unstructured{Object: w.body(req)}
	u.SetAPIVersion(kind.apiVersion)
	u.SetKind(kind.Kind)
	u.SetNamespace(at.namespace)
	if prefix := u.GetGenerateName(); u.GetName() == "" && prefix != "" {
		u.SetName(fmt.Sprint(prefix, w.cluster.objects))
	}
	if at.name = u.GetName(); at.resource == "events" && w.Objects[at.object()] != nil {
		// The name has the time, which stands still in a bubble.
		u.SetName(fmt.Sprint(at.name, "-", w.cluster.objects))
		at.name = u.GetName()
	}
	if _, exists := w.Objects[at.object()]; exists {
		fail(rec, http.StatusConflict, "AlreadyExists")
		return
	}
	if w.cluster.hasStatus(at) {
		delete(u.Object, "status")
	}
	w.write(rec, req, http.StatusCreated, at, nil, w.cluster.fields.update(nil, u.Object, req))
}

func (w *Server) put(rec *httptest.ResponseRecorder, req *http.Request, at location, live map[string]any) {
	next := w.body(req)
	if code, reason := replaceable(live, next); code != 0 {
		fail(rec, code, reason)
		return
	}
	switch {
	case at.subresource == "status":
		status := next["status"]
		next = deepCopy(live)
		next["status"] = status
	case w.cluster.hasStatus(at):
		next["status"] = live["status"]
	}
	w.write(rec, req, http.StatusOK, at, live, w.cluster.fields.update(live, next, req))
}

// patchCluster merges. A strategic merge differs for lists only.
func (w *Server) patchCluster(rec *httptest.ResponseRecorder, req *http.Request, at location, live map[string]any) {
	body := w.body(req)
	sent := &unstructured.Unstructured{Object: body}
	if version := sent.GetResourceVersion(); live != nil && version != "" && version != (&unstructured.Unstructured{Object: live}).GetResourceVersion() {
		fail(rec, http.StatusConflict, "Conflict")
		return
	}
	unstructured.RemoveNestedField(body, "metadata", "resourceVersion")
	if isApply(req) {
		next, err := w.cluster.fields.apply(live, body, req)
		if err != nil {
			failApply(rec, err)
			return
		}
		code := http.StatusOK
		if live == nil {
			code = http.StatusCreated
		}
		w.write(rec, req, code, at, live, next)
		return
	}
	switch {
	case at.subresource == "status":
		body = map[string]any{"status": body["status"]}
	case w.cluster.hasStatus(at):
		delete(body, "status")
	}
	next := deepCopy(live)
	merge(next, body)
	w.write(rec, req, http.StatusOK, at, live, w.cluster.fields.update(live, next, req))
}

// write stores an object unless it is equal to the one before or the request is a dry run.
func (w *Server) write(rec *httptest.ResponseRecorder, req *http.Request, code int, at location, live, next map[string]any) {
	switch {
	case req.URL.Query().Get("dryRun") != "":
		w.cluster.admit(live, next)
	case live != nil && isEqual(live, next):
		next = live
	default:
		if w.Created != nil && live == nil {
			w.Created(next)
		}
		w.Store(at.object(), next)
	}
	replyAs(rec, req, code, next)
}

func (w *Server) deleteCluster(rec *httptest.ResponseRecorder, req *http.Request, at location, live map[string]any) {
	options, met := deletionOf(req, live)
	if !met {
		fail(rec, http.StatusConflict, "Conflict")
		return
	}
	u := (&unstructured.Unstructured{Object: live}).DeepCopy()
	switch {
	case req.URL.Query().Get("dryRun") != "" || len(options.DryRun) > 0:
	case len(u.GetFinalizers()) > 0:
		now := metav1.Now()
		if u.GetDeletionTimestamp() == nil {
			u.SetDeletionTimestamp(&now)
			w.Store(at.object(), u.Object)
		}
	default:
		w.Remove(at.object())
	}
	replyAs(rec, req, http.StatusOK, u.Object)
}

// deletionOf returns the options of a deletion. met is false if a live object does not meet its
// preconditions.
func deletionOf(req *http.Request, live map[string]any) (options metav1.DeleteOptions, met bool) {
	if req.Body != nil {
		// A request without a body has no options.
		_ = json.NewDecoder(req.Body).Decode(&options)
	}
	u, p := unstructured.Unstructured{Object: live}, options.Preconditions
	return options, p == nil || (p.UID == nil || *p.UID == u.GetUID()) && (p.ResourceVersion == nil || *p.ResourceVersion == u.GetResourceVersion())
}

// admit sets the metadata of a new version of an object, which before is nil for a new object. It
// returns false if the version is the end of a deleted object, which had waited for finalizers.
func (c *cluster) admit(before, object map[string]any) bool {
	was, next := &unstructured.Unstructured{Object: before}, &unstructured.Unstructured{Object: object}
	if before == nil {
		c.objects++
		if next.GetUID() == "" {
			next.SetUID(types.UID(fmt.Sprint("uid-", c.objects)))
		}
		if created := next.GetCreationTimestamp(); created.IsZero() {
			next.SetCreationTimestamp(metav1.Now())
		}
		if object["spec"] != nil {
			next.SetGeneration(1)
		}
		return true
	}
	next.SetUID(was.GetUID())
	next.SetCreationTimestamp(was.GetCreationTimestamp())
	next.SetGeneration(was.GetGeneration())
	if was.GetGeneration() > 0 && (!reflect.DeepEqual(before["spec"], object["spec"]) || was.GetDeletionTimestamp() == nil && next.GetDeletionTimestamp() != nil) {
		next.SetGeneration(was.GetGeneration() + 1)
	}
	return next.GetDeletionTimestamp() == nil || len(next.GetFinalizers()) > 0
}

// isEqual reports whether a write changes nothing but times of managedFields.
func isEqual(live, next map[string]any) bool {
	plain := func(object map[string]any) map[string]any {
		object = maps.Clone(object)
		metadata, _ := object["metadata"].(map[string]any)
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		var fields []any
		all, _ := metadata["managedFields"].([]any)
		for _, f := range all {
			entry, _ := f.(map[string]any)
			entry = maps.Clone(entry)
			delete(entry, "time")
			fields = append(fields, entry)
		}
		metadata["managedFields"] = fields
		object["metadata"] = metadata
		return object
	}
	return reflect.DeepEqual(plain(live), plain(next))
}

func deepCopy(object map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: object}).DeepCopy().Object
}

func isApply(req *http.Request) bool {
	return strings.HasPrefix(req.Header.Get("Content-Type"), string(types.ApplyYAMLPatchType))
}
