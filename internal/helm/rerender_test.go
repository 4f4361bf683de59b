// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/values"
)

const (
	seenPath  = "/api/v1/namespaces/prod/secrets/seen"
	monitored = "monitoring.example.com/v1"

	seen = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: looked-up}\ndata:\n" +
		"  value: {{ (lookup \"v1\" \"Secret\" .Release.Namespace \"seen\").data | toJson | quote }}\n"
	monitor = "{{- if .Capabilities.APIVersions.Has \"" + monitored + "/Monitor\" }}\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: monitored}\n{{- end }}\n"
	made = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata:\n" +
		"  release: '{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Service }} {{ .Release.Revision }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }}'\n" +
		"  chart: '{{ .Chart.Version }} {{ .Chart.AppVersion }} {{ .Template.Name }}'\n" +
		"  kube: {{ .Capabilities.KubeVersion.Version }}\n  helm: {{ .Capabilities.HelmVersion.Version }}\n"
)

// monitors adds a kind to the APIs of the server.
func (w *world) monitors() {
	w.Offered = map[string][]string{monitored: {`{"name":"monitors","kind":"Monitor","namespaced":true,"verbs":["get"]}`}}
}

// folder returns the files of a chart in test/charts.
func folder(t *testing.T, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	dir := os.DirFS("../../test/charts/" + name)
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(dir, path)
		files[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// everything is a chart with templates that are hard to render again.
func everything() map[string]string {
	const parent = "apiVersion: v2\nname: note\nversion: 1.0.0\nappVersion: '9'\nkubeVersion: '>=1.20.0-0'\ndependencies:\n" +
		"- {name: sub, version: 1.0.0, condition: sub.enabled, import-values: [{child: exported, parent: imported}]}\n" +
		"- {name: sub, version: 1.0.0, alias: other, condition: other.enabled}\n- {name: lib, version: 1.0.0}\n"
	return map[string]string{
		"Chart.yaml":              parent,
		"values.yaml":             "message: default\nbig: 12345678\ngone: {a: 1, b: 2}\nsub: {own: parent}\nother: {enabled: false}\n",
		"values.schema.json":      schema,
		"crds/definition.yaml":    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
		"files/config.txt":        "{{ .Values.message }}\n",
		"templates/_helpers.tpl":  "{{- define \"note.labels\" }}helper: {{ .Release.Revision | quote }}{{ end }}\n{{/* nothing */}}\n",
		"templates/NOTES.txt":     "{{ lookup \"v1\" \"Secret\" .Release.Namespace \"seen\" }} {{ randAlphaNum 5 }}\n",
		"templates/before.yaml":   beforeHook + "\ndata: {random: '{{ randAlphaNum 8 }}'}\n",
		"templates/tests/pod.yml": testHook,
		"templates/cm.yaml":       configMap + "---\n" + strings.Replace(beforeHook, "before", "{{ randAlpha 5 | lower }}", 1) + "\n---\n\n---\n# a comment\n",
		"templates/made.yaml":     made,
		"templates/seen.yaml":     seen,
		"templates/monitor.yaml":  monitor,
		"templates/values.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: values\n  labels: { {{ include \"note.labels\" . }} }\nstringData:\n" +
			"  all: |-\n{{ omit .Values \"global\" | toYaml | indent 4 }}\n  big: {{ .Values.big | quote }}\n  file: {{ tpl (.Files.Get \"files/config.txt\") . | quote }}\n" +
			"  sum: {{ include (print $.Template.BasePath \"/made.yaml\") . | sha256sum }}\n",
		"templates/service.yaml":             "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\nspec: {ports: [{port: 80}]}\n",
		"charts/sub/Chart.yaml":              "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.yaml":             "own: child\nlarge: 7654321\nexported: {from: child, large: 3456789}\n",
		"charts/sub/templates/NOTES.txt":     "notes",
		"charts/sub/templates/account.yaml":  "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {{ .Chart.Name }}\n  annotations: {own: {{ .Values.own }}, large: {{ .Values.large | quote }}, lib: {{ include \"lib.version\" . }} }\n",
		"charts/lib/Chart.yaml":              "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
		"charts/lib/templates/_version.yaml": "{{- define \"lib.version\" }}{{ (.Root | default .).Capabilities.KubeVersion.Version }}{{ end }}\n",
	}
}

// unaffected returns the job without waits, since no object of the fake server becomes ready.
func unaffected(j Job) Job {
	j.Spec.Install.CRDs, j.Spec.Upgrade.CRDs = helmv2.CRDsSkip, helmv2.CRDsSkip
	j.Spec.Install.DisableWait, j.Spec.Install.DisableHooks = true, true
	j.Spec.Upgrade.DisableWait, j.Spec.Upgrade.DisableHooks = true, true
	return j
}

// looking is the result for a chart with all kinds of reads.
func looking() remote.Facts { return remote.Facts{Lookup: true, Capabilities: true} }

// must runs a job, which has to succeed.
func (w *world) must(j Job) {
	w.t.Helper()
	if out := w.runner.Run(w.t.Context(), w.conn, j); out.Err != nil {
		w.t.Fatal(out.Err)
	}
}

// rerendered renders a revision again, even if its chart does not read the cluster. It checks that
// nothing is written.
func (w *world) rerendered(j Job, version int) release.RenderResult {
	w.t.Helper()
	w.Requests = nil
	vals := values.CloneMap(j.Values)
	got, err := w.runner.rerender(w.t.Context(), w.conn, j, version, looking())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(w.Requests) > 0 {
		w.t.Errorf("wrote %v", w.Requests)
	}
	if diff := cmp.Diff(vals, values.CloneMap(j.Values)); diff != "" {
		w.t.Errorf("the job's values were changed (-want +got):\n%s", diff)
	}
	return got
}

// same checks that a rendering equals the stored manifest in each byte.
func (w *world) same(j Job, version int) {
	w.t.Helper()
	if got := w.rerendered(j, version); got.Changed || got.Unstable || got.Capabilities == "" {
		w.t.Errorf("revision %d: %+v", version, got)
	}
	store, err := w.runner.storage.Open(w.t.Context(), w.conn, target(), storage.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	in, stored, err := inputOf(store, "app", version)
	if err != nil {
		w.t.Fatal(err)
	}
	capabilities, err := render.CapabilitiesOf(w.conn)
	if err != nil {
		w.t.Fatal(err)
	}
	in.Capabilities = capabilities.Capabilities
	manifest, err := w.runner.again(w.conn, j).rerender(w.t.Context(), in, stored)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(stored.Manifest, manifest); diff != "" {
		w.t.Errorf("revision %d (-stored +rendered):\n%s", version, diff)
	}
}

// TestRerenderTheSame: in the same cluster, a revision of an install or upgrade is rendered again
// with the same bytes.
func TestRerenderTheSame(t *testing.T) {
	type m = map[string]any
	library := configAndHook()
	maps.Copy(library, map[string]string{"templates/made.yaml": made, "templates/seen.yaml": seen})
	cases := map[string]struct {
		files  map[string]string
		values m
		spec   string
	}{
		"Hello":            {files: folder(t, "hello")},
		"Bench":            {files: folder(t, "bench")},
		"Fickle":           {files: folder(t, "fickle")},
		"Note":             {files: note(), values: m{"message": "one"}},
		"Everything":       {files: everything(), values: m{"message": "one", "sub": m{"enabled": true}}},
		"Subcharts":        {files: everything(), values: m{"other": m{"enabled": true, "own": "mine"}, "sub": m{"enabled": false}}},
		"Nulls":            {files: everything(), values: m{"gone": m{"a": nil}, "sub": m{"own": nil}, "none": nil}},
		"NullTable":        {files: everything(), values: m{"gone": nil, "big": 3, "large": 98765432}},
		"Combined":         {files: library, spec: labelAll},
		"NoHooks":          {files: everything(), spec: labelAll + "postRenderStrategy: nohooks\n"},
		"Separate":         {files: library, spec: labelAll + "postRenderStrategy: separate\n"},
		"CommonMetadata":   {files: everything(), spec: "commonMetadata: {labels: {a: b}}\n"},
		"SchemaNotChecked": {files: note(), values: m{"message": 1}, spec: "install: {disableSchemaValidation: true}\nupgrade: {disableSchemaValidation: true}\n"},
		"SchemaOfOpenAPI":  {files: folder(t, "bench"), spec: "install: {disableOpenAPIValidation: true}\nupgrade: {disableOpenAPIValidation: true}\n"},
		"Validated":        {files: note(), spec: "install: {disableOpenAPIValidation: false}\nupgrade: {disableOpenAPIValidation: false}\n"},
		"ClientSide":       {files: everything(), spec: "install: {serverSideApply: false}\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put(seenPath, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "seen"}, "data": m{"a": "Yg=="}})
			artifact := w.chart("1.0.0", tc.files)
			j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0+abc", tc.values)
			j = unaffected(rendered(t, j, tc.spec))
			w.must(withValues(j))
			w.same(withValues(j), 1)
			j.Action = release.Upgrade{Timeout: time.Minute}
			w.must(withValues(j))
			w.same(withValues(j), 2)
			w.same(withValues(j), 1)
		})
	}
}

// withValues returns the job with a copy of its values, which Helm may change.
func withValues(j Job) Job {
	j.Values = values.CloneMap(j.Values)
	return j
}

// TestRerenderNull: a value that null removed is missing in the new rendering as well. Otherwise
// TestRerenderTheSame would show nothing.
func TestRerenderNull(t *testing.T) {
	w := newWorld(t)
	j := unaffected(job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", everything()), "1.0.0", map[string]any{"gone": map[string]any{"a": nil}}))
	w.must(withValues(j))
	j.Values = map[string]any{}
	if got := w.rerendered(j, 1); !got.Changed {
		t.Errorf("%+v", got)
	}
}

// TestRerenderPreserved: an upgrade that preserved the values of a revision is rendered with those,
// even if that revision is deleted.
func TestRerenderPreserved(t *testing.T) {
	type m = map[string]any
	for name, values := range map[string]m{
		"Kept":      {"other": m{"own": "mine"}},
		"Given":     {"message": "new", "big": int64(87654321), "large": 5555555, "sub": m{"own": "new"}},
		"Null":      {"message": nil, "none": nil},
		"NullTable": {"gone": nil, "sub": m{"own": nil, "large": 2222222}},
		"Switch":    {"other": m{"enabled": true}, "sub": m{"enabled": false}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", everything())
			was := m{"message": "old", "large": 9999999, "sub": m{"enabled": true, "own": "old"}, "gone": m{"a": 5, "c": 6}}
			j := unaffected(job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", was))
			w.must(withValues(j))
			j.Action, j.Values = release.Upgrade{Timeout: time.Minute}, values
			j.Spec.Upgrade.PreserveValues = true
			w.must(withValues(j))
			w.same(withValues(j), 2)
			w.Mu.Lock()
			delete(w.Objects, "/api/v1/namespaces/prod/secrets/"+storage.Key("app", 1))
			w.Mu.Unlock()
			w.same(withValues(j), 2)
		})
	}
}

// TestRerenderOfRollback: the revision of a rollback is rendered as its target revision.
func TestRerenderOfRollback(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/made.yaml"] = made
	artifact := w.chart("1.0.0", files)
	install := unaffected(job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil))
	w.must(withValues(install))
	upgrade := install
	upgrade.Action = release.Upgrade{Timeout: time.Minute}
	upgrade.Values = map[string]any{"message": "two"}
	w.must(withValues(upgrade))
	w.must(withValues(upgrade))
	back := install
	back.Spec.Rollback = &helmv2.Rollback{DisableWait: true}
	back.Action = release.Rollback{Version: 2}
	w.must(back)
	w.same(withValues(upgrade), 4)
	back.Action = release.Rollback{Version: 1}
	w.must(back)
	w.same(withValues(install), 5)
	back.Action = release.Rollback{Version: 5}
	w.must(back)
	w.same(withValues(install), 6)
	for version := 1; version < 6; version++ {
		w.Mu.Lock()
		delete(w.Objects, "/api/v1/namespaces/prod/secrets/"+storage.Key("app", version))
		w.Mu.Unlock()
	}
	w.must(withValues(upgrade))
	if got, err := w.runner.Rerender(t.Context(), w.conn, withValues(install), 1); err == nil || !strings.Contains(err.Error(), "revision 1 of release app: ") {
		t.Errorf("a revision that is gone: %+v, %v", got, err)
	}
}

// TestRollbackTarget: the target of a rollback is not guessed.
func TestRollbackTarget(t *testing.T) {
	for said, want := range map[string]int{
		"Rollback to 2": 2, "Rollback to 7": 0, "Rollback to 0": 0, "Rollback complete": 0, "Rollback to all": 0, "": 0,
	} {
		if got := rollbackTarget(&helmrelease.Release{Version: 7, Info: &helmrelease.Info{Description: said}}); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
		}
	}
}

// reading is a chart with one template that may read the cluster.
func reading(template string) map[string]string {
	files := configAndHook()
	files["templates/reading.yaml"] = template
	return files
}

func TestRerenderChanged(t *testing.T) {
	secret := func(value string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "seen"}, "data": map[string]any{"a": value}}
	}
	cases := map[string]struct {
		reason string
		files  map[string]string
		spec   string
		change func(*world)
		want   release.RenderResult
	}{
		"Kind": {
			reason: "a kind is offered that the chart asks for", files: reading(monitor), change: (*world).monitors,
			want: release.RenderResult{Reads: true, Changed: true},
		},
		"KindPatched": {
			reason: "with post-renderers too", files: reading(monitor), change: (*world).monitors, spec: labelAll,
			want: release.RenderResult{Reads: true, Changed: true},
		},
		"OtherKind": {
			reason: "a kind is offered that it does not ask for", files: reading(strings.ReplaceAll(monitor, "Monitor", "None")), change: (*world).monitors,
			want: release.RenderResult{Reads: true},
		},
		"Object": {
			reason: "an object is another", files: reading(seen), change: func(w *world) { w.Put(seenPath, secret("Yw==")) },
			want: release.RenderResult{Reads: true, Lookup: true, Changed: true},
		},
		"ObjectGone": {
			reason: "an object is gone", files: reading(seen), change: func(w *world) { delete(w.Objects, seenPath) },
			want: release.RenderResult{Reads: true, Lookup: true, Changed: true},
		},
		"Nothing": {
			reason: "nothing has changed", files: reading(seen + "---\n" + monitor), change: func(*world) {},
			want: release.RenderResult{Reads: true, Lookup: true},
		},
		"Hook": {
			reason: "hooks do not count", files: reading(strings.Replace(monitor, "{name: monitored}", "{name: monitored, annotations: {helm.sh/hook: pre-upgrade}}", 1)),
			change: (*world).monitors, want: release.RenderResult{Reads: true},
		},
		"Spelling": {
			reason: "the same objects in other words are the same", change: (*world).monitors,
			files: reading("{{- if .Capabilities.APIVersions.Has \"" + monitored + "\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n{{ else }}\n" +
				"kind: \"ConfigMap\"\napiVersion: v1\nmetadata:\n  name: x # so\n{{- end }}"),
			want: release.RenderResult{Reads: true},
		},
		"Random": {
			reason: "random values differ each time", change: func(*world) {},
			files: reading(seen + "  random: {{ randAlphaNum 16 }}\n"),
			want:  release.RenderResult{Reads: true, Lookup: true, Unstable: true},
		},
		"Certificate": {
			reason: "and so are certificates", change: func(*world) {},
			files: reading(seen + "  cert: {{ (genCA \"x\" 1).Cert | b64enc }}\n"),
			want:  release.RenderResult{Reads: true, Lookup: true, Unstable: true},
		},
		"Day": {
			reason: "and what changes once a day, once something else has changed", change: (*world).monitors,
			files: reading(monitor + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: day}\ndata: {day: {{ now | date \"2006-01-02\" | quote }} }\n"),
			want:  release.RenderResult{Reads: true, Unstable: true},
		},
		"KeptRandom": {
			reason: "a password that is looked up is not random", change: func(*world) {},
			files: reading("{{ $s := lookup \"v1\" \"Secret\" .Release.Namespace \"kept\" }}apiVersion: v1\nkind: Secret\nmetadata: {name: kept}\n" +
				"data: {password: {{ if $s }}{{ $s.data.password }}{{ else }}{{ randAlphaNum 16 | b64enc }}{{ end }} }\n"),
			want: release.RenderResult{Reads: true, Lookup: true},
		},
		"NoReads": {
			reason: "a chart that reads nothing is not rendered", files: reading("# {{ randAlphaNum 16 }}"), change: (*world).monitors,
			want: release.RenderResult{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put(seenPath, secret("Yg=="))
			j := unaffected(rendered(t, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", tc.files), "1.0.0", nil), tc.spec))
			w.must(withValues(j))
			tc.change(w)
			w.Requests, w.Reads = nil, nil
			got, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 1)
			if err != nil {
				t.Fatal(err)
			}
			if (got.Capabilities != "") != got.Reads {
				t.Errorf("offers %q", got.Capabilities)
			}
			got.Capabilities = ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(w.Requests) > 0 || !got.Reads && len(w.Reads) > 0 {
				t.Errorf("wrote %v, read %v", w.Requests, w.Reads)
			}
		})
	}
}

// TestRerenderIncompleteCapabilities: a manifest that changed because of incomplete capabilities is
// an error.
func TestRerenderIncompleteCapabilities(t *testing.T) {
	w := newWorld(t)
	w.monitors()
	j := unaffected(job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", reading(monitor)), "1.0.0", nil))
	w.must(withValues(j))
	w.same(withValues(j), 1)
	w.Refuse = func(_, path string) int {
		if path == "/apis/"+monitored {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	got, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 1)
	if err == nil || got.Changed || !strings.Contains(err.Error(), "the API server could not tell all that it offers: ") {
		t.Errorf("%+v, %v", got, err)
	}
	w.Refuse = nil
	w.Offered = nil
	if got, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 1); err != nil || !got.Changed {
		t.Errorf("once it can: %+v, %v", got, err)
	}
}

// TestRerenderErrors: a chart that cannot be rendered any more is an error, without secrets.
func TestRerenderErrors(t *testing.T) {
	w := newWorld(t)
	files := reading("{{ if .Capabilities.APIVersions.Has \"" + monitored + "\" }}{{ fail .Values.message }}{{ end }}")
	j := unaffected(job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", map[string]any{"message": "hunter2"}))
	j.Secrets = []string{"hunter2"}
	w.must(withValues(j))
	w.monitors()
	got, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 1)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "***") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 7); err == nil || !strings.Contains(err.Error(), "revision 7 of release app: ") {
		t.Errorf("no such revision: %v", err)
	}
	w.Refuse = func(_, path string) int {
		if path == "/version" {
			return http.StatusForbidden
		}
		return 0
	}
	if _, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 1); err == nil {
		t.Error("no error although nothing is offered")
	}
	if _, err := w.runner.Capabilities(uncached{}); err == nil {
		t.Error("no error although the way does not know what is offered")
	}
}

