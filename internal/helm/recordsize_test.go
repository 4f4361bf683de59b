// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestTooLargeWritesNothing: neither objects nor what Helm does to older revisions
// before it stores a new one.
func TestTooLargeWritesNothing(t *testing.T) {
	for name, disabled := range map[string]bool{"Checked": false, "Unchecked": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one := 1
			files := note()
			act := func(a release.HelmAction, files map[string]string, version string) release.Outcome {
				j := job(a, w.chart(version, files), version, nil)
				j.Spec.MaxHistory = &one
				j.Spec.Upgrade = &helmv2.Upgrade{DisableOpenAPIValidation: disabled}
				return w.runner.Run(t.Context(), w.conn, j)
			}
			if out := act(release.Install{Timeout: time.Minute}, files, "1.0.0"); out.Err != nil || out.Record != nil {
				t.Fatalf("record %+v, %v", out.Record, out.Err)
			}
			if out := act(release.Upgrade{Timeout: time.Minute}, files, "1.0.1"); out.Err != nil {
				t.Fatal(out.Err)
			}
			before := len(w.Requests)
			files["files/blob"] = string(blob(800<<10, 1))
			out := act(release.Upgrade{Timeout: time.Minute}, files, "2.0.0")
			if !out.Oversized() || out.Record.Parts[0].Kind != release.PartFiles || out.Record.Parts[0].Largest != "files/blob" || out.Inventory != nil {
				t.Errorf("refused %t: %v, record %+v", out.Oversized(), out.Err, out.Record)
			}
			if wrote := w.Requests[before:]; len(wrote) > 0 {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

func TestServedAPIs(t *testing.T) {
	t.Parallel()
	file := "kind: ConfigMap\n---\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n  names: {kind: Thing}\n  versions:\n" +
		"  - {name: v2, served: true}\n  - {name: v1, served: false}\n---\n{\n"
	if diff := cmp.Diff([]string{"example.com/v2", "example.com/v2/Thing"}, servedAPIs(file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPrecheckWritesNoCRDs: a revision whose record would be too large is refused before the CRDs of
// its chart are written, even if its templates cannot be rendered without them.
func TestPrecheckWritesNoCRDs(t *testing.T) {
	const thing = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
		"spec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}]}\n"
	for name, tc := range map[string]struct {
		reason, template string
		size             int
		large            bool
	}{
		"Rendered": {"the rendered chart is too large", configMap, 800 << 10, true},
		"Needed": {
			"templates see the APIs of the CRDs", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n" +
				`{{ if .Capabilities.APIVersions.Has "example.com/v1/Thing" }}data: {a: {{ randAlphaNum 1000000 }} }{{ end }}`, 300 << 10, true,
		},
		"NotRendered": {"the chart alone is too large", `{{ fail "never" }}`, 800 << 10, true},
		"Smaller":     {"a chart that fits is not refused", configMap, 300 << 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = func(object map[string]any) {
				object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
			}
			if !tc.large {
				w.Offered = map[string][]string{"example.com/v1": {`{"name":"things","kind":"Thing","namespaced":true,"verbs":["get"]}`}}
			}
			files := note()
			files["templates/cm.yaml"], files["crds/thing.yaml"], files["files/blob"] = tc.template, thing, string(blob(tc.size, 1))
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil)
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Oversized() != tc.large || tc.large && len(w.Requests) > 0 || !tc.large && (out.Record != nil || out.Err != nil) {
				t.Errorf("%s: refused %t: %v, record %+v, wrote %v", tc.reason, out.Oversized(), out.Err, out.Record, w.Requests)
			}
		})
	}
}
