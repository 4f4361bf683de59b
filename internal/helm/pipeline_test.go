// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestStoredChartIsTheChart: what is stored does not tell that the sandbox stood in
// for the templates.
func TestStoredChartIsTheChart(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["Chart.yaml"] = "apiVersion: v2\nname: note\nversion: 1.0.0\ndependencies: [{name: sub, version: '1', repository: ''}]\n"
	files["charts/sub/Chart.yaml"], files["templates/_h.tpl"] = "apiVersion: v2\nname: sub\nversion: '1'\n", `{{ define "h" }}{{ end }}`
	for i, action := range []release.Action{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
		out := w.runner.Run(t.Context(), w.conn, job(action, w.chart("1.0.0", files), "1.0.0", nil))
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		c := w.stored()[i].Chart
		got := map[string]string{}
		for _, f := range c.Templates {
			got[f.Name] = string(f.Data)
		}
		want := map[string]string{"templates/cm.yaml": files["templates/cm.yaml"], "templates/_h.tpl": files["templates/_h.tpl"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("revision %d has other templates (-want +got):\n%s", i+1, diff)
		}
		if len(c.Metadata.Dependencies) != 1 || c.Metadata.Dependencies[0].Name != "sub" {
			t.Errorf("revision %d has other dependencies: %v", i+1, c.Metadata.Dependencies)
		}
	}
}

// TestAttackEndsTheAction: what would not end is the end of the action, and nothing
// is stored; the next one, of the same chart, is not the worse for it.
func TestAttackEndsTheAction(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/evil.yaml"] = `{{ tpl (default "" .Values.t) . }}`
	files["values.schema.json"] = `{"properties":{"t":{"type":"string"}}}`
	artifact := w.chart("1.0.0", files)
	evil := map[string]any{"t": "{{ tpl .Values.t . }}"}
	for _, action := range []release.Action{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
		before := len(w.stored())
		out := w.runner.Run(t.Context(), w.conn, job(action, artifact, "1.0.0", evil))
		if out.Err == nil || !strings.Contains(out.Err.Error(), "template note/templates/evil.yaml: templates include each other") || len(w.stored()) != before {
			t.Fatalf("%s: %v, %d revisions", release.Name(action), out.Err, len(w.stored()))
		}
		if out = w.runner.Run(t.Context(), w.conn, job(action, artifact, "1.0.0", nil)); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	files["values.schema.json"] = `{"$ref":"http://charts/schema"}`
	remote := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.1", files), "1.0.1", nil)
	if out := w.runner.Run(t.Context(), w.conn, remote); out.Err == nil || !strings.Contains(out.Err.Error(), `values.schema.json of chart note refers to "http://charts/schema"`) {
		t.Errorf("a schema is read from elsewhere: %v", out.Err)
	}
	remote.Spec.Upgrade.DisableSchemaValidation = true
	if out := w.runner.Run(t.Context(), w.conn, remote); out.Err != nil {
		t.Errorf("a disabled schema validation reads the schema: %v", out.Err)
	}
}
