// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// RoundTrip implements http.RoundTripper.
func (w *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := w.respond(req)
	if w.Slow != nil {
		w.Slow(req.Method, req.URL.Path)
	}
	return resp, nil
}

func (w *Server) respond(req *http.Request) *http.Response {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	switch {
	case req.URL.Query().Get("watch") != "":
		if resp := w.watch(rec, req); resp != nil {
			return resp
		}
	default:
		w.serve(rec, req)
	}
	resp := rec.Result()
	resp.Request = req
	return resp
}

func (w *Server) serve(rec *httptest.ResponseRecorder, req *http.Request) {
	path := req.URL.Path
	if req.Method != http.MethodGet && req.URL.Query().Get("dryRun") == "" {
		w.Requests = append(w.Requests, req.Method+" "+path)
	}
	if w.Refuse != nil {
		if code := w.Refuse(req.Method, path); code != 0 {
			fail(rec, code, cmp.Or(w.Reason, "refused by the test"))
			return
		}
	}
	known := resources()
	maps.Copy(known, w.Offered)
	if answer, ok := discovery(path, known); ok {
		_, _ = io.WriteString(rec, answer)
		return
	}
	if answer, ok := openAPI(path); ok {
		_, _ = io.WriteString(rec, answer)
		return
	}
	w.read(req)
	if !isServed(path, known) {
		// The API server answers requests for paths that it does not know without a Status.
		http.NotFound(rec, req)
		return
	}
	if w.cluster != nil {
		w.serveCluster(rec, req)
		return
	}
	switch req.Method {
	case http.MethodGet:
		w.get(rec, req, path)
	case http.MethodPost:
		object := w.body(req)
		if req.URL.Query().Get("dryRun") != "" {
			reply(rec, http.StatusCreated, object)
			return
		}
		path += "/" + (&unstructured.Unstructured{Object: object}).GetName()
		if _, exists := w.Objects[path]; exists {
			fail(rec, http.StatusConflict, "AlreadyExists")
			return
		}
		if w.Created != nil {
			w.Created(object)
		}
		w.Store(path, object)
		reply(rec, http.StatusCreated, object)
	case http.MethodPut:
		object := w.body(req)
		if code, reason := replaceable(w.Objects[path], object); code != 0 {
			fail(rec, code, reason)
			return
		}
		if req.URL.Query().Get("dryRun") == "" {
			w.Store(path, object)
		}
		reply(rec, http.StatusOK, object)
	case http.MethodPatch:
		w.patch(rec, req, path)
	case http.MethodDelete:
		w.delete(rec, req, path)
	}
}

