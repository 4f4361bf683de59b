// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: '9'\n"}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		if err := tw.WriteHeader(&tar.Header{Name: "web/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
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

// input returns the rendering of an install with the default capabilities of Helm.
func input(t testing.TB, files, values map[string]any) remote.Rendering {
	t.Helper()
	texts := map[string]string{}
	for name, text := range files {
		texts[name] = fmt.Sprint(text)
	}
	data := pack(t, texts)
	return remote.Rendering{
		Chart:   remote.Chart{Name: "web", Version: "1.0.0+abc", Digest: digest.FromBytes(data).String(), Archive: data, Values: values},
		Release: "app", Namespace: "prod", Install: true, Revision: 1, Hooks: true, Timeout: time.Minute,
		Capabilities: chartutil.DefaultCapabilities,
	}
}

type m = map[string]any

// charts returns charts with everything that a rendering can contain.
func charts() map[string]struct{ files, values m } {
	return map[string]struct{ files, values m }{
		"Small": {m{"templates/a.yaml": "kind: ConfigMap\nmetadata: {name: {{ .Release.Name }} }\ndata: {v: {{ .Values.v }} }\n"}, m{"v": "x"}},
		"Numbers": {
			m{"templates/a.yaml": "kind: ConfigMap\nn: [{{ .Values.int64 }}, {{ .Values.float }}, {{ .Values.default }}]\n", "values.yaml": "default: 12345678\n"},
			m{"int64": int64(12345678), "float": 12345678.0},
		},
		// The stored chart keeps its nulls and its imports.
		"Nulls": {m{
			"Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, alias: other, import-values: [{child: exported, parent: imported}]}\n",
			"values.yaml":           "none: null\nother: {below: null}\nimported: {x: null}\n",
			"templates/a.yaml":      "kind: ConfigMap\nv: {{ .Values.imported.from }}\n",
			"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/values.yaml": "exported: {from: child, x: 1}\nnone: null\n",
			"charts/sub/templates/s": "kind: Service\nname: {{ .Chart.Name }}\n",
		}, m{"v": nil}},
		"Everything": {m{
			"Chart.yaml":              "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, condition: sub.enabled, import-values: [{child: exported, parent: imported}]}\n- {name: sub, version: 1.0.0, alias: other, condition: other.enabled}\n",
			"values.yaml":             "other: {enabled: false}\n",
			"values.schema.json":      `{"type":"object"}`,
			"templates/_h.tpl":        "{{ define \"h\" }}{{ .Chart.Version }}{{ end }}",
			"templates/NOTES.txt":     "notes of {{ .Release.Name }}",
			"templates/hook.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: 'pre-install,test', helm.sh/hook-weight: '3', helm.sh/hook-delete-policy: hook-succeeded}\n",
			"templates/all.yaml":      "kind: Secret\nall: {{ toJson .Values }}\nh: {{ include \"h\" . }}\nfile: {{ .Files.Get \"files/a\" }}\nkube: {{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has \"v1\" }}\n",
			"files/a":                 "content",
			"crds/crd.yaml":           "kind: CustomResourceDefinition\n",
			"charts/sub/Chart.yaml":   "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"charts/sub/values.yaml":  "exported: {from: child}\nenabled: true\n",
			"charts/sub/templates/s":  "kind: Service\nname: {{ .Chart.Name }}\n",
			"charts/sub/crds/crd.yml": "kind: CustomResourceDefinition\n",
		}, m{"imported": m{"more": true}}},
	}
}

// byHelm returns the revision that Helm makes in this process.
func byHelm(t testing.TB, in remote.Rendering) *helmrelease.Release {
	t.Helper()
	c, err := loader.LoadArchive(bytes.NewReader(in.Archive))
	if err != nil {
		t.Fatal(err)
	}
	c.Metadata.Version = in.Version
	i := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	i.ReleaseName, i.Namespace, i.ClientOnly, i.DryRun, i.SkipCRDs = in.Release, in.Namespace, true, true, true
	rls, err := i.Run(c, in.Values)
	if err != nil {
		t.Fatal(err)
	}
	return rls
}

