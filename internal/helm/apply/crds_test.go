// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

const thingCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
	"spec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}, {name: v0, served: false}]}\n"

// TestCRDsAreServed: an established CRD is not served yet. The cached discovery is dropped when the
// CRD is served.
func TestCRDsAreServed(t *testing.T) {
	cases := map[string]struct {
		reason   string
		attempts int
		code     int
		want     string
	}{
		"AtOnce": {"nothing to wait for", 0, http.StatusNotFound, ""},
		"Later":  {"the group comes a moment later", 3, http.StatusNotFound, ""},
		"Never":  {"the wait has an end", 1 << 20, http.StatusNotFound, "CustomResourceDefinition things.example.com: version v1: established but not served"},
		"Error":  {"an error ends it", 1 << 20, http.StatusForbidden, "refused by the test"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = func(object map[string]any) {
				object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
			}
			w.Put("/apis/example.com/v1", map[string]any{
				"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1",
				"resources": []any{map[string]any{"name": "things", "kind": "Thing"}},
			})
			asked := 0
			w.Refuse = func(_, path string) int {
				if path != "/apis/example.com/v1" {
					return 0
				}
				if asked++; asked <= tc.attempts {
					return tc.code
				}
				return 0
			}
			known, err := w.conn.ToDiscoveryClient()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := known.ServerGroups(); err != nil || !known.Fresh() {
				t.Fatalf("the test needs a discovery that remembers: %v", err)
			}
			synctest.Test(t, func(t *testing.T) {
				files := []helmchart.CRD{{Filename: "note/crds/thing.yaml", File: &helmchart.File{Name: "crds/thing.yaml", Data: []byte(thingCRD)}}}
				err := w.client(t.Context(), nil).CRDs.Apply(files, CRDPlan{Timeout: time.Hour})
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s: error %v, want %q", tc.reason, err, tc.want)
				}
			})
			if tc.want == "" && (asked != tc.attempts+1 || known.Fresh()) {
				t.Errorf("%s: asked %d times, discovery is kept: %t", tc.reason, asked, known.Fresh())
			}
		})
	}
}

// TestCRDsAreEstablished: the wait for a CRD that is not established ends after a minute, whatever the
// timeout of the action is.
func TestCRDsAreEstablished(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		files := []helmchart.CRD{{Filename: "note/crds/thing.yaml", File: &helmchart.File{Name: "crds/thing.yaml", Data: []byte(thingCRD)}}}
		err := w.client(t.Context(), nil).CRDs.Apply(files, CRDPlan{Timeout: time.Hour})
		if took := time.Since(begun); err == nil || took < crdTimeout || took > crdTimeout+time.Second {
			t.Errorf("it ended after %s: %v", took, err)
		}
	})
}
