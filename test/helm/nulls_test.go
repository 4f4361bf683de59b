// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

const shown = "kind: Result\nis: {{ toJson .Values }}\n"

// nulls returns charts with null in their own values and in the user's.
func nulls() []rendering {
	with := func(values, sub, templates string) map[string]string {
		files := map[string]string{"values.yaml": values, "templates/a.yaml": shown}
		if sub != "" {
			files["charts/sub/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
			files["charts/sub/values.yaml"] = sub
			files["charts/sub/templates/a.yaml"] = shown
		}
		if templates != "" {
			files["templates/a.yaml"] = templates
		}
		return files
	}
	type m = map[string]any
	all := []rendering{
		{Name: "null", Files: with("a: null\nb: 1\n", "", "")},
		{Name: "null in a map", Files: with("a: {b: null, c: {d: ~, e: 1}}\n", "", "")},
		{Name: "null in a list", Files: with("a: [null, {b: null}]\n", "", "")},
		{Name: "only null", Files: with("a: {b: null}\n", "", "")},
		{Name: "null and a user's value", Files: with("a: null\n", "", ""), Values: m{"a": 1}},
		{Name: "null and a user's map", Files: with("a: null\n", "", ""), Values: m{"a": m{"b": 1}}},
		{Name: "null and a user's null", Files: with("a: null\nb: {c: null}\n", "", ""), Values: m{"a": nil, "b": m{"c": nil}}},
		{Name: "null below a user's map", Files: with("a: {b: null, c: {d: null}}\n", "", ""), Values: m{"a": m{"x": 1, "c": m{"y": nil}}}},
		{Name: "a user's null for no default", Files: with("a: 1\n", "", ""), Values: m{"b": nil, "c": m{"d": nil}}},
		{Name: "a user's null for a default", Files: with("a: {b: 1, c: 2}\nd: 1\n", "", ""), Values: m{"a": m{"b": nil}, "d": nil}},
		{Name: "a user's null for a map", Files: with("a: {b: {c: 1}}\n", "", ""), Values: m{"a": m{"b": nil}}},
		{Name: "a user's value for a map", Files: with("a: {b: null}\n", "", ""), Values: m{"a": 1}},
		{Name: "null in a subchart", Files: with("x: 1\n", "a: null\nb: {c: null, d: 1}\n", "")},
		{Name: "null for a subchart's value", Files: with("sub: {a: null, b: {c: null}}\n", "a: 1\nb: {c: 1, d: 2}\n", "")},
		{Name: "null for a subchart's value, with a user's value", Files: with("sub: {a: null, b: {c: null}}\n", "a: 1\nb: {c: 1, d: 2}\n", ""), Values: m{"sub": m{"x": 1}}},
		{Name: "null for a subchart's null", Files: with("sub: {a: null}\n", "a: null\n", ""), Values: m{"sub": m{"b": nil}}},
		{Name: "a user's null for a subchart's value", Files: with("", "a: 1\nb: {c: 1, d: 2}\n", ""), Values: m{"sub": m{"a": nil, "b": m{"c": nil}}}},
		{Name: "a user's null for a subchart", Files: with("", "a: 1\n", ""), Values: m{"sub": nil}},
		{Name: "null for a subchart", Files: with("sub: null\n", "a: 1\n", "")},
		{Name: "a global null", Files: with("global: {a: null, b: {c: null, d: 1}}\n", "global: {a: 1, b: {c: 2, e: null}, f: null}\n", "")},
		{Name: "a global null and a user's", Files: with("global: {a: null, b: {c: 1}}\n", "global: {a: 1, b: {c: 2}}\n", ""), Values: m{"global": m{"b": m{"c": nil}, "z": nil}}},
		{Name: "a subchart's null hides no global", Files: with("global: {a: 1}\n", "global: null\na: 1\n", "")},
		{Name: "printed", Files: with("a: null\n", "", "kind: Result\nis: [\"{{ .Values.a }}\", {{ .Values.a | quote }}, \"{{ printf \"%s\" .Values.a }}\", {{ hasKey .Values \"a\" }}, {{ .Values.a | toString | quote }}]\n")},
		{Name: "environment", Files: with("env: {A: 1, B: null}\n", "", "kind: Result\nenv:\n{{ range $k, $v := .Values.env }}- {name: {{ $k }}, value: {{ $v | quote }} }\n{{ end }}")},
		{Name: "resources", Files: with("resources: {limits: null, requests: {cpu: 1}}\n", "", "kind: Result\nresources: {{ toYaml .Values.resources | nindent 2 }}\n")},
	}
	imports := with("parent: {x: null}\nsub: {exported: {b: null}}\n", "exported: {a: null, b: 1, c: 2}\nexports: {data: {top: null, other: 1}}\n", "")
	imports["Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, import-values: [data, {child: exported, parent: parent}]}\n- {name: sub, version: 1.0.0, alias: other, condition: other.on}\n"
	for i, values := range []m{
		nil,
		{"parent": m{"y": 1}, "other": m{"on": false}},
		{"parent": m{"a": nil, "c": nil}, "top": nil, "sub": m{"exported": m{"c": nil}}},
		{"other": m{"on": nil, "exported": m{"b": nil}}, "parent": nil},
	} {
		all = append(all, rendering{Name: fmt.Sprintf("imported null %d", i), Files: imports, Values: values})
	}
	random := rand.New(rand.NewPCG(4, 3))
	for i := range 40 {
		files := with(tree(random, 3, "sub", "global"), tree(random, 3, "leaf"), "")
		files["charts/sub/charts/leaf/Chart.yaml"] = "apiVersion: v2\nname: leaf\nversion: 1.0.0\n"
		files["charts/sub/charts/leaf/values.yaml"] = tree(random, 2)
		files["charts/sub/charts/leaf/templates/a.yaml"] = shown
		if i%2 == 0 {
			files["Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, import-values: [{child: a, parent: b}]}\n"
		}
		var values m
		if i%3 > 0 {
			values = branch(random, 3, "sub", "global")
		}
		all = append(all, rendering{Name: fmt.Sprintf("random %d", i), Files: maps.Clone(files), Values: values})
	}
	return all
}

// tree returns random values as YAML. The names are keys of maps at the top.
func tree(random *rand.Rand, depth int, names ...string) string {
	var b strings.Builder
	write(&b, branch(random, depth, names...))
	return b.String()
}

// write writes a value in the flow style of YAML.
func write(b *strings.Builder, value any) {
	all, is := value.(map[string]any)
	if !is {
		if value == nil {
			value = "null"
		}
		_, _ = fmt.Fprint(b, value)
		return
	}
	b.WriteString("{")
	for _, key := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(key + ": ")
		write(b, all[key])
		b.WriteString(", ")
	}
	b.WriteString("}")
}

// branch returns a random map of few keys, so that charts share them.
func branch(random *rand.Rand, depth int, names ...string) map[string]any {
	all := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		switch random.IntN(5) {
		case 0:
			all[key] = nil
		case 1:
			all[key] = random.IntN(9)
		case 2, 3:
			if depth > 0 {
				all[key] = branch(random, depth-1)
			}
		}
	}
	for _, name := range names {
		if random.IntN(3) > 0 {
			all[name] = branch(random, depth-1)
		}
	}
	return all
}