func (w *Server) delete(rec *httptest.ResponseRecorder, req *http.Request, path string) {
	live, exists := w.Objects[path]
	if !exists {
		fail(rec, http.StatusNotFound, "NotFound")
		return
	}
	if _, met := deletionOf(req, live); !met {
		fail(rec, http.StatusConflict, "Conflict")
		return
	}
	if object := (&unstructured.Unstructured{Object: w.Objects[path]}); len(object.GetFinalizers()) > 0 {
		now := metav1.Now()
		object.SetDeletionTimestamp(&now)
		w.Store(path, object.Object)
		reply(rec, http.StatusOK, object.Object)
		return
	}
	if w.Objects[path]["kind"] == "Pod" {
		removed := terminate(w.Objects[path])
		w.Store(path, w.Objects[path])
		object := w.Objects[path]
		if removed {
			w.Remove(path)
		}
		reply(rec, http.StatusOK, object)
		return
	}
	w.Remove(path)
	reply(rec, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

func (w *Server) get(rec *httptest.ResponseRecorder, req *http.Request, path string) {
	if object, ok := w.Objects[path]; ok {
		reply(rec, http.StatusOK, object)
		return
	}
	if w.Watchable && req.URL.Query().Get("limit") == "1" {
		reply(rec, http.StatusOK, map[string]any{
			"kind": "SomeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": strconv.Itoa(len(w.log))}, "items": []any{},
		})
		return
	}
	if !strings.HasSuffix(path, "/secrets") && !strings.HasSuffix(path, "/customresourcedefinitions") {
		fail(rec, http.StatusNotFound, "NotFound")
		return
	}
	selector, err := labels.Parse(req.URL.Query().Get("labelSelector"))
	if err != nil {
		fail(rec, http.StatusBadRequest, "BadRequest")
		return
	}
	items := []any{}
	for key, object := range w.Objects {
		u := unstructured.Unstructured{Object: object}
		if strings.HasPrefix(key, path+"/") && selector.Matches(labels.Set(u.GetLabels())) {
			items = append(items, object)
		}
	}
	reply(rec, http.StatusOK, map[string]any{"kind": "SecretList", "apiVersion": "v1", "items": items})
}

// replaceable returns the error of a request that replaces live, which is nil if it does not exist;
// 0 if the request is for the present version. The new object keeps UID and creation time.
func replaceable(live, object map[string]any) (code int, reason string) {
	was, next := &unstructured.Unstructured{Object: live}, &unstructured.Unstructured{Object: object}
	switch {
	case live == nil:
		return http.StatusNotFound, "NotFound"
	case next.GetResourceVersion() != "" && next.GetResourceVersion() != was.GetResourceVersion():
		return http.StatusConflict, "Conflict"
	}
	next.SetUID(was.GetUID())
	next.SetCreationTimestamp(was.GetCreationTimestamp())
	return 0, ""
}

// patch merges. For the objects of these tests a strategic merge and an apply, which also
// creates, have the same result.
func (w *Server) patch(rec *httptest.ResponseRecorder, req *http.Request, path string) {
	object, ok := w.Objects[path]
	if req.URL.Query().Get("dryRun") != "" {
		answer, code := w.body(req), http.StatusCreated
		fields := fieldsOf(answer)
		if ok {
			live := (&unstructured.Unstructured{Object: object}).DeepCopy().Object
			merge(live, answer)
			answer, code = live, http.StatusOK
		}
		if req.Header.Get("Content-Type") == "application/apply-patch+yaml" {
			setApplied(answer, req.URL.Query().Get("fieldManager"), fields)
		}
		reply(rec, code, answer)
		return
	}
	if !ok && req.Header.Get("Content-Type") == "application/apply-patch+yaml" {
		object = w.body(req)
		if w.Created != nil {
			w.Created(object)
		}
		w.Store(path, object)
		reply(rec, http.StatusCreated, object)
		return
	}
	if !ok {
		fail(rec, http.StatusNotFound, "NotFound")
		return
	}
	merge(object, w.body(req))
	w.Store(path, object)
	reply(rec, http.StatusOK, object)
}

func merge(object, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		existing, wasMap := object[key].(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap && wasMap:
			merge(existing, inner)
		default:
			object[key] = value
		}
	}
}

func (w *Server) body(req *http.Request) map[string]any {
	object, err := readBody(req)
	if err != nil {
		w.t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	switch req.Header.Get("Content-Type") {
	case runtime.ContentTypeProtobuf:
		w.Protobuf = append(w.Protobuf, req.Method+" "+req.URL.Path)
	case "application/apply-patch+yaml":
		// The controller applies a HelmChart of its own with the default.
		if got := req.URL.Query().Get("fieldValidation"); got != metav1.FieldValidationIgnore && w.cluster == nil {
			w.t.Errorf("%s %s: fields are validated by %q, which has the body be parsed twice", req.Method, req.URL, got)
		}
	}
	return object
}

func readBody(req *http.Request) (map[string]any, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if req.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
		object := map[string]any{}
		// Integers stay integers, so that they equal the integers of typed objects.
		return object, utiljson.Unmarshal(raw, &object)
	}
	typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
}

func reply(rec *httptest.ResponseRecorder, code int, object any) {
	rec.WriteHeader(code)
	_ = json.NewEncoder(rec).Encode(object)
}

func fail(rec *httptest.ResponseRecorder, code int, reason string) {
	reply(rec, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": reason,
	})
}

// Object returns a copy of the object at a path, nil if there is none.
func (w *Server) Object(path string) *unstructured.Unstructured {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	object, ok := w.Objects[path]
	if !ok {
		return nil
	}
	return (&unstructured.Unstructured{Object: object}).DeepCopy()
}

// Put stores an object.
func (w *Server) Put(path string, object map[string]any) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Store(path, object)
}

// terminate sets the metadata of a Pod that the API server deletes, and reports whether the Pod is
// removed at once. A running Pod gets a grace period and stays until the kubelet removes it.
// Another one gets a deletionTimestamp and is removed; the answer has the deletionTimestamp and the
// version of the removal.
func terminate(pod map[string]any) (removed bool) {
	u := &unstructured.Unstructured{Object: pod}
	now, grace := metav1.Now(), int64(0)
	if phase, _, _ := unstructured.NestedString(pod, "status", "phase"); phase == "Running" {
		grace = 30
	}
	u.SetDeletionTimestamp(&now)
	u.SetDeletionGracePeriodSeconds(&grace)
	return grace == 0
}

// Parse returns the object in a manifest, as a client reads it; nil if the manifest is empty.
func Parse(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	if manifest == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}
