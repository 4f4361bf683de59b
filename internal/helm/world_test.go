// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// world is an API server and an artifact server in memory: it stores what it is
// given and judges nothing. It is a transport, so no goroutine and no socket
// stands between a test and what it asks.
type world struct {
	t *testing.T

	mu      sync.Mutex
	objects map[string]map[string]any
	// requests are "<method> <path>" of everything that writes.
	requests []string
	// protobuf are those of requests whose bodies were.
	protobuf []string
	// refuse, if set, answers requests that it returns a status code for.
	refuse func(method, path string) int
	// reacted is called with every object that is created and may change it.
	reacted func(object map[string]any)
	// reads are "GET <path>" of every object that was read, and "WATCH <path>".
	reads []string
	// watchable worlds give objects versions and can be watched. In others, that is
	// forbidden.
	watchable bool
	log       []change
	watches   []*watching
	// delivered counts the events of the log that watches were sent. A world that lags sends
	// one with each call of deliver, others send them at once.
	delivered int
	lags      bool
	// slow, if set, is called with each request after it was served and before its answer
	// arrives.
	slow func(method, path string)
	// offered are kinds that the server knows beside resources().
	offered map[string][]string
	// oldest is the first version that can be watched from.
	oldest int

	archive []byte
	config  *rest.Config
	conn    *cluster.Connection
	runner  *Runner
}

const discovered = `{"kind":"APIResourceList","groupVersion":"%s","resources":[%s]}`

// resources are the kinds the server knows, by group and version.
func resources() map[string][]string {
	entry := func(name, kind string, namespaced bool) string {
		return fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%t,"verbs":["get","create","update","patch","delete","list"]}`, name, kind, namespaced)
	}
	return map[string][]string{
		"v1":                   {entry("configmaps", "ConfigMap", true), entry("secrets", "Secret", true), entry("namespaces", "Namespace", false), entry("pods", "Pod", true), entry("services", "Service", true), entry("serviceaccounts", "ServiceAccount", true)},
		"apps/v1":              {entry("deployments", "Deployment", true)},
		"batch/v1":             {entry("jobs", "Job", true)},
		"networking.k8s.io/v1": {entry("ingresses", "Ingress", true)},
		"apiextensions.k8s.io/v1": {
			entry("customresourcedefinitions", "CustomResourceDefinition", false),
		},
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, objects: map[string]map[string]any{}}
	w.config = &rest.Config{Host: "http://cluster", Transport: w, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	var err error
	if w.conn, err = cluster.Connect(w.config); err != nil {
		t.Fatal(err)
	}
	w.runner = NewRunner(chart.NewStore(&http.Client{Transport: w}, 1<<20), nil, time.Now)
	return w
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := w.respond(req)
	if w.slow != nil {
		w.slow(req.Method, req.URL.Path)
	}
	return resp, nil
}

func (w *world) respond(req *http.Request) *http.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	switch {
	case req.URL.Host == "charts":
		_, _ = rec.Write(w.archive)
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

func (w *world) serve(rec *httptest.ResponseRecorder, req *http.Request) {
	path := req.URL.Path
	if req.Method != http.MethodGet && req.URL.Query().Get("dryRun") == "" {
		w.requests = append(w.requests, req.Method+" "+path)
	}
	if w.refuse != nil {
		if code := w.refuse(req.Method, path); code != 0 {
			fail(rec, code, "refused by the test")
			return
		}
	}
	known := resources()
	maps.Copy(known, w.offered)
	if answer, ok := discovery(path, known); ok {
		_, _ = io.WriteString(rec, answer)
		return
	}
	if answer, ok := openAPI(path); ok {
		_, _ = io.WriteString(rec, answer)
		return
	}
	w.read(req)
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
		if _, exists := w.objects[path]; exists {
			fail(rec, http.StatusConflict, "AlreadyExists")
			return
		}
		if w.reacted != nil {
			w.reacted(object)
		}
		w.store(path, object)
		reply(rec, http.StatusCreated, object)
	case http.MethodPut:
		w.store(path, w.body(req))
		reply(rec, http.StatusOK, w.objects[path])
	case http.MethodPatch:
		w.patch(rec, req, path)
	case http.MethodDelete:
		if _, exists := w.objects[path]; !exists {
			fail(rec, http.StatusNotFound, "NotFound")
			return
		}
		if object := (&unstructured.Unstructured{Object: w.objects[path]}); len(object.GetFinalizers()) > 0 {
			now := metav1.Now()
			object.SetDeletionTimestamp(&now)
			w.store(path, object.Object)
			reply(rec, http.StatusOK, object.Object)
			return
		}
		if w.objects[path]["kind"] == "Pod" {
			reply(rec, http.StatusOK, w.terminate(path))
			return
		}
		w.remove(path)
		reply(rec, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
}

func (w *world) get(rec *httptest.ResponseRecorder, req *http.Request, path string) {
	if object, ok := w.objects[path]; ok {
		reply(rec, http.StatusOK, object)
		return
	}
	if w.watchable && req.URL.Query().Get("limit") == "1" {
		reply(rec, http.StatusOK, map[string]any{
			"kind": "SomeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": strconv.Itoa(len(w.log))}, "items": []any{},
		})
		return
	}
	if !strings.HasSuffix(path, "/secrets") {
		fail(rec, http.StatusNotFound, "NotFound")
		return
	}
	selector, err := labels.Parse(req.URL.Query().Get("labelSelector"))
	if err != nil {
		fail(rec, http.StatusBadRequest, "BadRequest")
		return
	}
	items := []any{}
	for key, object := range w.objects {
		u := unstructured.Unstructured{Object: object}
		if strings.HasPrefix(key, path+"/") && selector.Matches(labels.Set(u.GetLabels())) {
			items = append(items, object)
		}
	}
	reply(rec, http.StatusOK, map[string]any{"kind": "SecretList", "apiVersion": "v1", "items": items})
}

// patch merges; for the objects of these tests a strategic merge is the same, and
// so is applying, which also creates.
func (w *world) patch(rec *httptest.ResponseRecorder, req *http.Request, path string) {
	object, ok := w.objects[path]
	if req.URL.Query().Get("dryRun") != "" {
		code := http.StatusOK
		if !ok {
			code = http.StatusCreated
		}
		reply(rec, code, w.body(req))
		return
	}
	if !ok && req.Header.Get("Content-Type") == "application/apply-patch+yaml" {
		object = w.body(req)
		if w.reacted != nil {
			w.reacted(object)
		}
		w.store(path, object)
		reply(rec, http.StatusCreated, object)
		return
	}
	if !ok {
		fail(rec, http.StatusNotFound, "NotFound")
		return
	}
	merge(object, w.body(req))
	w.store(path, object)
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

func (w *world) body(req *http.Request) map[string]any {
	object, err := readBody(req)
	if err != nil {
		w.t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	switch req.Header.Get("Content-Type") {
	case runtime.ContentTypeProtobuf:
		w.protobuf = append(w.protobuf, req.Method+" "+req.URL.Path)
	case "application/apply-patch+yaml":
		if got := req.URL.Query().Get("fieldValidation"); got != metav1.FieldValidationIgnore {
			w.t.Errorf("%s %s: fields are validated by %q, which has the body be parsed twice", req.Method, req.URL, got)
		}
	}
	return object
}

func readBody(req *http.Request) (map[string]any, error) {
	if req.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
		object := map[string]any{}
		return object, json.NewDecoder(req.Body).Decode(&object)
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
}

func discovery(path string, known map[string][]string) (string, bool) {
	if path == "/version" {
		return `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`, true
	}
	if path == "/readyz" {
		return "ok", true
	}
	if path == "/openapi/v2" {
		// An empty schema, against which Helm can validate hooks.
		return "", true
	}
	if path == "/api" {
		return `{"kind":"APIVersions","versions":["v1"]}`, true
	}
	if path == "/apis" {
		var groups []string
		for gv := range known {
			if group, version, ok := strings.Cut(gv, "/"); ok {
				v := fmt.Sprintf(`{"groupVersion":%q,"version":%q}`, gv, version)
				groups = append(groups, fmt.Sprintf(`{"name":%q,"versions":[%s],"preferredVersion":%s}`, group, v, v))
			}
		}
		return `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(groups, ",") + `]}`, true
	}
	gv := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	list, ok := known[gv]
	return fmt.Sprintf(discovered, gv, strings.Join(list, ",")), ok
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

