// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/read"
	"github.com/pintle-dev/pintle/internal/worker"
	"github.com/pintle-dev/pintle/test/apitest"
)

// templates are those of chart note.
const templates = `apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data:
  message: {{ .Values.message | quote }}
  {{- with .Values.password }}
  quoted: "the password is {{ . }}"
  {{- end }}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
data: {token: "{{ .Values.token | default "" | b64enc }}", generated: Z2VuZXJhdGVkLXRva2Vu}
{{- if .Values.more }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more}
data: {quoted: "{{ .Values.password }}", generated: generated-token}
{{- end }}
{{- if not .Values.less }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: less}
{{- end }}
`

const hook = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}
spec: {template: {spec: {containers: [{name: migrate, image: "migrate:{{ .Values.message }}", args: ["{{ .Values.password }}"]}]}}}
`

const appPath = "/api/v1/namespaces/prod/configmaps/app"

// world is an API server in memory with HelmRelease prod/app.
type world struct {
	*apitest.Server

	t       *testing.T
	objects []client.Object
	conn    *cluster.Connection
	archive []byte
	given   *Given
	differ  *Differ
	hr      *helmv2.HelmRelease
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, Server: apitest.New(t), given: &Given{}, archive: pack(t, map[string]string{
		"templates/all.yaml": templates, "templates/hook.yaml": hook, "templates/NOTES.txt": "{{ .Values.message }} and {{ .Values.password }}",
	})}
	w.Created = func(object map[string]any) {
		if object["kind"] == "Job" {
			object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		}
	}
	var err error
	if w.conn, err = cluster.Connect(w.Config()); err != nil {
		t.Fatal(err)
	}
	workers := worker.Local{Handler: handler.New()}
	w.differ = New(Options{Charts: Store(w.given.Before(nil), workers), Workers: workers, Now: time.Now})
	w.hr = &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", UID: "uid-1", Generation: 1},
		Spec: helmv2.HelmReleaseSpec{
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "app"},
			Install:  &helmv2.Install{DisableOpenAPIValidation: true}, Upgrade: &helmv2.Upgrade{DisableOpenAPIValidation: true, DisableWait: true},
		},
	}
	return w
}

// pack returns the archive of chart note.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	files["Chart.yaml"] = "apiVersion: v2\nname: note\nversion: 1.0.0\n"
	for name, content := range files {
		if err := tw.WriteHeader(&tar.Header{Name: "note/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// values sets spec.values.
func (w *world) values(all map[string]any) {
	w.t.Helper()
	raw, err := json.Marshal(all)
	if err != nil {
		w.t.Fatal(err)
	}
	w.hr.Spec.Values = &apiextensionsv1.JSON{Raw: raw}
	w.hr.Generation++
}

// secret makes a Secret with a password the last of spec.valuesFrom.
func (w *world) secret(password string) {
	w.objects = []client.Object{&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "values"}, Data: map[string][]byte{"values.yaml": []byte("password: " + password + "\ntoken: token-" + password)},
	}}
	w.hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "values"}}
}

func (w *world) query() Query {
	w.t.Helper()
	scheme, err := read.Scheme()
	if err != nil {
		w.t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(w.objects...).Build()
	return Query{Release: w.hr, Reader: c, Connection: w.conn, Artifact: w.given.Artifact("note.tgz", w.archive)}
}

// apply runs the pending action, and records it in the status as the controller does.
func (w *world) apply() {
	w.t.Helper()
	s, err := w.differ.subject(w.t.Context(), w.query(), true)
	if err != nil {
		w.t.Fatal(err)
	}
	decision := release.Pending(s.in)
	if decision == nil {
		w.t.Fatal("the release is in sync")
	}
	out := w.differ.runner.Run(w.t.Context(), w.conn, s.job(decision.HelmAction()))
	if out.Err != nil {
		w.t.Fatal(out.Err)
	}
	newest := out.Revisions[0]
	w.hr.Status.StorageNamespace, w.hr.Status.ObservedGeneration = "prod", w.hr.Generation
	w.hr.Status.History = helmv2.Snapshots{{
		APIVersion: release.SnapshotScheme, Digest: newest.Digest, Name: newest.Name, Namespace: newest.Namespace, Version: newest.Version,
		Status: newest.Status, ChartName: newest.ChartName, ChartVersion: newest.ChartVersion, ConfigDigest: newest.ConfigDigest,
	}}
	w.Requests = nil
}

// unwritten checks that nothing was written.
func (w *world) unwritten() {
	w.t.Helper()
	if len(w.Requests) > 0 {
		w.t.Errorf("the diff has written %q", w.Requests)
	}
}

// brief returns a diff as lines.
func brief(d view.Diff) []string {
	all := []string{strings.TrimSpace(d.Action + " " + d.Why)}
	add := func(prefix string, objects []view.ObjectDiff) {
		for _, o := range objects {
			line := prefix + o.Change + " " + o.String()
			for _, f := range o.Fields {
				line += fmt.Sprintf(" %s:%s>%s", f.Path, f.From, f.To)
				if f.By != "" {
					line += " of " + f.By
				}
			}
			all = append(all, line)
		}
	}
	add("", d.Objects)
	add("drifted: ", d.Drifted)
	for _, h := range d.Hooks {
		all = append(all, "hook "+h.Change+" "+h.Object)
	}
	for _, p := range d.Problems {
		all = append(all, "problem "+p)
	}
	return all
}
