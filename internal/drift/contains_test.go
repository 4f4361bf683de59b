// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse decodes YAML as API machinery decodes JSON: integers are int64.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"Any"}`), o); err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := json.Unmarshal(raw, &given); err != nil {
		t.Fatal(err)
	}
	if given["apiVersion"] == nil {
		given["apiVersion"] = "v1"
	}
	given["kind"] = "Any"
	if raw, err = json.Marshal(given); err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o.Object
}

func TestContains(t *testing.T) {
	for name, tc := range map[string]struct {
		live, desired string
		want          bool
	}{
		"Equal":               {"data: {a: x}", "data: {a: x}", true},
		"More":                {"data: {a: x, b: y}", "data: {a: x}", true},
		"Less":                {"data: {a: x}", "data: {a: x, b: y}", false},
		"Other":               {"data: {a: x}", "data: {a: y}", false},
		"OtherType":           {"data: {a: '1'}", "data: {a: 1}", false},
		"OtherBool":           {"a: true", "a: false", false},
		"Bool":                {"a: true", "a: true", true},
		"MapForString":        {"a: {b: c}", "a: b", false},
		"StringForMap":        {"a: b", "a: {b: c}", false},
		"StringForEmptyMap":   {"a: b", "a: {}", false},
		"StringForList":       {"a: b", "a: [b]", false},
		"Number":              {"a: 2", "a: 2.0", true},
		"NumberAsFloat":       {"a: 2.5", "a: 2.5", true},
		"Fraction":            {"a: 2", "a: 2.5", false},
		"NullAbsent":          {"b: 1", "a: null", true},
		"NullThere":           {"a: 1", "a: null", false},
		"EmptyMapAbsent":      {"b: 1", "a: {}", true},
		"EmptyListAbsent":     {"b: 1", "a: []", true},
		"EmptyListFull":       {"a: [1]", "a: []", false},
		"EmptyMapFull":        {"a: {b: 1}", "a: {}", true},
		"EmptySelectorAbsent": {"b: 1", "podSelector: {}", false},
		"NoNodeSelector":      {"b: 1", "nodeSelector: {}", true},
		"Longer":              {"a: [x, y]", "a: [x]", false},
		"Shorter":             {"a: [x]", "a: [x, y]", false},
		"Order":               {"a: [y, x]", "a: [x, y]", false},
		"KeyedItems":          {"ports: [{port: 80, protocol: TCP}]", "ports: [{port: 80}]", true},
		"OtherItems":          {"rules: [{verbs: [get], resources: [pods]}]", "rules: [{verbs: [get]}]", false},
		"EmptyPeer":           {"from: [{a: 1}]", "from: [{a: 1, podSelector: {}}]", false},
		"Selector":            {"spec: {selector: {a: x, b: y}}", "spec: {selector: {a: x}}", false},
		"SameSelector":        {"spec: {selector: {a: x}}", "spec: {selector: {a: x}}", true},
		"Reference":           {"secretKeyRef: {name: a, optional: true}", "secretKeyRef: {name: a}", false},
		"KeyedInCustom":       {"apiVersion: example.com/v1\nports: [{port: 80, protocol: TCP}]", "apiVersion: example.com/v1\nports: [{port: 80}]", false},
		"MoreInCustom":        {"apiVersion: example.com/v1\nspec: {a: x, b: y}", "apiVersion: example.com/v1\nspec: {a: x}", false},
		"Custom":              {"apiVersion: example.com/v1\nspec: {a: x}", "apiVersion: example.com/v1\nspec: {a: x}", true},
		"LabelsInCustom":      {"apiVersion: example.com/v1\nmetadata: {labels: {a: x, b: y}}", "apiVersion: example.com/v1\nmetadata: {labels: {a: x}}", true},
		"StatusOfOthers":      {"status: {a: x}", "status: {a: y}", true},
		"Version":             {"apiVersion: v2\na: x", "apiVersion: v1\na: x", true},
		"Label":               {"metadata: {labels: {a: x}}", "metadata: {labels: {a: y}}", false},
		"Annotation":          {"metadata: {name: n}", "metadata: {name: n, annotations: {a: x}}", false},
		"MoreMetadata":        {"metadata: {labels: {a: x}, annotations: {b: y}}", "metadata: {name: n}", true},
		"OtherMetadata":       {"metadata: {name: n}", "metadata: {name: n, finalizers: [x]}", true},
		"NoMetadata":          {"a: 1", "metadata: {name: n, labels: {}}", true},
		"StrangeMetadata":     {"a: 1", "metadata: x", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Contains(parse(t, tc.live), parse(t, tc.desired)); got != tc.want {
				t.Error(got)
			}
			if paths := Differing(parse(t, tc.live), parse(t, tc.desired)); (len(paths) == 0) != tc.want {
				t.Errorf("the paths that differ are %q", paths)
			}
		})
	}
	if !Contains(nil, nil) {
		t.Error("nil does not contain nil")
	}
	if Contains(map[string]any{"a": int32(1)}, map[string]any{"a": int32(1)}) {
		t.Error("a value of a type that JSON does not produce counts as contained")
	}
}