// asStored replaces a value by that which Helm reads after it was stored.
func asStored[T any](t *testing.T, value *T) {
	t.Helper()
	raw, err := json.Marshal(*value)
	if err != nil {
		t.Fatal(err)
	}
	var read T
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	*value = read
}

// forms returns charts whose templates begin in ways that marks could change.
func forms() map[string]struct{ files, values m } {
	const cm = "kind: ConfigMap\nmetadata: {name: a}\n"
	return map[string]struct{ files, values m }{
		"Trim":     {m{"templates/a.yaml": "{{- if true }}\n" + cm + "{{- end -}}\n"}, nil},
		"TrimText": {m{"templates/a.yaml": "\n\n  {{- /* comment */ -}}\n" + cm}, nil},
		"CRLF":     {m{"templates/a.yaml": "{{ if true }}\r\nkind: ConfigMap\r\n{{ end }}\r\n"}, nil},
		"BOM":      {m{"templates/a.yaml": "\ufeff" + cm, "templates/NOTES.txt": "\ufeff{{- .Release.Name }}"}, nil},
		"Blank":    {m{"templates/a.yaml": cm, "templates/b.yaml": "", "templates/c.yaml": "\n \n", "templates/d.yaml": "{{/* comment */}}\n", "templates/NOTES.txt": " \n"}, nil},
		"Definitions": {m{
			"templates/a.yaml": cm + "b: {{ include \"b\" . }}\n", "templates/b.yaml": "{{ define \"b\" }}{{ .Release.Name }}{{ end }}\n{{ define \"c\" }}{{ end }}\n",
		}, nil},
		"DefinedElsewhere": {m{
			"templates/a.yaml": "\n", "templates/b.yaml": "{{ define \"web/templates/a.yaml\" }}" + cm + "{{ end }}",
			"templates/c.yaml": cm, "templates/d.yaml": "{{ define \"web/templates/c.yaml\" }}kind: Secret\n{{ end }}",
		}, nil},
		"Included": {m{
			"templates/a.yaml": cm + "name: {{ .Template.Name }}\n",
			"templates/b.yaml": cm + "sum: {{ include (print $.Template.BasePath \"/a.yaml\") . | sha256sum }}\nown: {{ include \"web/templates/c.yaml\" (dict \"own\" 1) | trim }}\n",
			"templates/c.yaml": "{{ if .own }}own{{ end }}\n",
		}, nil},
		"OtherDot": {m{
			"templates/a.yaml": cm + "{{ include \"web/templates/b.yaml\" \"text\" }}\n",
			"templates/b.yaml": "{{ if kindIs \"string\" . }}a: {{ . }}{{ end }}",
		}, nil},
		"Tpl":       {m{"templates/a.yaml": cm + "a: {{ tpl .Values.t . }}\n"}, m{"t": "{{- .Template.Name -}}"}},
		"Variables": {m{"templates/a.yaml": "{{ $x := 1 }}{{ range until 2 }}{{ $x = add $x . }}{{ end }}" + cm + "x: {{ $x }}\n"}, nil},
		"Library": {m{
			"charts/lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n", "charts/lib/templates/_l.tpl": "{{ define \"l\" }}lib{{ end }}",
			"charts/lib/templates/no.yaml": "{{ fail \"no\" }}", "templates/a.yaml": cm + "l: {{ include \"l\" . }}\n",
		}, nil},
	}
}

// traced is a worker that traces each call.
type traced struct{ worker.Caller }

func (w traced) Call(ctx context.Context, to worker.Call, answer worker.Answer) ([]byte, error) {
	to.Traced = true
	return w.Caller.Call(ctx, to, answer)
}

// callers returns workers in this process, one of which traces each call.
func callers() map[string]worker.Caller {
	return map[string]worker.Caller{"plain": worker.Local{Handler: New()}, "traced": traced{worker.Local{Handler: New()}}}
}

