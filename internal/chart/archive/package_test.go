// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPackage: the chart in a directory has the files that source-controller packages, and no links.
func TestPackage(t *testing.T) {
	t.Parallel()
	root := checkout(t, map[string]string{
		"web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.4.0, dependencies: [{name: lib, version: 1.x.x}]}", "web/values.yaml": "{a: 0, b: 0}",
		"web/charts/lib/Chart.yaml": "{apiVersion: v2, name: lib, version: 1.0.0}", "web/charts/lib/values.yaml": "{lib: 1}",
		"web/templates/a.yaml": "a", "web/.helmignore": "# notes\nnotes/\n*.bak\n", "web/notes/x": "x", "web/values.bak": "x", "web/ignored.txt": "x",
		"web/file.txt": "f", "web/link.txt": "->file.txt", "web/out": "->/", "web/.git/config": "x",
		"bare/Chart.yaml":   "{apiVersion: v2, name: bare, version: 1.0.0, dependencies: [{name: lib, version: 1.x.x, repository: 'file://../lib'}]}",
		"locked/Chart.yaml": "{apiVersion: v2, name: locked, version: 1.0.0}", "locked/Chart.lock": "dependencies: [{name: other, version: 1.0.0}]",
		"none/values.yaml": "a: 1", "v3/Chart.yaml": "{apiVersion: v3, name: v3, version: 1.0.0}", "web.tgz": "x",
	})
	ignored := func(name string, _ bool) bool { return name == "web/ignored.txt" }
	const files = ".helmignore file.txt templates/a.yaml; lib map[lib:1]"
	for _, tc := range []struct {
		at, defaults, want string
	}{
		{"web", "", "web 1.4.0 map[a:0 b:0] " + files},
		{"./web/", `{"a":1}`, "web 1.4.0 map[a:1] " + files},
		{"/web", "", "web 1.4.0 map[a:0 b:0] " + files},
		{"../web", "", "web 1.4.0 map[a:0 b:0] " + files},
		{"bare", "", `lacks the dependency "lib": run helm dependency build`},
		{"locked", "", `lacks the dependency "other": run helm dependency build`},
		{"none", "", "cannot be read: Chart.yaml file is missing"},
		{"v3", "", `is rejected: Chart.yaml has apiVersion "v3", and only v1 and v2 can be rendered`},
		{"gone", "", `cannot be read: "gone": no such file or directory`},
		{"web.tgz", "", "cannot be read: no files in chart archive"},
	} {
		var defaults []byte
		if tc.defaults != "" {
			defaults = []byte(tc.defaults)
		}
		got := ""
		packed, c, err := Package(root, ignored, tc.at, defaults)
		if err == nil {
			c, err = Load(packed)
		}
		if err != nil {
			got = err.Error()
		} else {
			var names []string
			for _, f := range slices.Concat(c.Templates, c.Files) {
				names = append(names, f.Name)
			}
			slices.Sort(names)
			got = fmt.Sprintf("%s %s %v %s; %s %v", c.Name(), c.Metadata.Version, c.Values, strings.Join(names, " "), c.Dependencies()[0].Name(), c.Dependencies()[0].Values)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.at, got, tc.want)
		}
	}
}

// TestMergeIn: later files override earlier ones, key by key.
func TestMergeIn(t *testing.T) {
	t.Parallel()
	root := checkout(t, map[string]string{
		"web/values.yaml": "{a: {b: 0, c: 0}, l: [1, 2], d: 12345678901}", "web/prod.yaml": "{a: {b: 1}, l: [3]}", "list.yaml": "[1]", "link.yaml": "->web/prod.yaml",
		"secret.yaml": "a: ENC[x]\nsops: {mac: a, version: b}\n",
	})
	for _, tc := range []struct {
		files         []string
		ignoreMissing bool
		want          string
	}{
		{nil, false, ""},
		{[]string{"./web/values.yaml", "web/prod.yaml"}, false, `{"a":{"b":1,"c":0},"d":12345678901,"l":[3]}`},
		{[]string{"../web/prod.yaml", "web/values.yaml"}, false, `{"a":{"b":0,"c":0},"d":12345678901,"l":[1,2]}`},
		{[]string{"web/prod.yaml", "none.yaml"}, true, `{"a":{"b":1},"l":[3]}`},
		{[]string{"web/prod.yaml", "none.yaml"}, false, `has no values file "none.yaml"`},
		{[]string{"link.yaml"}, false, `has no values file "link.yaml"`},
		{[]string{"list.yaml"}, false, `has a values file "list.yaml" that cannot be read`},
		{[]string{"secret.yaml"}, false, `"secret.yaml" is encrypted with SOPS`},
	} {
		merged, err := MergeIn(root, nothing, tc.files, tc.ignoreMissing)
		got := string(merged)
		if err != nil {
			got = err.Error()
		}
		if got != tc.want && (err == nil || !strings.HasPrefix(got, tc.want)) {
			t.Errorf("%v: %s, want %s", tc.files, got, tc.want)
		}
	}
}
