// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestStoredChartIsTheChart: the chart is stored, and not that which Helm was given.
func TestStoredChartIsTheChart(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["Chart.yaml"] = "apiVersion: v2\nname: note\nversion: 1.0.0\ndependencies: [{name: sub, version: '1', repository: ''}]\n"
	files["charts/sub/Chart.yaml"], files["templates/_h.tpl"] = "apiVersion: v2\nname: sub\nversion: '1'\n", `{{ define "h" }}{{ end }}`
	for i, action := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
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

// TestDeadWorkerEndsTheAction: the end of a worker fails the action, and nothing is stored. The next
// action of the same chart succeeds.
func TestDeadWorkerEndsTheAction(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	for _, action := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
		before, alive := len(w.stored()), w.runner.remote
		w.runner.remote = remote.New(dying{})
		w.Requests = nil
		out := w.runner.Run(t.Context(), w.conn, job(action, artifact, "1.0.0", nil))
		const want = "rendering chart note 1.0.0 took more than 256 MiB of memory, and was ended"
		if out.Err == nil || out.Err.Error() != want || len(w.stored()) != before || len(w.Requests) > 0 || out.Cancelled || out.Interrupted != nil {
			t.Fatalf("%s: %v, %d revisions, wrote %v", release.Name(action), out.Err, len(w.stored()), w.Requests)
		}
		w.runner.remote = alive
		if out = w.runner.Run(t.Context(), w.conn, job(action, artifact, "1.0.0", nil)); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
}

// dying is a worker that ends at its memory limit.
type dying struct{}

func (dying) Call(context.Context, worker.Call, worker.Answer) ([]byte, error) {
	return nil, &worker.Died{Limit: worker.Memory, MaxMemory: 256 << 20}
}

// TestNoWorkerInterrupts: without a worker, an action is interrupted, and stores nothing. The check of
// a target is incomplete, and a comparison failed for a transient reason.
func TestNoWorkerInterrupts(t *testing.T) {
	w := newWorld(t)
	w.Put("/api/v1/namespaces/prod", home("Active"))
	files := reading("# {{ .Capabilities.KubeVersion }}")
	artifact, alive := w.chart("1.0.0", files), w.runner.remote
	since := time.Unix(1e9, 0)
	for _, action := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
		before := len(w.stored())
		w.runner.remote = remote.New(absent{since})
		out := w.runner.Run(t.Context(), w.conn, job(action, artifact, "1.0.0", nil))
		want := release.Outage{Server: "the rendering of charts", Since: since, Cause: "no worker process is available: all of them were busy for 2m0s"}
		if out.Err == nil || out.Interrupted == nil || *out.Interrupted != want || len(w.stored()) != before || len(out.Revisions) > 0 || out.Cancelled {
			t.Fatalf("%s: %v, %+v, %d revisions", release.Name(action), out.Err, out.Interrupted, len(w.stored()))
		}
		w.runner.remote = alive
		w.must(job(action, artifact, "1.0.0", nil))
	}
	w.runner.remote = remote.New(absent{since})
	j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)
	if _, err := w.runner.Rerender(t.Context(), w.conn, j, 1); !apiretry.IsTransient(err) {
		t.Errorf("the comparison: %v", err)
	}
	j.Desired.Policy.Install.Timeout = time.Minute
	j.Desired.Target.Name = "other"
	if found, err := w.runner.CheckTarget(t.Context(), w.conn, j, target()); found.Refused != "" || !apiretry.IsTransient(err) {
		t.Errorf("the check of a target: %+v, %v", found, err)
	}
}

// absent is a worker that is always busy.
type absent struct{ since time.Time }

func (a absent) Call(context.Context, worker.Call, worker.Answer) ([]byte, error) {
	return nil, &worker.Unavailable{Cause: "all of them were busy for 2m0s", Since: a.since}
}

// TestForeignSchema: a schema is complete.
func TestForeignSchema(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["values.schema.json"] = `{"$ref":"http://charts/schema"}`
	foreign := job(release.Install{Timeout: time.Minute}, w.chart("1.0.1", files), "1.0.1", nil)
	if out := w.runner.Run(t.Context(), w.conn, foreign); out.Err == nil || !strings.Contains(out.Err.Error(), `values.schema.json of chart note refers to "http://charts/schema"`) {
		t.Errorf("a schema is read from elsewhere: %v", out.Err)
	}
	foreign.Spec.Install.DisableSchemaValidation = true
	if out := w.runner.Run(t.Context(), w.conn, foreign); out.Err != nil {
		t.Errorf("a disabled schema validation reads the schema: %v", out.Err)
	}
}

// TestUpgradeKeepsTheNamespace: templates of an upgrade see the namespace of the deployed revision,
// as with Helm.
func TestUpgradeKeepsTheNamespace(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {at: '{{ .Release.Namespace }} {{ .Release.Revision }}'}\n"}
	artifact := w.chart("1.0.0", files)
	w.must(job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil))
	j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil)
	j.Desired.Target.Namespace = "other"
	w.must(j)
	newest := w.stored()[1]
	if !strings.Contains(newest.Manifest, "at: 'prod 2'") || newest.Namespace != "prod" {
		t.Errorf("in namespace %s:\n%s", newest.Namespace, newest.Manifest)
	}
}
