// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// aggregated is a server with an API of its own, to which the API server forwards requests.
type aggregated struct {
	group string

	mu   sync.Mutex
	away bool
	// things are the stored objects, by path.
	things map[string]map[string]any
}

// newAggregated registers a server for a group. Its Service has an external name, since nothing
// routes cluster addresses here.
func newAggregated(w *world, group string) *aggregated {
	w.t.Helper()
	a := &aggregated{group: group, things: map[string]map[string]any{}}
	server := httptest.NewTLSServer(a)
	w.t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	w.must(err)
	number := json.Number(port)
	at, err := number.Int64()
	w.must(err)
	w.must(suite.client.Create(w.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "things"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}))
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + group},
		"spec": map[string]any{
			"group": group, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(15), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": w.namespace, "name": "things", "port": at},
		},
	}}
	w.must(suite.client.Create(w.t.Context(), service))
	w.deletedAtEnd(service)
	untilTrue(w, "the aggregated API to be served", func() bool { return w.serves(group, "v1") })
	return a
}

// ServeHTTP implements http.Handler.
func (a *aggregated) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		// As if nothing listened.
		if connection, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			_ = connection.Close()
			return
		}
		panic(http.ErrAbortHandler)
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	dryRun := req.URL.Query().Get("dryRun") != ""
	thing, exists := a.things[path]
	switch {
	case path == "/apis/"+a.group+"/v1":
		answerJSON(rw, http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": a.group + "/v1", "resources": []any{
			map[string]any{"name": "things", "singularName": "thing", "kind": "Thing", "namespaced": true, "verbs": []string{"get", "list", "patch", "delete"}},
		}})
	case req.Method == http.MethodGet && strings.HasSuffix(path, "/things"):
		answerJSON(rw, http.StatusOK, map[string]any{"kind": "ThingList", "apiVersion": a.group + "/v1", "metadata": map[string]any{}, "items": []any{}})
	case req.Method == http.MethodPatch:
		var sent map[string]any
		if err := json.NewDecoder(req.Body).Decode(&sent); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		if !dryRun {
			a.things[path] = sent
		}
		answerJSON(rw, http.StatusCreated, sent)
	case !exists:
		answerJSON(rw, http.StatusNotFound, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})
	case req.Method == http.MethodDelete:
		delete(a.things, path)
		answerJSON(rw, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		answerJSON(rw, http.StatusOK, thing)
	}
}

func answerJSON(rw http.ResponseWriter, code int, body map[string]any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	_ = json.NewEncoder(rw).Encode(body)
}

// leave makes the server unreachable, or reachable again, and waits until the API server knows.
func (a *aggregated) leave(w *world, away bool) {
	w.t.Helper()
	a.mu.Lock()
	a.away = away
	a.mu.Unlock()
	service := &unstructured.Unstructured{}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	began := time.Now()
	untilTrue(w, "the condition of the APIService", func() bool {
		w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Name: "v1." + a.group}, service))
		conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Available" {
				return (c["status"] == "False") == away
			}
		}
		return false
	})
	w.t.Logf("the APIService changed after %s", time.Since(began).Round(time.Second))
}

func (a *aggregated) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.things)
}

// TestAggregatedAPIAway: while an aggregated API is away, an uninstall of its objects is interrupted
// and orphans nothing. It ends when the API is back. An API that is away makes the discovery of the
// whole cluster incomplete, so this test does not run beside others.
//
//nolint:paralleltest // see above
func TestAggregatedAPIAway(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	group := "away." + w.namespace + ".example.com"
	a := newAggregated(w, group)
	w.publish("app", "1.0.0", noteWith(t, "1.0.0", thingTemplate(group, "v1")))
	hr := w.release("app", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{DisableWait: true}
	})
	w.untilReady(hr)
	if a.count() != 1 {
		t.Fatalf("the release has %d things", a.count())
	}
	a.leave(w, true)
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInterrupted, "API "+group+"/v1 of the API server has been unavailable")
	if a.count() != 1 || len(w.stored("app")) != 1 {
		t.Errorf("%d things and %d records are left", a.count(), len(w.stored("app")))
	}
	// The uninstall goes on.
	untilTrue(w, "an event", func() bool { return w.events(hr, helmv2.ReasonInterrupted) > 0 }, w.allEvents())
	w.observed(hr)
	w.eventsSent(hr)
	if n, skipped := w.events(hr, helmv2.ReasonInterrupted), w.events(hr, helmv2.EventReasonObjectsSkipped); n != 1 || skipped != 0 {
		t.Errorf("%d interruptions and %d skipped objects are reported", n, skipped)
	}
	a.leave(w, false)
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": "now"}
	})
	w.untilGone(hr)
	if a.count() != 0 || len(w.stored("app")) != 0 || w.events(hr, helmv2.EventReasonObjectsSkipped) != 0 {
		t.Errorf("%d things and %d records are left, %d events", a.count(), len(w.stored("app")), w.events(hr, helmv2.EventReasonObjectsSkipped))
	}
}