// TestRendersAsHelm: the result equals that of Helm in each byte, even if the call is traced.
func TestRendersAsHelm(t *testing.T) {
	t.Parallel()
	all := charts()
	maps.Copy(all, forms())
	for name, tc := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(t, tc.files, tc.values)
			rls := byHelm(t, in)
			raw, err := json.Marshal(rls.Chart)
			if err != nil {
				t.Fatal(err)
			}
			want := &remote.Rendered{Manifest: rls.Manifest, Notes: rls.Info.Notes, Hooks: rls.Hooks, Metadata: rls.Chart.Metadata, Chart: raw}
			asStored(t, &want.Hooks)
			asStored(t, &want.Metadata)
			for kind, w := range callers() {
				client := remote.New(w)
				for _, call := range []string{"first", "cached"} {
					got, err := client.Render(t.Context(), in, &rest.Config{})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s %s call (-Helm +worker):\n%s", kind, call, diff)
					}
				}
			}
		})
	}
}

// TestCacheIsBounded: charts are evicted, and a larger one is not cached.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	w := &functions{cache: newCache()}
	for i := range 8 {
		r := input(t, m{"files/large": strings.Repeat(fmt.Sprint(i), 4<<20)}, nil)
		if _, err := w.parse(&r); err != nil {
			t.Fatal(err)
		}
		if w.cache.bytes > maxChartBytes || w.cache.chart(r.Digest) == nil {
			t.Errorf("%d bytes are cached", w.cache.bytes)
		}
	}
	if n := w.cache.charts.Len(); n >= 8 {
		t.Errorf("%d charts are cached", n)
	}
	w.cache.charts.Purge()
	if w.cache.bytes != 0 {
		t.Errorf("an empty cache has %d bytes", w.cache.bytes)
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	client := remote.New(worker.Local{Handler: New()})
	for name, tc := range map[string]struct {
		files m
		want  remote.Facts
	}{
		"Plain":        {m{}, remote.Facts{}},
		"Lookup":       {m{"templates/a": `{{ lookup "v1" "Pod" "a" "b" }}`}, remote.Facts{Lookup: true}},
		"Capabilities": {m{"templates/a": "{{ .Capabilities.APIVersions }}"}, remote.Facts{Capabilities: true}},
		"CRDs":         {m{"crds/a.yaml": "kind: CustomResourceDefinition"}, remote.Facts{CRDs: true}},
		"CRDsBelow":    {charts()["Everything"].files, remote.Facts{Capabilities: true, CRDs: true}},
	} {
		in := input(t, tc.files, nil)
		got, err := client.Identify(t.Context(), "prod", in.Digest, in.Archive)
		tc.want.Name, tc.want.Version, tc.want.AppVersion, tc.want.Content = "web", "1.0.0", got.AppVersion, got.Content
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	var bad *remote.Unloadable
	if _, err := client.Identify(t.Context(), "prod", "x", []byte("no archive")); !errors.As(err, &bad) || !strings.HasPrefix(bad.Text, "cannot be read: ") {
		t.Errorf("no archive: %v", err)
	}
}

func TestCRDs(t *testing.T) {
	t.Parallel()
	client := remote.New(worker.Local{Handler: New()})
	files := charts()["Everything"].files
	for name, tc := range map[string]struct {
		reason           string
		values, defaults m
		want             []string
	}{
		"Enabled":  {"all charts are enabled", nil, nil, []string{"web/crds/crd.yaml", "web/charts/sub/crds/crd.yml"}},
		"Disabled": {"values disable the subchart", m{"sub": m{"enabled": false}}, nil, []string{"web/crds/crd.yaml"}},
		"Defaults": {"preserved values disable it", nil, m{"sub": m{"enabled": false}, "other": m{"enabled": false}}, []string{"web/crds/crd.yaml"}},
	} {
		in := input(t, files, tc.values)
		in.Defaults = tc.defaults
		got, err := client.CRDs(t.Context(), in.Chart)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range got.Files {
			names = append(names, f.Filename)
			if string(f.File.Data) != "kind: CustomResourceDefinition\n" {
				t.Errorf("%s: %s contains %q", name, f.Filename, f.File.Data)
			}
		}
		if diff := cmp.Diff(tc.want, names); diff != "" || got.Unpacked < 100 {
			t.Errorf("%s: %d bytes (-want +got):\n%s", tc.reason, got.Unpacked, diff)
		}
	}
}

// TestFailures: errors have the texts of Helm, except those about schemas, and the chart is kept if that is wanted. A trace does
// not change them.
func TestFailures(t *testing.T) {
	t.Parallel()
	for kind, w := range callers() {
		t.Run(kind, func(t *testing.T) { failures(t, remote.New(w)) })
	}
}

func failures(t *testing.T, client *remote.Client) {
	t.Helper()
	for name, tc := range map[string]struct {
		files, values m
		want          string
	}{
		"Template": {m{"templates/a.yaml": `{{ fail "no" }}`}, nil, `execution error at (web/templates/a.yaml:1:3): no`},
		"Schema":   {m{"values.schema.json": `{"required":["a"]}`}, nil, "values do not fit the schema of chart web: missing property 'a'"},
		"Type":     {m{"values.schema.json": `{"properties":{"n":{"type":"integer"}}}`}, m{"n": "x"}, "values do not fit the schema of chart web: /n: got string, want integer"},
		"External": {m{"values.schema.json": `{"$ref":"http://x/y"}`}, nil, `values.schema.json of chart web refers to "http://x/y", which is not read: a schema has to be complete`},
		"Kube":     {m{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: '>9'\n"}, nil, "chart requires kubeVersion: >9 which is incompatible with Kubernetes " + chartutil.DefaultCapabilities.KubeVersion.Version},
	} {
		in := input(t, tc.files, tc.values)
		_, err := client.Render(t.Context(), in, &rest.Config{})
		_, failure := errors.AsType[*worker.Failure](err)
		_, misfit := errors.AsType[*remote.Misfit](err)
		if failure == misfit || misfit != strings.Contains(tc.want, "do not fit") || err.Error() != tc.want {
			t.Errorf("%s: %v\nwant %s", name, err, tc.want)
		}
		in.KeepChart = true
		got, err := client.Render(t.Context(), in, &rest.Config{})
		if err != nil || got.Failed != tc.want || !json.Valid(got.Chart) || got.Metadata.Name != "web" || got.Manifest != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestSchemasOfDisabledCharts: the schema of a subchart that a condition or a tag disables is not read,
// and that of an enabled one must be complete.
func TestSchemasOfDisabledCharts(t *testing.T) {
	t.Parallel()
	files := m{
		"Chart.yaml":       "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.0.0, condition: db.enabled}\n- {name: cache, version: 1.0.0, tags: [extra]}\n",
		"templates/a.yaml": "a: b",
	}
	for _, name := range []string{"db", "cache"} {
		files["charts/"+name+"/Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
		files["charts/"+name+"/values.schema.json"] = `{"$ref":"http://x/` + name + `"}`
	}
	for name, tc := range map[string]struct {
		values m
		want   string
	}{
		"Disabled":  {m{"db": m{"enabled": false}, "tags": m{"extra": false}}, ""},
		"Condition": {m{"tags": m{"extra": false}}, `values.schema.json of chart db refers to "http://x/db"`},
		"Tag":       {m{"db": m{"enabled": false}}, `values.schema.json of chart cache refers to "http://x/cache"`},
	} {
		for kind, w := range callers() {
			_, err := remote.New(w).Render(t.Context(), input(t, files, tc.values), &rest.Config{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s, %s: %v, want %q", name, kind, err, tc.want)
			}
		}
	}
}

// TestLookups: templates read through the caller, and errors are those of Helm without a worker.
func TestLookups(t *testing.T) {
	t.Parallel()
	const host = "https://cluster:6443/prefix"
	api := server(func(r *http.Request) (int, string) {
		switch r.URL.Path {
		case "/prefix/api/v1":
			return http.StatusOK, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret"}]}`
		case "/prefix/api/v1/namespaces/prod/secrets/there":
			return http.StatusOK, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"there"},"data":{"n":"eA=="}}`
		case "/prefix/api/v1/namespaces/prod/secrets":
			return http.StatusOK, `{"apiVersion":"v1","kind":"SecretList","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"there"}}]}`
		case "/prefix/api/v1/namespaces/prod/secrets/gone":
			return http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		case "/prefix/api/v1/namespaces/prod/secrets/down":
			return 0, ""
		}
		return http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not allowed"}`
	})
	config := &rest.Config{Host: host, Transport: api}
	for kind, w := range callers() {
		t.Run(kind, func(t *testing.T) { lookups(t, remote.New(w), config) })
	}
}

func lookups(t *testing.T, client *remote.Client, config *rest.Config) {
	t.Helper()
	for name, template := range map[string]string{
		"There": `{{ (lookup "v1" "Secret" "prod" "there").data.n }}`, "List": `{{ len (lookup "v1" "Secret" "prod" "").items }}`,
		"Gone": `{{ lookup "v1" "Secret" "prod" "gone" | len }}`, "Forbidden": `{{ lookup "v1" "Secret" "other" "x" }}`,
		"Down": `{{ lookup "v1" "Secret" "prod" "down" }}`, "NoKind": `{{ lookup "v1" "Nothing" "prod" "x" }}`, "NoGroup": `{{ lookup "g/v1" "Thing" "prod" "x" }}`,
	} {
		in := input(t, m{"templates/a.yaml": "a: " + template}, nil)
		got, err := client.Render(t.Context(), in, config)
		c, loadErr := loader.LoadArchive(bytes.NewReader(in.Archive))
		if loadErr != nil {
			t.Fatal(loadErr)
		}
		values, valuesErr := chartutil.ToRenderValues(c, nil, chartutil.ReleaseOptions{Name: "app", Namespace: "prod", Revision: 1, IsInstall: true}, nil)
		if valuesErr != nil {
			t.Fatal(valuesErr)
		}
		files, want := engine.New(config).Render(c, values)
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%s: %v\nwant %v", name, err, want)
		}
		if text := files["web/templates/a.yaml"]; err == nil && got.Manifest != "---\n# Source: web/templates/a.yaml\n"+text+"\n" {
			t.Errorf("%s: %s\nwant %s", name, got.Manifest, text)
		}
	}
}

// server is an API server in memory. Status 0 is a failure of the connection.
type server func(*http.Request) (int, string)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := s(r)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// TestConnection: Helm's dry run can neither write nor read discovery.
func TestConnection(t *testing.T) {
	t.Parallel()
	c := &connection{}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://cluster/api/v1/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RoundTrip(request); !errors.Is(err, errMethod) {
		t.Errorf("a write: %v", err)
	}
	if _, err := c.ToDiscoveryClient(); !errors.Is(err, errConnection) {
		t.Errorf("discovery: %v", err)
	}
	if _, err := c.ToRESTMapper(); !errors.Is(err, errConnection) {
		t.Errorf("a mapper: %v", err)
	}
}

// TestUnknownFunction: a request that cannot be read, or is for another function, is an error.
func TestUnknownFunction(t *testing.T) {
	t.Parallel()
	h := New()
	if _, err := h(t.Context(), remote.FunctionRender, []byte("x"), nil); err == nil {
		t.Error("no error for a request that cannot be read")
	}
	if _, err := (worker.Local{Handler: h}).Call(t.Context(), worker.Call{Function: "other"}, nil); err == nil {
		t.Error("no error for another function")
	}
}

// TestResolver: the resolver of a worker process asks the caller, and only while a call that may
// use DNS runs.
func TestResolver(t *testing.T) {
	t.Parallel()
	r := &resolver{}
	asked := worker.Ask(func(name string, request []byte) ([]byte, error) {
		if name != remote.FunctionResolve || string(request) != "charts.example" {
			return nil, fmt.Errorf("%s of %s", name, request)
		}
		return []byte("192.0.2.1 2001:db8::1 ::ffff:192.0.2.2"), nil
	})
	r.ask.Store(&asked)
	got, err := r.resolver().LookupHost(t.Context(), "charts.example")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var unknown *net.DNSError
	if _, err := r.resolver().LookupHost(t.Context(), "other.example"); !errors.As(err, &unknown) || !unknown.IsNotFound {
		t.Errorf("another name: %v", err)
	}
	r.ask.Store(nil)
	if _, err := r.resolver().LookupHost(t.Context(), "charts.example"); err == nil {
		t.Error("a name is resolved without a call")
	}
	if _, err := r.respond([]byte("no message")); err == nil {
		t.Error("no error for bytes that are no message")
	}
}