// TestDiffering: the paths lead to the innermost field that differs, and have no values.
func TestDiffering(t *testing.T) {
	for name, tc := range map[string]struct{ live, desired, want string }{
		"Fields": {
			"spec: {replicas: 1, paused: true}\ndata: {a: x}", "spec: {replicas: 2, paused: true}\ndata: {a: secret, b: secret}", ".data.a .data.b .spec.replicas",
		},
		"Named": {
			"spec: {containers: [{name: app, image: a, env: [{name: A, value: b}]}, {name: log}]}",
			"spec: {containers: [{name: app, image: b, env: [{name: A, value: secret}]}, {name: log}]}",
			`.spec.containers[name="app"].env[name="A"].value .spec.containers[name="app"].image`,
		},
		"Index":    {"ports: [{port: 80}]", "ports: [{port: 81}]", ".ports[0].port"},
		"Length":   {"args: [a]", "args: [a, b]", ".args"},
		"Labels":   {"metadata: {labels: {a: x}}", "metadata: {labels: {a: y}, annotations: {b/c: d}}", ".metadata.annotations .metadata.labels.a"},
		"Added":    {"spec: {selector: {a: x, b: y}}", "spec: {selector: {a: x}}", ".spec.selector"},
		"Absent":   {"a: 1", "spec: {a: 1}", ".spec"},
		"Metadata": {"a: 1", "metadata: x", ".metadata"},
	} {
		if got := strings.Join(Differing(parse(t, tc.live), parse(t, tc.desired)), " "); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestSameNumber(t *testing.T) {
	for _, tc := range []struct {
		i    int64
		f    float64
		want bool
	}{
		{2, 2, true},
		{-2, -2, true},
		{2, 2.5, false},
		{1<<53 + 1, 1 << 53, false},
		{math.MaxInt64, 1 << 63, false},
		{math.MinInt64, -(1 << 63), true},
		{0, math.NaN(), false},
		{0, math.Inf(1), false},
	} {
		if same(tc.i, tc.f) != tc.want || same(tc.f, tc.i) != tc.want {
			t.Errorf("%d and %v: not %v", tc.i, tc.f, tc.want)
		}
	}
}

func readPair(t testing.TB, file string) (live, desired *unstructured.Unstructured) {
	t.Helper()
	g := readGolden(t, file)
	return decode(t, g.Live), Normalize(decode(t, g.Desired))
}

func TestContainsDoesNotAllocate(t *testing.T) {
	live, desired := readPair(t, "testdata/clean-contained.yaml")
	if !Contains(live.Object, desired.Object) {
		t.Fatal("not contained")
	}
	if n := testing.AllocsPerRun(100, func() { Contains(live.Object, desired.Object) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkContains(b *testing.B) {
	live, desired := readPair(b, "testdata/clean-contained.yaml")
	b.ReportAllocs()
	for b.Loop() {
		if !Contains(live.Object, desired.Object) {
			b.Fatal("not contained")
		}
	}
}

func FuzzContains(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"metadata":{"labels":{}}}`), []byte(`{"a":[1.0,{"b":{}}],"metadata":[]}`))
	f.Add([]byte(`{"apiVersion":"v1","spec":{"selector":{}}}`), []byte(`{"apiVersion":1,"spec":{"selector":{"a":1e400}}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var live, desired map[string]any
		if json.Unmarshal(a, &live) != nil || json.Unmarshal(b, &desired) != nil {
			return
		}
		if paths := Differing(live, desired); (len(paths) == 0) != Contains(live, desired) {
			t.Errorf("the paths that differ are %q", paths)
		}
		if !Contains(desired, desired) && desired["metadata"] == nil {
			t.Errorf("%s does not contain itself", b)
		}
	})
}
