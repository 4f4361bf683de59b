// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
	"text/template"
	_ "unsafe" // for go:linkname

	action4 "helm.sh/helm/v4/pkg/action"
	loader4 "helm.sh/helm/v4/pkg/chart/loader"
	release4 "helm.sh/helm/v4/pkg/release/v1"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata of the packages that are compared with Helm 4")

//go:linkname functions4 helm.sh/helm/v4/pkg/engine.funcMap
func functions4() template.FuncMap

// rendering is what Helm 4 makes of a chart.
type rendering struct {
	Name string `json:"name"`
	// Files are those of the chart. Values are the user's.
	Files  map[string]string `json:"files"`
	Values map[string]any    `json:"values,omitempty"`
	// Manifest is the result, and Fails is true if there is none.
	Manifest string `json:"manifest,omitempty"`
	Fails    bool   `json:"fails,omitempty"`
	// Differs is true if Pintle has another result, which a decision record lists.
	Differs bool `json:"differs,omitempty"`
}

// TestRenderings: the file of the renderer has the functions and the results of Helm 4.
func TestRenderings(t *testing.T) {
	got := struct {
		Functions  []string    `json:"functions"`
		Renderings []rendering `json:"renderings"`
	}{Functions: slices.Sorted(maps.Keys(functions4()))}
	for _, r := range slices.Concat(expressions(), nulls(), differences()) {
		got.Renderings = append(got.Renderings, rendered(t, r))
	}
	golden(t, "../../internal/render/handler/testdata/helm4.json", got)
}

// golden compares a value with a file, or writes the file.
func golden(t *testing.T, path string, got any) {
	t.Helper()
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, buf.Bytes()) {
		t.Errorf("%s differs from Helm 4; go test -args -rewrite writes it. Got:\n%s", path, buf.Bytes())
	}
}