// uncached is a connection without cached capabilities.
type uncached struct {
	genericclioptions.RESTClientGetter
}

// TestCapabilities: the digest changes with the kinds and the version of the API server, and equals
// that of a rendering.
func TestCapabilities(t *testing.T) {
	w := newWorld(t)
	digest := func() string {
		t.Helper()
		d, err := w.runner.Capabilities(w.conn)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest()
	if again := digest(); again != first || !strings.HasPrefix(first, "sha256:") {
		t.Errorf("digests %s and %s", first, again)
	}
	w.monitors()
	second := digest()
	if second == first {
		t.Error("the digest is the same although there is one kind more")
	}
	j := unaffected(job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", reading(monitor)), "1.0.0", nil))
	w.must(withValues(j))
	if got := w.rerendered(j, 1); got.Capabilities != second {
		t.Errorf("a rendering reports %s", got.Capabilities)
	}
	w.Offered = nil
	asked := 0
	w.Refuse = func(_, path string) int {
		if path == "/version" {
			asked++
		}
		return 0
	}
	if got := w.rerendered(j, 1); !got.Changed || asked != 1 {
		t.Errorf("asked %d times what is offered for %+v", asked, got)
	}
	if third := digest(); third != first {
		t.Errorf("digest %s, want that of the beginning", third)
	}
}

// TestCapabilitiesDigest: the cached digest is not returned for other capabilities.
func TestCapabilitiesDigest(t *testing.T) {
	w := newWorld(t)
	c, err := render.CapabilitiesOf(w.conn)
	if err != nil {
		t.Fatal(err)
	}
	want, err := w.runner.Capabilities(w.conn)
	if err != nil {
		t.Fatal(err)
	}
	var d render.CapabilitiesDigests
	if got := d.Digest(c.Capabilities); got != want || d.Digest(c.Capabilities) != got {
		t.Errorf("digest %s, want %s", got, want)
	}
	other := *c.Capabilities
	other.APIVersions = slices.Clone(other.APIVersions)
	other.APIVersions[0] = "other/v1"
	if d.Digest(&other) == want {
		t.Error("other APIs have the same digest")
	}
	if d.Digest(c.Capabilities) != want {
		t.Error("the same APIs have another digest")
	}
	newer := *c.Capabilities
	newer.KubeVersion.Version = "v1.99.0"
	if d.Digest(&newer) == want {
		t.Error("another version has the same digest")
	}
}
