// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const thingCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
	"spec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}, {name: v0, served: false}]}\n"

// through sends the requests of the connection to a transport in front of the world.
func (w *world) through(send func(req *http.Request) (*http.Response, error)) {
	w.t.Helper()
	config := *w.Config()
	config.Transport = transportFunc(send)
	var err error
	if w.conn, err = cluster.Connect(&config); err != nil {
		w.t.Fatal(err)
	}
}

// failure is an answer of an API server.
func failure(req *http.Request, code int, message string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":%q}`, code, message)
	return &http.Response{
		StatusCode: code, Request: req, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestOwnWebhook: a webhook that cannot be called is an outage, unless the release itself
// configures it: then the action fails at once.
func TestOwnWebhook(t *testing.T) {
	const (
		config = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: checks}\nwebhooks: [{name: check.example.com}]\n"
		said   = `Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: connection refused`
	)
	for name, tc := range map[string]struct {
		// before and after are the charts of the install and of the upgrade that calls the webhook.
		before, after map[string]string
		own           bool
	}{
		"Foreign": {nil, nil, false},
		"New":     {nil, map[string]string{"templates/checks.yaml": config}, true},
		"Old":     {map[string]string{"templates/checks.yaml": config}, nil, true},
		"Other":   {nil, map[string]string{"templates/checks.yaml": strings.Replace(config, "check.example.com", "other.example.com", 1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, broken := newWorld(t), false
				w.Offered = map[string][]string{"admissionregistration.k8s.io/v1": {
					`{"name":"validatingwebhookconfigurations","kind":"ValidatingWebhookConfiguration","namespaced":false,"verbs":["get","create","update","patch","delete","list"]}`,
				}}
				w.through(func(req *http.Request) (*http.Response, error) {
					if broken && req.Method == http.MethodPatch && req.URL.Path == configMapPath {
						return failure(req, http.StatusInternalServerError, said), nil
					}
					return w.RoundTrip(req)
				})
				with := func(more map[string]string) map[string]string {
					files := note()
					for file, text := range more {
						files[file] = text
					}
					return files
				}
				j := job(release.Install{Timeout: time.Hour}, w.chart("1.0.0", with(tc.before)), "1.0.0", nil)
				if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
					t.Fatal(out.Err)
				}
				broken = true
				began := time.Now()
				j = job(release.Upgrade{Timeout: time.Hour}, w.chart("2.0.0", with(tc.after)), "2.0.0", map[string]any{"message": "two"})
				out := w.runner.Run(t.Context(), w.conn, j)
				if out.Err == nil || (out.Interrupted == nil) != tc.own || !tc.own && !strings.Contains(out.Interrupted.Server, "check.example.com") {
					t.Errorf("%v, interrupted %+v", out.Err, out.Interrupted)
				}
				if took := time.Since(began); tc.own && took > time.Second {
					t.Errorf("the upgrade fails after %s", took)
				}
				if len(out.Revisions) == 0 || out.Revisions[0].Version != 2 || out.Revisions[0].Pending() == tc.own {
					t.Errorf("the revisions are %+v", out.Revisions)
				}
			})
		})
	}
}

// everyRequest has an install send requests of all kinds: of namespaces, definitions, lookups
// in templates, dry runs, records, objects and hooks.
func everyRequest() map[string]string {
	files := withHook("name: hook")
	files["crds/thing.yaml"] = thingCRD
	files["templates/lookup.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: looked}\n" +
		"data: {found: {{ (lookup \"v1\" \"Secret\" \"prod\" \"seed\").metadata.name | quote }}}\n"
	return files
}

// TestEveryRequest: whichever request of an action fails once, whether or not it was carried
// out, the action succeeds with one revision. With -short, every sixth fails in each way.
func TestEveryRequest(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 6
	}
	for i, way := range []string{"503", "lost"} {
		// Without a number, none fails.
		most := actOnce(t, way, 0)
		if most < 15 {
			t.Fatalf("only %d requests are sent", most)
		}
		for at := 1 + i*step/2; at <= most; at += step {
			actOnce(t, way, at)
		}
	}
}

// actOnce installs and upgrades a release. In each action, one request fails in a way. It returns
// how many requests the longer action sends.
func actOnce(t *testing.T, way string, at int) (most int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		// Requests about different objects are sent concurrently.
		var sent atomic.Int64
		var failed atomic.Value
		failed.Store("")
		w.Created = func(object map[string]any) {
			if object["kind"] == "CustomResourceDefinition" {
				object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
			}
		}
		w.Put("/apis/example.com/v1", map[string]any{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1", "resources": []any{map[string]any{"name": "things", "kind": "Thing"}},
		})
		w.Put("/api/v1/namespaces/prod/secrets/seed", map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "seed", "namespace": "prod"}})
		w.through(func(req *http.Request) (*http.Response, error) {
			if sent.Add(1) != int64(at) {
				return w.RoundTrip(req)
			}
			failed.Store(req.Method + " " + req.URL.Path)
			if way == "503" {
				return failure(req, http.StatusServiceUnavailable, "busy"), nil
			}
			if _, err := w.RoundTrip(req); err != nil {
				return nil, err
			}
			return nil, io.ErrUnexpectedEOF
		})
		artifact := w.chart("1.0.0", everyRequest())
		for i, a := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
			sent.Store(0)
			j := job(a, artifact, "1.0.0", map[string]any{"message": fmt.Sprint(i)})
			j.Spec.Install, j.Spec.Upgrade = &helmv2.Install{CreateNamespace: true}, &helmv2.Upgrade{}
			j.Spec.TargetNamespace = "prod"
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Err != nil {
				t.Errorf("%s, request %d (%s) %s: %v", release.Name(a), at, failed.Load(), way, out.Err)
				return
			}
			most = max(most, int(sent.Load()))
			if len(w.stored()) != i+1 || out.Revisions[0].Status != helmv2.StatusDeployed {
				t.Errorf("%s, request %d (%s) %s: the revisions are %+v", release.Name(a), at, failed.Load(), way, out.Revisions)
			}
		}
		if looked := w.Object("/api/v1/namespaces/prod/configmaps/looked"); looked == nil || !strings.Contains(fmt.Sprint(looked.Object["data"]), "seed") {
			t.Errorf("request %d (%s) %s: the lookup found %v", at, failed.Load(), way, looked)
		}
	})
	return most
}