// rendered returns r with the result of a dry run of Helm 4.
func rendered(t *testing.T, r rendering) rendering {
	t.Helper()
	r.Files = maps.Clone(r.Files)
	if r.Files["Chart.yaml"] == "" {
		r.Files["Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
	}
	c, err := loader4.LoadArchive(bytes.NewReader(pack(t, r.Files)))
	if err != nil {
		t.Fatal(err)
	}
	// Helm changes the values.
	var values map[string]any
	raw, err := json.Marshal(r.Values)
	if err = errors.Join(err, json.Unmarshal(raw, &values)); err != nil {
		t.Fatal(err)
	}
	i := action4.NewInstall(action4.NewConfiguration())
	i.ReleaseName, i.Namespace, i.DryRunStrategy = "app", "prod", action4.DryRunClient
	done, err := i.Run(c, values)
	if r.Fails = err != nil; !r.Fails {
		r.Manifest = done.(*release4.Release).Manifest
	}
	return r
}

func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := tw.WriteHeader(&tar.Header{Name: "web/" + name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// expressions returns charts with one expression each, whose functions Helm 3 lacks or has in another
// form.
func expressions() []rendering {
	var all []rendering
	for _, e := range []string{
		`dict "b" (list 1 2.5 "x" nil) "a" (dict "c" true) | mustToYaml`,
		`mustToYaml ""`,
		`mustToYaml nil`,
		`mustToYaml "a: b\n\n"`,
		`toYaml (float64 "NaN")`,
		`mustToYaml (float64 "NaN")`,
		`mustToYaml (dict "f" (float64 "Inf"))`,
		`dict "b" (list 1 2) "a" (dict "c" true) | mustToToml`,
		`mustToToml (dict "n" nil)`,
		`mustToToml (list 1)`,
		`toToml (list 1)`,
		`mustToToml (dict "l" (list 1 nil))`,
		`toToml (dict "l" (list 1 nil))`,
		`mustToToml "text"`,
		`dict "b" (list 1 2.5 "<x>" nil) | mustToJson`,
		`mustToJson .Values.none`,
		`mustToJson (float64 "NaN")`,
		`toJson (float64 "NaN")`,
		`mustToDuration "1h2m3s"`,
		`mustToDuration " 90s "`,
		`mustToDuration "2.5"`,
		`mustToDuration 90`,
		`mustToDuration 1.5`,
		`mustToDuration .Values.float`,
		`mustToDuration (mustToDuration "3m")`,
		`mustToDuration (int64 7)`,
		`mustToDuration .Values.none`,
		`mustToDuration ""`,
		`mustToDuration "soon"`,
		`mustToDuration true`,
		`mustToDuration (list 1)`,
		`mustToDuration 9223372036`,
		`mustToDuration 9223372037`,
		`mustToDuration -9223372037`,
		`mustToDuration 9.3e9`,
		`mustToDuration "NaN"`,
		`mustToDuration "Inf"`,
		`mustToDuration "9223372036.9"`,
		`durationSeconds "1m30.5s"`,
		`durationSeconds "soon"`,
		`durationSeconds nil`,
		`durationMilliseconds "1.5s"`,
		`durationMilliseconds "soon"`,
		`durationMicroseconds 2`,
		`durationMicroseconds "soon"`,
		`durationNanoseconds "1us"`,
		`durationNanoseconds "soon"`,
		`durationMinutes "90s"`,
		`durationMinutes "soon"`,
		`durationHours "90m"`,
		`durationHours "soon"`,
		`durationDays "36h"`,
		`durationDays "soon"`,
		`durationWeeks "84h"`,
		`durationWeeks "soon"`,
		`durationRoundTo "2h13m" "30m"`,
		`durationRoundTo "2h16m" "30m"`,
		`durationRoundTo "soon" "30m"`,
		`durationRoundTo "2h13m" "soon"`,
		`durationRoundTo "2h13m" "0s"`,
		`durationTruncateTo "2h16m" 1800`,
		`durationTruncateTo "-2h16m" "1h"`,
		`durationTruncateTo "soon" "30m"`,
		`durationTruncateTo "2h13m" "soon"`,
		`durationTruncateTo "2h13m" "-1m"`,
		`mustToDuration "1h" | printf "%T"`,
		`durationMilliseconds "1h" | printf "%T"`,
		`durationMinutes "1h" | printf "%T"`,
		`tpl "{{ mustToYaml .Values.map }}" .`,
		`include "helper" .`,
		`durationFromHours 3`, // no function of Helm 4
	} {
		all = append(all, rendering{Name: e, Values: map[string]any{"float": 2.5, "map": map[string]any{"a": 1}}, Files: map[string]string{
			"templates/_h.tpl": `{{ define "helper" }}{{ mustToToml .Values.map }}{{ end }}`,
			"templates/a.yaml": "kind: Result\nis: {{ " + e + " | quote }}\n",
		}})
	}
	return all
}

// differences returns charts that Pintle renders as Helm 3 does.
func differences() []rendering {
	var all []rendering
	for name, files := range map[string]map[string]string{
		"a field that Chart.yaml does not have": {"templates/a.yaml": "kind: A\nis: {{ .Chart.Other }}\n"},
		"all fields of Chart.yaml":              {"templates/a.yaml": "kind: A\nis: {{ toJson .Chart }}\n"},
		"the version of Helm":                   {"templates/a.yaml": "kind: A\nis: {{ .Capabilities.HelmVersion.Version | trunc 2 }}\n"},
		"the order of webhooks":                 {"templates/a.yaml": "kind: A\n---\nkind: MutatingWebhookConfiguration\n"},
		"null in the globals of a subchart": {
			"Chart.yaml":                              "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0}]\n",
			"templates/a.yaml":                        "kind: A\n",
			"charts/sub/Chart.yaml":                   "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"charts/sub/values.yaml":                  "global: {b: null}\n",
			"charts/sub/charts/leaf/Chart.yaml":       "apiVersion: v2\nname: leaf\nversion: 1.0.0\n",
			"charts/sub/charts/leaf/values.yaml":      "global: {b: {a: 8}}\n",
			"charts/sub/charts/leaf/templates/a.yaml": shown,
		},
	} {
		all = append(all, rendering{Name: name, Files: files, Values: map[string]any{"global": map[string]any{"b": 0}}, Differs: true})
	}
	slices.SortFunc(all, func(a, b rendering) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
