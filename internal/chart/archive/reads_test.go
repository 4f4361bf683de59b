// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"strings"
	"testing"
	template "text/template/parse"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// charted returns a chart with templates by name. Names that start with "sub/" belong to a
// subchart.
func charted(templates map[string]string) *helmchart.Chart {
	c := &helmchart.Chart{Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "note", Version: "1.0.0"}}
	sub := &helmchart.Chart{Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "sub", Version: "1.0.0"}}
	c.AddDependency(sub)
	for name, text := range templates {
		to := c
		if inner, ok := strings.CutPrefix(name, "sub/"); ok {
			to, name = sub, inner
		}
		to.Templates = append(to.Templates, &helmchart.File{Name: "templates/" + name, Data: []byte(text)})
	}
	return c
}

// TestReadsOf: lookups and capabilities are found in templates and in the helpers that they
// include.
func TestReadsOf(t *testing.T) {
	nothing, lookup, apis := Reads{}, Reads{Lookup: true}, Reads{Capabilities: true}
	both := Reads{Lookup: true, Capabilities: true}
	const helpers = `{{ define "look" }}{{ lookup "v1" "Secret" "" "" }}{{ end }}{{ define "ask" }}{{ .Root.Capabilities.KubeVersion }}{{ end }}` +
		`{{ define "both" }}{{ include "look" . }}{{ template "ask" . }}{{ end }}{{ define "loop" }}{{ include "loop" . }}{{ end }}`
	cases := map[string]struct {
		files map[string]string
		want  Reads
	}{
		"Empty":            {map[string]string{}, nothing},
		"Nothing":          {map[string]string{"a.yaml": `{{ .Values.a | quote }}`}, nothing},
		"Lookup":           {map[string]string{"a.yaml": `{{ (lookup "v1" "Secret" "ns" "n").data }}`}, lookup},
		"LookupInIf":       {map[string]string{"a.yaml": `{{ if not (lookup "v1" "Secret" "ns" "n") }}x{{ end }}`}, lookup},
		"LookupAssigned":   {map[string]string{"a.yaml": `{{ $s := lookup "v1" "Secret" "ns" "n" }}`}, lookup},
		"LookupPiped":      {map[string]string{"a.yaml": `{{ "n" | lookup "v1" "Secret" "ns" }}`}, lookup},
		"LookupInElse":     {map[string]string{"a.yaml": `{{ if .a }}{{ else if .b }}{{ else }}{{ range .c }}{{ else }}{{ with .d }}{{ lookup "v1" "Secret" "" .x }}{{ end }}{{ end }}{{ end }}`}, lookup},
		"LookupInArgument": {map[string]string{"a.yaml": `{{ template "a" (dict "x" (lookup "v1" "Secret" "" "")) }}{{ define "a" }}{{ end }}`}, lookup},
		"LookupAsText":     {map[string]string{"a.yaml": "# we do not lookup anything\n{{ /* lookup */ }}"}, lookup}, // does not parse
		"Comment":          {map[string]string{"a.yaml": "# lookup .Capabilities\n{{- /* lookup .Capabilities */ -}}{{ \"lookup\" }}"}, nothing},
		"Versions":         {map[string]string{"a.yaml": `{{ if .Capabilities.APIVersions.Has "v1" }}{{ end }}`}, apis},
		"Kube":             {map[string]string{"a.yaml": `{{ semverCompare ">=1.20" .Capabilities.KubeVersion.GitVersion }}`}, apis},
		"Whole":            {map[string]string{"a.yaml": `{{ with .Capabilities }}{{ .APIVersions }}{{ end }}`}, apis},
		"Variable":         {map[string]string{"a.yaml": `{{ range .x }}{{ $.Capabilities.APIVersions }}{{ end }}`}, apis},
		"Root":             {map[string]string{"a.yaml": `{{ $ctx := . }}{{ $ctx.Root.Capabilities.APIVersions }}`}, apis},
		"Chain":            {map[string]string{"a.yaml": `{{ (index . "x").Capabilities.APIVersions }}`}, apis},
		"Index":            {map[string]string{"a.yaml": `{{ index . "Capabilities" "KubeVersion" }}`}, apis},
		"HelmVersion":      {map[string]string{"a.yaml": `{{ .Capabilities.HelmVersion }}`}, nothing},
		"Values":           {map[string]string{"a.yaml": `{{ .Values.securityContext.Capabilities }}{{ $.Values.Capabilities }}`}, nothing},
		"Lower":            {map[string]string{"a.yaml": `{{ .capabilities }} Capabilities`}, nothing},
		"Helper":           {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ include "look" . }}`}, lookup},
		"HelperTemplate":   {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ template "ask" . }}`}, apis},
		"HelperOfHelper":   {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ $x := include "both" . | trim }}{{ include "loop" . }}`}, both},
		"HelperUnused":     {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ include "loop" . }}{{ include "none" . }}`}, nothing},
		"HelperOfAnyName":  {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ include (printf "%s" .Values.x) . }}`}, both},
		"HelperPiped":      {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ "look" | include }}`}, both},
		"HelperOfSubchart": {map[string]string{"sub/_h.tpl": helpers, "a.yaml": `{{ include "look" . }}`}, lookup},
		"HelperTwice":      {map[string]string{"_h.tpl": helpers, "_i.tpl": `{{ define "look" }}{{ end }}`, "a.yaml": `{{ include "look" . }}`}, lookup},
		"Block":            {map[string]string{"a.yaml": `{{ block "b" . }}{{ .Capabilities.KubeVersion }}{{ end }}`}, apis},
		"Digest":           {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ include (print $.Template.BasePath "/b.yaml") . | sha256sum }}`, "b.yaml": `x`}, nothing},
		"DigestOfReader":   {map[string]string{"a.yaml": `{{ include (print .Template.BasePath "/_b.yaml") . }}`, "_b.yaml": `{{ .Capabilities.APIVersions }}`}, apis},
		"Subchart":         {map[string]string{"a.yaml": `x`, "sub/a.yaml": `{{ .Capabilities.APIVersions }}`}, apis},
		"Notes":            {map[string]string{"NOTES.txt": `{{ lookup "v1" "Secret" "" "" }}{{ .Capabilities.APIVersions }}`, "a.yaml": `x`}, nothing},
		"DefinedInNotes":   {map[string]string{"NOTES.txt": `{{ define "x" }}{{ .Capabilities.APIVersions }}{{ end }}`, "a.yaml": `{{ include "x" . }}`}, apis},
		"Tpl":              {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ tpl "{{ include \"look\" . }}" . }}`}, lookup},
		"TplBroken":        {map[string]string{"a.yaml": `{{ tpl "{{ lookup" . }}`}, lookup},
		"TplOfValues":      {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ tpl .Values.x . }}{{ tpl }}`}, nothing},
		"Broken":           {map[string]string{"_h.tpl": helpers, "a.yaml": `{{ if }} .Capabilities`}, both},
		"BrokenElsewhere":  {map[string]string{"a.yaml": `{{ if }}`, "_h.tpl": helpers}, both},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ReadsOf(charted(tc.files)); got != tc.want || got.any() != (tc.want != nothing) {
				t.Errorf("reads %+v, want %+v", got, tc.want)
			}
		})
	}
}

// timed renders a chart with one template, after ShiftTime if later is true.
func timed(t *testing.T, text string, later bool) string {
	t.Helper()
	c := charted(map[string]string{"a.yaml": text})
	raw := c.Templates[0].Data
	if later {
		ShiftTime(c)
	}
	if string(raw) != text {
		t.Errorf("shared bytes were changed to %s", raw)
	}
	values, err := chartutil.ToRenderValues(c, map[string]any{}, chartutil.ReleaseOptions{Name: "app"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	return files["note/templates/a.yaml"]
}

// TestShiftTime: output that depends on now changes, and other output does not.
func TestShiftTime(t *testing.T) {
	for _, text := range []string{
		`{{ now | date "2006" }}`, `{{now | date "01"}}`, `{{ date "02" now }}`, `{{ now | date "15" }}`, `{{ now | date "Monday" }}`, `{{ (now).Unix }}`, `{{ now.Day }}`,
		`{{ htmlDate (now) }}`, "{{- define \"x\" }}{{ now | unixEpoch }}{{ end }}ä {{ include \"x\" . }}", `{{ $n := now }}{{ $n.Month }} {{ $n.Year }} {{ now }}`,
	} {
		if a, b := timed(t, text, false), timed(t, text, true); a == b {
			t.Errorf("%s is %q after ShiftTime too", text, a)
		}
	}
	for _, text := range []string{`now {{ "now" }} {{/* now */}}{{ $now := 1 }}{{ $now }} {{ .Values.now }}`, `nothing`, `{{ if now }}x{{ end }}`} {
		if a, b := timed(t, text, false), timed(t, text, true); a != b {
			t.Errorf("%s is %q, and %q after ShiftTime", text, a, b)
		}
	}
	broken := charted(map[string]string{"a.yaml": "{{ now"})
	ShiftTime(broken)
	if got := string(broken.Templates[0].Data); got != "{{ now" {
		t.Errorf("an invalid template became %s", got)
	}
}

// FuzzReadsOf: templates without the names of reads have none, and ShiftTime keeps templates valid.
func FuzzReadsOf(f *testing.F) {
	for _, seed := range []string{
		"", "{{", `{{ lookup "v1" "Secret" "" "" }}`, `{{ .Capabilities.KubeVersion }}`, `{{ include }}`, `{{ tpl "{{ tpl \"{{ now }}\" . }}" . }}`,
		`{{ define "a" }}{{ include "a" . | now.x }}{{ end }}{{ template "a" }}`, `{{ range $i, $e := now }}{{ break }}{{ else }}{{ (now) }}{{ end }}`,
		`{{ $x := include (print .Template.BasePath) . }}{{ $x.Capabilities }}{{ nil }}{{ 1 }}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := charted(map[string]string{"a.yaml": text, "sub/_b.tpl": `{{ define "b" }}x{{ end }}`})
		got := ReadsOf(c)
		if got.Lookup && !strings.Contains(text, "lookup") && !strings.Contains(text, `\`) ||
			got.Capabilities && !strings.Contains(text, "Capabilities") && !strings.Contains(text, `\`) {
			t.Errorf("reads %+v", got)
		}
		_, before := parseTemplates("a", text)
		ShiftTime(c)
		_, after := parseTemplates("a", string(c.Templates[0].Data))
		if before == nil && after != nil {
			t.Errorf("became %s: %v", c.Templates[0].Data, after)
		}
		trees, err := parseTemplates("a", string(c.Templates[0].Data))
		if err == nil {
			for _, tree := range trees {
				if tree.Root != nil {
					walkNode(tree.Root, func(template.Node) {})
				}
			}
		}
	})
}
