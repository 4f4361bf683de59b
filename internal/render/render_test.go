// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/client-go/rest"
)

// chartOf returns a chart with templates. Files in charts/NAME/ belong to subcharts; the one named
// lib is a library chart.
func chartOf(files map[string]string) *helmchart.Chart {
	c := &helmchart.Chart{
		Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "top", Version: "1.0.0", Dependencies: []*helmchart.Dependency{{Name: "sub"}}},
		Values:   map[string]any{"a": "x", "n": 3, "list": []any{"p", "q", 1.5}, "map": map[string]any{"k": "v", "deep": map[string]any{"z": nil}}},
		Files:    []*helmchart.File{{Name: "conf/a.txt", Data: []byte("one\ntwo\n")}, {Name: "b.bin", Data: []byte{0, 1, 2}}},
	}
	subs := map[string]*helmchart.Chart{}
	for name, text := range files {
		if rest, ok := strings.CutPrefix(name, "charts/"); ok {
			sub, inner, _ := strings.Cut(rest, "/")
			if subs[sub] == nil {
				subs[sub] = &helmchart.Chart{Metadata: &helmchart.Metadata{APIVersion: "v2", Name: sub, Version: "2"}, Values: map[string]any{"own": sub}}
				if sub == "lib" {
					subs[sub].Metadata.Type = "library"
				}
				c.AddDependency(subs[sub])
			}
			subs[sub].Templates = append(subs[sub].Templates, &helmchart.File{Name: inner, Data: []byte(text)})
			continue
		}
		c.Templates = append(c.Templates, &helmchart.File{Name: name, Data: []byte(text)})
	}
	return c
}

