// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestUnread: values that templates read in any way have an effect, and misspelt ones have none. What the
// defaults of the chart or a subchart have is not looked at.
func TestUnread(t *testing.T) {
	t.Parallel()
	const configMap = "kind: ConfigMap\nmetadata: {name: a}\n"
	many := m{}
	for i := range 200 {
		many[fmt.Sprint("k", i)] = i
	}
	for name, tc := range map[string]struct {
		files, values m
		// want has the keys, each with the key that it may mean.
		want     []string
		left     int
		unstable bool
	}{
		"Misspelt": {
			m{"values.yaml": "replicaCount: 1\nimage: {tag: x}\n", "templates/a.yaml": configMap + "n: {{ .Values.replicaCount }}{{ .Values.image.tag }}\n"},
			m{"replicaCout": 2, "image": m{"tga": "y"}},
			[]string{"image.tga tag", "replicaCout replicaCount"},
			0, false,
		},
		"Elsewhere":   {m{"values.yaml": "a: {port: 1}\n", "templates/a.yaml": configMap + "n: {{ .Values.a.port }}\n"}, m{"b": m{"port": 2}}, []string{"b.port "}, 0, false},
		"Defaults":    {m{"values.yaml": "unused: 1\n", "templates/a.yaml": configMap}, m{"unused": 2}, nil, 0, false},
		"WholeMap":    {m{"values.yaml": "resources: {}\n", "templates/a.yaml": configMap + "r: {{ toYaml .Values.resources | nindent 2 }}\n"}, m{"resources": m{"limits": m{"cpu": 1}}}, nil, 0, false},
		"Range":       {m{"templates/a.yaml": configMap + "{{ range $k, $v := .Values.env }}{{ $k }}: {{ $v }}\n{{ end }}"}, m{"env": m{"A": "1", "B": "2"}, "enb": m{"C": 1}}, []string{"enb.C "}, 0, false},
		"Tpl":         {m{"values.yaml": "text: \"{{ .Values.inner }}\"\n", "templates/a.yaml": configMap + "n: {{ tpl .Values.text . }}\n"}, m{"inner": "x"}, nil, 0, false},
		"Condition":   {m{"templates/a.yaml": configMap + "{{ if .Values.on }}n: 1{{ end }}\n"}, m{"on": true}, nil, 0, false},
		"Hook":        {m{"templates/a.yaml": "kind: Job\nmetadata: {name: a, annotations: {helm.sh/hook: test}}\nn: {{ .Values.v }}\n"}, m{"v": 1}, nil, 0, false},
		"Notes":       {m{"templates/NOTES.txt": "{{ .Values.v }}"}, m{"v": 1}, nil, 0, false},
		"Required":    {m{"templates/a.yaml": configMap + "{{ if ne .Values.kind \"a\" }}{{ fail \"no\" }}{{ end }}\n"}, m{"kind": "a", "kimd": "a"}, []string{"kimd "}, 0, false},
		"Schema":      {m{"values.schema.json": `{"properties":{"mode":{"enum":["a"]}}}`, "templates/a.yaml": configMap}, m{"mode": "a", "none": 1}, []string{"none "}, 0, false},
		"Null":        {m{"values.yaml": "a: 1\n", "templates/a.yaml": configMap}, m{"a": nil, "b": nil}, nil, 0, false},
		"List":        {m{"templates/a.yaml": configMap + "l: {{ toJson .Values.l }}\n"}, m{"l": []any{1}, "e": []any{}}, []string{"e "}, 0, false},
		"Random":      {m{"templates/a.yaml": configMap + "r: {{ randAlphaNum 20 }}\n"}, m{"v": 1, "w": 1}, nil, 2, true},
		"Lookup":      {m{"templates/a.yaml": configMap + "{{ if lookup \"v1\" \"Secret\" \"a\" .Values.v }}a: 1{{ end }}\nn: {{ .Values.v }}\n"}, m{"v": "x", "w": 1}, []string{"w "}, 0, false},
		"ManyUnread":  {m{"templates/a.yaml": configMap}, many, make([]string, 200), 0, false},
		"ManyRead":    {m{"templates/a.yaml": configMap + "all: {{ toJson .Values }}\n"}, many, nil, 200 - 46/2 + 16, false},
		"TooLarge":    {m{"templates/a.yaml": configMap, "files/a": strings.Repeat("x", 5<<20), "files/b": strings.Repeat("x", 5<<20), "files/c": strings.Repeat("x", 5<<20)}, m{"v": 1}, nil, 1, false},
		"Library":     {m{"charts/lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n", "charts/lib/templates/_h.tpl": `{{ define "n" }}{{ .Values.v }}{{ end }}`, "templates/a.yaml": configMap + "n: {{ include \"n\" . }}\n"}, m{"v": 1, "w": 1}, []string{"w "}, 0, false},
		"Subchart":    {subchart(), m{"sub": m{"port": 1, "prot": 2, "tag": "x"}, "global": m{"zone": "a", "zome": "b"}}, []string{"global.zome ", "sub.prot port"}, 0, false},
		"Dependency":  {subchart(), m{"sub": m{"enabled": true}}, nil, 0, false},
		"NoDependent": {subchart(), m{"sub": m{"enabled": false, "tag": "x"}}, []string{"sub.tag "}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(t, tc.files, tc.values)
			got, err := remote.New(worker.Local{Handler: New()}).Unread(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for i, path := range got.Keys {
				keys = append(keys, strings.Join(path, ".")+" "+got.Like[i])
			}
			if name == "ManyUnread" || name == "ManyRead" {
				if len(keys) != len(tc.want) || (got.Left > 0) != (tc.left > 0) || got.Left > 200 {
					t.Errorf("%d keys, %d left", len(keys), got.Left)
				}
				return
			}
			if diff := cmp.Diff(tc.want, keys); diff != "" || got.Left != tc.left || got.Unstable != tc.unstable {
				t.Errorf("left %d, unstable %t, keys (-want +got):\n%s", got.Left, got.Unstable, diff)
			}
		})
	}
}

// subchart returns a chart with a subchart that may be disabled.
func subchart() m {
	return m{
		"Chart.yaml":                  "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, condition: sub.enabled}\n",
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.yaml":      "port: 1\n",
		"charts/sub/templates/s.yaml": "kind: Service\nn: {{ .Values.port }}{{ .Values.tag }}{{ .Values.global.zone }}\n",
		"values.yaml":                 "global: {}\n",
	}
}

// BenchmarkUnread measures the costs of a plan for a chart of 200 templates with one misspelt value.
func BenchmarkUnread(b *testing.B) {
	files := m{"values.yaml": "name: x\n"}
	for i := range 200 {
		files[fmt.Sprintf("templates/%d.yaml", i)] = fmt.Sprintf("kind: ConfigMap\nmetadata: {name: a%d}\ndata: {n: {{ .Values.name }}, m: {{ .Values.more | default 1 }} }\n", i)
	}
	in := input(b, files, m{"name": "y", "nmae": "z", "more": 2})
	in.Timeout = time.Minute
	client := remote.New(worker.Local{Handler: New()})
	for b.Loop() {
		if got, err := client.Unread(b.Context(), in); err != nil || len(got.Keys) != 1 {
			b.Fatal(got, err)
		}
	}
}
