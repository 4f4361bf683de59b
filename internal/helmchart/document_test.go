// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

const document = "../../docs/spec/helmcharts.md"

// fieldsOf returns the names of the fields of a struct, as in manifests.
func fieldsOf(of reflect.Type) []string {
	var all []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		all = append(all, name)
	}
	return all
}

var (
	row    = regexp.MustCompile("(?m)^\\| `([a-zA-Z0-9]+)` \\| `([^`]+)` \\| (.*) \\|$")
	effect = regexp.MustCompile("`(release|source)\\.([^:`]+): ([^`]+)`")
)

// at returns the value at a path of a decoded object.
func at(v any, path string) any {
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch o := v.(type) {
		case map[string]any:
			v = o[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(o) {
				v = o[i]
			}
		default:
			return nil
		}
	}
	return v
}

// TestDocument: docs/spec/helmcharts.md has a row for each field, whose example becomes what the row
// says.
func TestDocument(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, r := range row.FindAllStringSubmatch(string(raw), -1) {
		rows[r[1]] = r
	}
	for _, name := range fieldsOf(reflect.TypeFor[cattlev1.HelmChartConfigSpec]()) {
		if rows[name] == nil {
			t.Errorf("field %s of a HelmChartConfig has no row", name)
		}
	}
	want := slices.Sorted(slices.Values(fieldsOf(reflect.TypeFor[cattlev1.HelmChartSpec]())))
	if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, want) {
		t.Errorf("rows for %v, and the fields are %v", got, want)
	}
	for name, r := range rows {
		spec := repo
		if name == "chart" || name == "repo" {
			spec = strings.Replace(spec, map[string]string{"chart": "chart: web", "repo": "repo: https://charts.example"}[name]+"\n", "", 1)
		}
		in := input(t, spec+name+": "+r[2], func(in *Input) { in.RepoCA = map[string]string{"a": "PEM"} })
		got, refusal := Translate(in)
		said := r[3]
		if refused := strings.HasPrefix(said, "refused"); refused != (refusal != nil) {
			t.Errorf("%s: %q, but refusal %v", name, said, refusal)
			continue
		} else if refused {
			continue
		}
		if (said == "no effect") != (len(Ignored(in.Chart.Spec)) > 0) {
			t.Errorf("%s: %q, and ignored are %v", name, said, Ignored(in.Chart.Spec))
		}
		var objects map[string]any
		encoded, _ := json.Marshal(map[string]any{"release": got.Release.Spec, "source": got.Source.Spec})
		if err := json.Unmarshal(encoded, &objects); err != nil {
			t.Fatal(err)
		}
		for _, e := range effect.FindAllStringSubmatch(said, -1) {
			var value any
			if err := yaml.Unmarshal([]byte(e[3]), &value); err != nil {
				t.Fatal(err)
			}
			if found := at(objects[e[1]], e[2]); !reflect.DeepEqual(found, value) {
				t.Errorf("%s: %s is %v, not %v", name, e[2], found, value)
			}
		}
	}
}

// TestReasons: docs/spec/helmcharts.md has a row for each reason.
func TestReasons(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	types, err := os.ReadFile("../../api/cattle/v1/condition_types.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?m)^\t(?:Event)?Reason\w+ string = "(\w+)"`).FindAllStringSubmatch(string(types), -1)
	if len(reasons) < 9 {
		t.Fatalf("%d reasons were found", len(reasons))
	}
	for _, reason := range reasons {
		if !strings.Contains(string(raw), "\n| `"+reason[1]+"` | ") {
			t.Errorf("reason %s has no row", reason[1])
		}
	}
}