func valuesFor(t testing.TB, c *helmchart.Chart) chartutil.Values {
	t.Helper()
	values, err := chartutil.ToRenderValues(c, map[string]any{"user": map[string]any{"text": "{{ .Release.Name }}-{{ .Values.a }}"}},
		chartutil.ReleaseOptions{Name: "app", Namespace: "prod", Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// inside renders a chart in a sandbox.
func inside(ctx context.Context, t testing.TB, c *helmchart.Chart, limits Limits) (map[string]string, error) {
	t.Helper()
	values := valuesFor(t, c)
	s, err := Enter(ctx, c, Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Limits: limits})
	if err != nil {
		return nil, err
	}
	defer s.Leave()
	out, err := engine.New(&rest.Config{Host: "http://127.0.0.1:1"}).Render(c, values)
	if s.Err() != nil {
		return nil, s.Err()
	}
	return out, err
}

// outside renders a chart with Helm alone.
func outside(t testing.TB, c *helmchart.Chart) (map[string]string, error) {
	t.Helper()
	return engine.New(&rest.Config{Host: "http://127.0.0.1:1"}).Render(c, valuesFor(t, c))
}

// same checks that a chart renders in the sandbox as with Helm alone.
func same(t testing.TB, files map[string]string) {
	t.Helper()
	want, wantErr := outside(t, chartOf(files))
	c := chartOf(files)
	before := fmt.Sprint(c.Metadata.Dependencies, len(c.Templates))
	got, err := inside(t.Context(), t, c, DefaultLimits())
	if fmt.Sprint(wantErr) != fmt.Sprint(err) {
		t.Fatalf("the error is\n%v\nbut Helm's is\n%v", err, wantErr)
	}
	if len(want) == 0 {
		want = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the output differs from Helm's (-Helm +sandbox):\n%s", diff)
	}
	if after := fmt.Sprint(c.Metadata.Dependencies, len(c.Templates)); after != before {
		t.Errorf("the chart is left as %s, was %s", after, before)
	}
}

// TestAsHelm: the sandbox changes neither the output nor the errors of templates.
func TestAsHelm(t *testing.T) {
	t.Parallel()
	helpers := map[string]string{"templates/_h.tpl": `{{ define "name" }}{{ .Chart.Name }}-{{ .Release.Name }}{{ end }}{{ define "twice" }}{{ template "name" . }}{{ include "name" . }}{{ end }}`}
	for name, text := range map[string]string{
		"Plain":        "a: 1\n",
		"Empty":        "",
		"Values":       "{{ .Values.a }} {{ .Values.n }} {{ .Values.list }} {{ .Values.map }} {{ .Values.missing }} {{ .Values.map.deep.z }}",
		"NoValue":      "{{ .Values.missing.at.all }}",
		"NilPointer":   "{{ .Values.a.b.c }}",
		"Chart":        "{{ (index .Chart.Dependencies 0).Name }} {{ len .Chart.Dependencies }} {{ .Chart.IsRoot }} {{ toYaml .Chart }}",
		"Release":      "{{ .Release }} {{ .Release.Revision }} {{ .Release.IsInstall }}",
		"Capabilities": "{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has \"v1\" }} {{ .Capabilities.HelmVersion }}",
		"Files":        `{{ .Files.Get "conf/a.txt" }} {{ .Files.Get "../../etc/passwd" }} {{ (.Files.Glob "conf/*").AsConfig }} {{ (.Files.Glob "*.bin").AsSecrets }} {{ range .Files.Lines "conf/a.txt" }}[{{ . }}]{{ end }}`,
		"Template":     "{{ .Template.Name }} {{ .Template.BasePath }} {{ include (print .Template.BasePath \"/_h.tpl\") . }}",
		"Types":        `{{ printf "%T %T %T %T %T" . .Values .Chart.Name .Files .Subcharts }}`,
		"Include":      `{{ include "twice" . | nindent 2 | upper }}{{ include "nothing" . }}`,
		"Tpl":          `{{ tpl .Values.user.text . }} {{ tpl "{{ define \"in\" }}in{{ .Values.a }}{{ end }}{{ include \"in\" . }}{{ .Values.none }}" . }}`,
		"TplError":     `{{ tpl "{{ .x " . }}`,
		"TplFails":     `{{ tpl "{{ fail \"no\" }}" . }}`,
		"Required":     `{{ required "it takes a thing: really" .Values.thing }}`,
		"Fail":         "{{ if true }}\n{{ fail \"this: does not\nwork\" }}{{ end }}",
		"FailInside":   `{{ define "f" }}{{ fail "deep" }}{{ end }}{{ include "f" . }}`,
		"Parse":        "{{ if }}",
		"NoFunction":   "{{ nonsense . }}",
		"Unclosed":     "{{ range .Values.list }}",
		"Loops":        `{{ range $i, $e := .Values.list }}{{ $i }}={{ $e }};{{ if eq $i 1 }}{{ break }}{{ end }}{{ else }}none{{ end }}{{ range $k, $v := .Values.map }}{{ $k }}{{ $v }}{{ continue }}{{ end }}{{ range 3 }}{{ . }}{{ end }}`,
		"With":         "{{ with .Values.map }}{{ .k }}{{ $.Release.Name }}{{ else }}no{{ end }}{{ with $x := 1 }}{{ $x }}{{ $x = 2 }}{{ $x }}{{ end }}",
		"Blanks":       "{{- /* c */ -}}\n  {{- \"x\" -}}  \n{{ \"y\" }}\n",
		"Set":          `{{ $_ := set .Values "added" 1 }}{{ .Values.added }}{{ $d := dict "a" 1 "b" (list 1 2) }}{{ $d }}{{ toJson $d }}{{ set $d "c" nil }}`,
		"Formats":      `{{ toYaml .Values }}{{ toJson .Values }}{{ toToml .Values }}{{ toYamlPretty .Values }}{{ toPrettyJson .Values }}{{ fromYaml "a: 1" }}{{ fromYaml ": :" }}{{ fromJson "[]" }}{{ fromJsonArray "[1]" }}{{ fromYamlArray "- 1" }}{{ fromToml "a=1" }}`,
		"Strings":      `{{ "a b" | replace " " "-" | trunc 2 | quote }}{{ repeat 3 "x" }}{{ list 1 2 | join "," }}{{ printf "%05d|%-4s|%v" 3 "a" (dict) }}{{ regexReplaceAll "a(b)" "ab" "${1}x" }}{{ splitList "," "a,b" }}{{ split "," "a,b" }}{{ wrapWith 1 "\n" "a b" }}{{ "x" | b64enc | b64dec | sha256sum }}`,
		"Lists":        `{{ until 3 }}{{ untilStep 5 0 -2 }}{{ seq 1 2 5 }}{{ seq 0 }}{{ uniq (list 1 1 2) }}{{ without (list 1 2) 2 }}{{ has 1 (list 1) }}{{ concat (list 1) (list 2) }}{{ sortAlpha (list "b" "a") }}{{ chunk 2 (list 1 2 3) }}{{ mustUniq (list 1) }}{{ first (list) }}{{ (list 1 2 3 | rest) }}`,
		"Maps":         `{{ merge (dict "a" 1) (dict "a" 2 "b" 3) }}{{ mergeOverwrite (dict "a" 1) (dict "a" 2) }}{{ deepCopy .Values.map }}{{ dig "deep" "z" "d" .Values.map }}{{ keys .Values.map | sortAlpha }}{{ pluck "k" .Values.map }}{{ omit .Values.map "k" }}{{ values (dict "a" 1) }}{{ get .Values.map "k" }}`,
		"Numbers":      `{{ add 1 2 3 }}{{ div 7 2 }}{{ 1.0 }}{{ 1e3 }}{{ 'a' }}{{ true }}{{ int "12" }}{{ float64 "1.5" }}{{ max 1 2 }}{{ round 1.255 2 }}{{ 0x10 }}`,
		"Default":      `{{ default "d" .Values.none }}{{ .Values.none | default (dict "a" 1) }}{{ coalesce nil 0 "z" }}{{ ternary 1 2 true }}{{ empty .Values.map }}`,
		"Printing":     `{{ print 1 2 "a" "b" }}{{ println .Values.n }}{{ html "<a>" }}{{ js "'" }}{{ urlquery "a b" }}{{ len .Values.list }}{{ index .Values.list 0 }}{{ slice "abc" 1 }}{{ and 1 0 }}{{ or 0 "x" }}{{ not true }}{{ eq 1 1 2 }}`,
		"WrongTypes":   `{{ repeat "x" 3 }}`,
		"Panics":       `{{ repeat -1 "x" }}`,
		"IndexError":   `{{ index .Values.list 9 }}`,
		"MustError":    `{{ mustRegexMatch "(" "a" }}`,
		"NoDNS":        `[{{ getHostByName "localhost" }}]`,
		"LookupDown":   `{{ lookup "v1" "Pod" "a" "b" }}`,
		"Recursion":    `{{ define "r" }}{{ include "r" . }}{{ end }}{{ include "r" . }}`,
		"NoEnv":        `{{ env "HOME" }}`,
		"Call":         `{{ call .Values.a }}`,
		"Nested":       `{{ define "outer" }}{{ define "inner" }}in{{ end }}{{ template "inner" }}{{ end }}{{ template "outer" }}`,
		"Block":        `{{ block "b" . }}{{ .Values.a }}{{ end }}`,
		"Subcharts":    `{{ .Subcharts.sub.Chart.Name }}{{ .Subcharts.sub.Chart }}{{ .Subcharts.sub.Values }}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := maps.Clone(helpers)
			files["templates/a.yaml"], files["templates/NOTES.txt"] = text, "{{ .Values.added }}{{ len .Chart.Dependencies }}"
			files["charts/sub/templates/s.yaml"] = `{{ include "name" . }}{{ .Values.own }}{{ .Chart.IsRoot }}{{ .Chart }}`
			files["charts/lib/templates/_l.tpl"], files["charts/lib/templates/l.yaml"] = `{{ define "name" }}lib{{ end }}`, "{{ not parsed"
			same(t, files)
		})
	}
}

// attacks returns templates that would not end, or would end the process.
func attacks() map[string]struct{ text, want string } {
	return map[string]struct{ text, want string }{
		"Range":        {`{{ range $i := 1000000000 }}{{ end }}`, "more than 50000 steps"},
		"RangeInRange": {`{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`, "rendering takes more than"},
		"Until":        {`{{ range until 2000000000 }}{{ end }}`, "a value of more than 33554432 bytes"},
		"UntilStep":    {`{{ untilStep 0 2000000000 1 | len }}`, "a value of more than"},
		"Seq":          {`{{ seq 1 2000000000 }}`, "a value of more than"},
		"Repeat":       {`{{ repeat 2000000000 "xxxxxxxx" }}`, "a value of more than"},
		"RepeatAgain":  {`{{ repeat 10000 (repeat 10000 (repeat 10000 "x")) }}`, "a value of more than"},
		"Indent":       {`{{ indent 2000000000 "x" }}`, "a value of more than"},
		"Random":       {`{{ randAlphaNum 2000000000 }}`, "a value of more than"},
		"Width":        {`{{ printf "%2000000000d" 1 }}`, "a value of more than"},
		"Star":         {`{{ printf "%*d" 900000 1 }}{{ printf "%*d" 2000000000 1 }}`, "a value of more than"},
		"Replace":      {`{{ $s := repeat 1000000 "x" }}{{ replace "x" $s $s }}`, "a value of more than"},
		"Regexp":       {`{{ $s := repeat 20000 "x" }}{{ regexReplaceAll "x" $s "$0$0$0" }}{{ regexReplaceAllLiteral "x" $s $s }}`, "a value of more than"},
		"Join":         {`{{ join (repeat 100000 "x") (until 10000) }}`, "a value of more than"},
		"Doubling":     {`{{ $s := "xxxxxxxx" }}{{ range until 40 }}{{ $s = print $s $s }}{{ end }}`, "rendering "},
		"Lists":        {`{{ $l := list 1 }}{{ range until 40 }}{{ $l = concat $l $l }}{{ end }}`, "rendering "},
		"Appending":    {`{{ $l := list }}{{ range until 1000000 }}{{ $l = append $l (repeat 1000 "x") }}{{ end }}`, "rendering takes more than"},
		"Laughs":       {`{{ $l := list 1 1 1 1 1 1 1 1 1 1 }}{{ range until 9 }}{{ $l = list $l $l $l $l $l $l $l $l $l $l }}{{ end }}{{ $l }}`, "a value of more than"},
		"LaughsJSON":   {`{{ $l := list 1 1 1 1 1 1 1 1 1 1 }}{{ range until 9 }}{{ $l = list $l $l $l $l $l $l $l $l $l $l }}{{ end }}{{ toJson $l }}`, "a value of more than"},
		"Cycle":        {`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`, "contains itself"},
		"CycleQuoted":  {`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ quote $d }}`, "contains itself"},
		"CycleCopied":  {`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ deepCopy $d }}`, "contains itself"},
		"CycleMerged":  {`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ merge (dict) $d }}`, "contains itself"},
		"CycleYAML":    {`{{ $_ := set .Values "v" .Values }}{{ toYamlPretty .Values }}`, "contains itself"},
		"CycleToo":     {`{{ $_ := set .Values "v" (list (dict "v" .Values)) }}{{ .Values.v | printf "%v" }}`, "contains itself"},
		"Tpl":          {`{{ $_ := set .Values "t" "{{ tpl .Values.t . }}" }}{{ tpl .Values.t . }}`, "more than 20000 blocks deep"},
		"Include":      {manyIncludes(200), "more than 20000 blocks deep"},
		"Template":     {`{{ define "t" }}{{ template "t" . }}{{ end }}{{ template "t" . }}`, "more than 20000 blocks deep"},
		"DeepTemplate": {`{{ define "t" }}` + strings.Repeat("{{ if true }}", 5000) + `{{ template "t" . }}` + strings.Repeat("{{ end }}", 5000) + `{{ end }}{{ template "t" . }}`, "more than 20000 blocks deep"},
		"TplBlocks":    {`{{ tpl (repeat 100000 "{{if 1}}") . }}`, "a text of more than 10000 actions"},
		"Exponential":  {exponential(40), "more than 50000 steps"},
		"Output":       {`{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ $s }}{{ end }}`, "the chart renders more than 33554432 bytes"},
		"Keys":         {`{{ range until 10000 }}{{ $_ := genPrivateKey "ed25519" }}{{ end }}`, "more than 50000 steps"},
		"Uniq":         {`{{ uniq (until 100000) }}`, "a value of more than"},
		"SlowRegexp":   {`{{ regexMatch (repeat 100000 "(x*)*") (repeat 1000000 "x") }}`, "a value of more than"},
		"Lookups":      {`{{ range until 100000 }}{{ lookup "" "" "" "" }}{{ end }}`, ""},
	}
}

// manyIncludes returns templates that each include the next one. Helm's limit does not apply, since
// it counts includes of the same name.
func manyIncludes(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{{ define "i%d" }}{{ include "i%d" . }}{{ end }}`, i, (i+1)%n)
	}
	return text.String() + `{{ include "i0" . }}`
}