// object returns a copy of what is stored at path, nil if nothing is.
func (w *world) object(path string) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	object, ok := w.objects[path]
	if !ok {
		return nil
	}
	return (&unstructured.Unstructured{Object: object}).DeepCopy()
}

func (w *world) put(path string, object map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store(path, object)
}

// chart makes files, below the chart's folder, the chart note that can be
// downloaded, and returns its artifact.
func (w *world) chart(version string, files map[string]string) chart.Artifact {
	w.t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: note\nversion: " + version + "\nappVersion: \"9\"\n"}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		if err := tw.WriteHeader(&tar.Header{Name: "note/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := io.WriteString(tw, content); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		w.t.Fatal(err)
	}
	w.archive = buf.Bytes()
	return chart.Artifact{URL: "http://charts/" + version, Digest: digest.FromBytes(w.archive).String()}
}

// stored returns the revisions of prod/app as Helm reads them.
func (w *world) stored() []*helmrelease.Release {
	w.t.Helper()
	clients, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := driver.NewSecrets(clients.CoreV1().Secrets("prod")).Query(map[string]string{"name": "app"})
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) history() []release.Revision {
	w.t.Helper()
	all, err := w.runner.History(w.t.Context(), w.conn, target(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func target() release.Target {
	return release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"}
}

// job returns a job for prod/app without the checks that need a schema.
func job(action release.Action, artifact chart.Artifact, version string, values map[string]any) Job {
	return Job{
		Action:  action,
		Desired: release.Desired{UID: "uid-1", Target: target(), Chart: release.Chart{Name: "note", Version: version}},
		Spec: helmv2.HelmReleaseSpec{
			Install: &helmv2.Install{DisableOpenAPIValidation: true},
			Upgrade: &helmv2.Upgrade{DisableOpenAPIValidation: true},
		},
		Origin:   Origin{Name: "app", Namespace: "prod"},
		Artifact: artifact, Values: values,
	}
}