// exponential returns templates that each include the next one twice.
func exponential(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{{ define "e%d" }}{{ template "e%d" . }}{{ template "e%d" . }}{{ end }}`, i, i+1, i+1)
	}
	return text.String() + fmt.Sprintf(`{{ define "e%d" }}{{ end }}{{ template "e0" . }}`, n)
}

// TestAttacks: a template that exceeds a limit fails, and the error names the template and the
// limit.
func TestAttacks(t *testing.T) {
	t.Parallel()
	// Fewer steps than the default shorten the test.
	limits := DefaultLimits()
	limits.Steps = 50_000
	for name, tc := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := inside(t.Context(), t, chartOf(map[string]string{"templates/evil.yaml": tc.text}), limits)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "top/templates/evil.yaml") {
				t.Errorf("no error, or not the expected one: %v", err)
			}
			if err != nil && len(err.Error()) > 1<<12 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestDeadline: the deadline of the context ends a rendering, but cancellation does not.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err := inside(ctx, t, chartOf(map[string]string{"templates/a.yaml": `{{ range until 5000 }}{{ end }}`}), DefaultLimits())
	if err == nil || !strings.Contains(err.Error(), "has not ended in time") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inside(ended, t, chartOf(map[string]string{"templates/a.yaml": `{{ range until 5000 }}{{ end }}`}), DefaultLimits()); err != nil {
		t.Errorf("cancellation ended the rendering: %v", err)
	}
}

// TestLargeChartsTakeTurns: a rendering that takes much memory waits for a slot.
func TestLargeChartsTakeTurns(t *testing.T) {
	t.Parallel()
	large := `{{ $s := repeat 1000000 "x" }}{{ range until 100 }}{{ $x := lower $s }}{{ end }}`
	slots := make(chan struct{}, 1)
	render := func(ctx context.Context, text string) error {
		c := chartOf(map[string]string{"templates/a.yaml": text})
		values := valuesFor(t, c)
		s, err := Enter(ctx, c, Options{Config: &rest.Config{}, Limits: DefaultLimits(), Large: slots})
		if err != nil {
			return err
		}
		defer s.Leave()
		_, _ = engine.Render(c, values)
		return s.Err()
	}
	if err := render(t.Context(), large); err != nil || len(slots) != 0 {
		t.Fatalf("%v, %d slots taken", err, len(slots))
	}
	slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := render(ctx, large); err == nil || !strings.Contains(err.Error(), "did not end in time") {
		t.Error(err)
	}
	if err := render(t.Context(), "{{ .Values.a }}"); err != nil || len(slots) != 1 {
		t.Errorf("a small chart waited for a slot: %v, %d slots taken", err, len(slots))
	}
}

// FuzzAsHelm: each template within the limits renders as with Helm alone.
func FuzzAsHelm(f *testing.F) {
	f.Add("{{ .Values.a }}", "x")
	f.Add(`{{ tpl .Values.map.k . }}{{ range $k, $v := .Values }}{{ $v }}{{ end }}`, `{{ define "name" }}{{ . }}{{ end }}`)
	f.Fuzz(func(t *testing.T, text, other string) {
		for _, risky := range []string{"rand", "uuid", "gen", "now", "date", "ago", "shuffle", "bcrypt", "htpasswd", "derive", "lookup", "encrypt", "keys", "values", "tpl", "set", "{{range", "0x"} {
			if strings.Contains(text+other, risky) && !strings.HasPrefix(text, "{{ tpl .Values.map.k") {
				t.Skip()
			}
		}
		files := map[string]string{"templates/a.yaml": text, "templates/_b.tpl": other}
		_, err := inside(t.Context(), t, chartOf(files), Limits{Steps: 10_000, Bytes: 1 << 20, Value: 1 << 16, Output: 1 << 16, Depth: 1000})
		if err != nil && (strings.Contains(err.Error(), "rendering ") || strings.Contains(err.Error(), "blocks deep") || strings.Contains(err.Error(), "the chart renders")) {
			t.Skip()
		}
		same(t, files)
	})
}
