// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	generatedCRD = "../../config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml"
	// referenceList is the schema of helm-controller 1.7.1, formerList of 1.6.
	referenceList = "testdata/helmrelease-v2-1.7.1.schema.tsv"
	formerList    = "testdata/helmrelease-v2-1.6.schema.tsv"
	// ownList lists the additions of this project to the CRD: optional fields, and rules about
	// them.
	ownList = "testdata/own.schema.tsv"
)

// constraints are the schema keywords of one path, with their values as decoded from JSON.
type constraints map[string]any

// TestSchemaEqualsHelmController: the CRD accepts and rejects the same objects as that of
// helm-controller.
func TestSchemaEqualsHelmController(t *testing.T) {
	want, wantNames, wantColumns := readReference(t)
	addOwn(t, want)
	crd := readCRD(t)
	version := crd.Spec.Versions[0]

	for _, difference := range compare(want, flatten(version.Schema.OpenAPIV3Schema)) {
		t.Error(difference)
	}
	if !reflect.DeepEqual(crd.Spec.Names, wantNames) {
		t.Errorf("names: want %v, got %v", wantNames, crd.Spec.Names)
	}
	var columns [][]string
	for _, column := range version.AdditionalPrinterColumns {
		if column.Priority > 0 {
			// Shown with -o wide only. helm-controller has none.
			continue
		}
		columns = append(columns, []string{column.Name, column.Type, column.JSONPath})
	}
	if !reflect.DeepEqual(columns, wantColumns) {
		t.Errorf("columns: want %v, got %v", wantColumns, columns)
	}
}

// TestSchemaAcceptsFormerObjects: the CRD accepts every object that the CRD of helm-controller 1.6
// accepts. It has that CRD's constraints, except for the listed ones, which only the rules about
// spec.chart replace: an object without the new fields satisfies them if it has chart and sourceRef,
// which 1.6 requires.
func TestSchemaAcceptsFormerObjects(t *testing.T) {
	want, _, _ := readList(t, formerList)
	addOwn(t, want)
	var rules []any
	got := flatten(readCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema)
	for path, constraints := range got {
		switch _, known := want[path]; {
		case !known:
			delete(got, path)
		case path == ".spec.chart":
			rules = constraints["cel"].([]any)
			delete(constraints, "cel")
		}
	}
	expected := []string{
		`.spec.chart.spec: required: want ["chart","sourceRef"], got nothing`,
		`.spec.chart.spec.reconcileStrategy: default: want "ChartVersion", got nothing`,
		`.spec.chart.spec.version: default: want "*", got nothing`,
		`.spec.kubeConfig: cel: want ["!has(self.configMapRef) || !has(self.secretRef)","has(self.configMapRef) || has(self.secretRef)"], got ["has(self.configMapRef) != has(self.secretRef)"]`,
	}
	if differences := compare(want, got); !slices.Equal(differences, expected) {
		t.Errorf("want %q, got %q", expected, differences)
	}
	const former = "(has(self.kind) && self.kind == 'OCIRepository') || (has(self.spec.chart) && has(self.spec.sourceRef))"
	for _, rule := range rules {
		if !strings.HasPrefix(rule.(string), "!has(self.kind) || ") && !strings.HasPrefix(rule.(string), "!has(self.spec.url) || ") && rule != former {
			t.Errorf("objects without the new fields may not satisfy %q", rule)
		}
	}
}

// addOwn adds the list of own fields. Own entries must not reject objects that helm-controller
// accepts: paths of helm-controller may only get rules about own fields and values, and accept more.
func addOwn(t *testing.T, want map[string]constraints) {
	t.Helper()
	own, _, _ := readList(t, ownList)
	for path, here := range own {
		theirs, known := want[path]
		if !known {
			want[path] = here
			continue
		}
		for keyword, ours := range here {
			switch former := theirs[keyword]; {
			case keyword == "cel" && former == nil:
			case keyword == "enum" && isSubset(former, ours):
			case keyword == "pattern" && isWider(former, ours):
			case keyword == "maxItems" && former == nil && path == ".spec.valuesFrom":
				// The controller refuses a list that is much shorter.
			default:
				t.Errorf("%s: %s requires %v of fields of helm-controller", path, ownList, here)
			}
			theirs[keyword] = ours
		}
	}
}

// isSubset reports whether all values of an enum are in another.
func isSubset(former, ours any) bool {
	all, _ := ours.([]any)
	values, _ := former.([]any)
	return !slices.ContainsFunc(values, func(v any) bool { return !slices.Contains(all, v) })
}

// isWider reports whether a pattern accepts each ASCII character that another does. Both are sets of
// characters that may be repeated.
func isWider(former, ours any) bool {
	narrow, wide := regexp.MustCompile(former.(string)), regexp.MustCompile(ours.(string))
	for c := rune(0); c < 128; c++ {
		if narrow.MatchString(string(c)) && !wide.MatchString(string(c)) {
			return false
		}
	}
	return true
}

// TestCRDEqualsHelmController: scope, names and columns of the CRD equal those of helm-controller.
func TestCRDEqualsHelmController(t *testing.T) {
	crd := readCRD(t)
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("want one version, got %d", len(crd.Spec.Versions))
	}
	version := crd.Spec.Versions[0]
	got := map[string]any{
		"group":        crd.Spec.Group,
		"scope":        crd.Spec.Scope,
		"version":      version.Name,
		"served":       version.Served,
		"storage":      version.Storage,
		"subresources": version.Subresources,
		"substitute":   crd.Metadata.Annotations["kustomize.toolkit.fluxcd.io/substitute"],
	}
	want := map[string]any{
		"group":        "helm.toolkit.fluxcd.io",
		"scope":        "Namespaced",
		"version":      "v2",
		"served":       true,
		"storage":      true,
		"subresources": map[string]any{"status": map[string]any{}},
		"substitute":   "disabled",
	}
	for key := range want {
		if !reflect.DeepEqual(got[key], want[key]) {
			t.Errorf("%s: want %v, got %v", key, want[key], got[key])
		}
	}
}

// TestCompareNoticesEveryDifference: compare reports missing, additional and changed constraints.
func TestCompareNoticesEveryDifference(t *testing.T) {
	want := map[string]constraints{
		".a": {"type": "string", "maxLength": 253.0},
		".b": {"type": "string"},
		".c": {"type": "string"},
	}
	got := map[string]constraints{
		".a": {"type": "string", "maxLength": 63.0},
		".b": {"type": "string", "minLength": 1.0},
		".d": {"type": "string"},
	}
	differences := compare(want, got)
	expected := []string{
		`.a: maxLength: want 253, got 63`,
		`.b: minLength: want nothing, got 1`,
		`.c: missing`,
		`.d: not in helm-controller's CRD`,
	}
	if !slices.Equal(differences, expected) {
		t.Errorf("want %q, got %q", expected, differences)
	}
}

// compare returns a sentence for each path and each constraint that differs.
func compare(want, got map[string]constraints) []string {
	var differences []string
	for _, path := range sortedKeys(want, got) {
		wanted, inWant := want[path]
		found, inGot := got[path]
		switch {
		case !inGot:
			differences = append(differences, path+": missing")
			continue
		case !inWant:
			differences = append(differences, path+": not in helm-controller's CRD")
			continue
		}
		for _, keyword := range sortedKeys(wanted, found) {
			if w, g := wanted[keyword], found[keyword]; !reflect.DeepEqual(w, g) {
				differences = append(differences, fmt.Sprintf("%s: %s: want %s, got %s", path, keyword, show(w), show(g)))
			}
		}
	}
	return differences
}

// flatten lists the constraints of a schema by path. A dot leads to a property, [] to the items of
// a list, {} to the values of a map. Descriptions are skipped.
func flatten(schema map[string]any) map[string]constraints {
	paths := map[string]constraints{}
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		here := constraints{}
		for keyword, value := range schema {
			switch keyword {
			case "description":
			case "properties":
				for name, property := range value.(map[string]any) {
					walk(path+"."+name, property.(map[string]any))
				}
			case "items":
				walk(path+"[]", value.(map[string]any))
			case "additionalProperties":
				walk(path+"{}", value.(map[string]any))
			case "required":
				here[keyword] = sortedStrings(value.([]any))
			case "x-kubernetes-validations":
				// The messages may differ.
				var rules []any
				for _, validation := range value.([]any) {
					rules = append(rules, validation.(map[string]any)["rule"])
				}
				here["cel"] = sortedStrings(rules)
			default:
				here[keyword] = value
			}
		}
		if path == "" {
			path = "."
		}
		paths[path] = here
	}
	walk("", schema)
	return paths
}

// crd are the fields of a CustomResourceDefinition that the tests read.
type crd struct {
	Metadata struct {
		Annotations map[string]string
	}
	Spec struct {
		Group    string
		Scope    string
		Names    map[string]any
		Versions []struct {
			Name                     string
			Served                   bool
			Storage                  bool
			Subresources             map[string]any
			AdditionalPrinterColumns []struct {
				Name, Type, JSONPath string
				Priority             int
			}
			Schema struct {
				OpenAPIV3Schema map[string]any
			}
		}
	}
}

func readCRD(t *testing.T) crd {
	t.Helper()
	data, err := os.ReadFile(generatedCRD)
	if err != nil {
		t.Fatal(err)
	}
	var out crd
	if err := yaml.Unmarshal(data, &out); err != nil {
		t.Fatalf("parse %s: %v", generatedCRD, err)
	}
	if len(out.Spec.Versions) == 0 {
		t.Fatalf("%s has no versions", generatedCRD)
	}
	return out
}

// readReference reads lines of a path, a tab and JSON. Two of them are about the CRD itself.
func readReference(t *testing.T) (paths map[string]constraints, names map[string]any, columns [][]string) {
	t.Helper()
	return readList(t, referenceList)
}

func readList(t *testing.T, list string) (paths map[string]constraints, names map[string]any, columns [][]string) {
	t.Helper()
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	paths = map[string]constraints{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), "\t")
		if !found {
			t.Fatalf("%s: no tab in %q", list, lines.Text())
		}
		var err error
		switch key {
		case "names":
			err = json.Unmarshal([]byte(value), &names)
		case "columns":
			err = json.Unmarshal([]byte(value), &columns)
		default:
			var here constraints
			err = json.Unmarshal([]byte(value), &here)
			paths[key] = here
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", list, key, err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return paths, names, columns
}

func sortedKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func sortedStrings(values []any) []any {
	slices.SortFunc(values, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return values
}

func show(value any) string {
	if value == nil {
		return "nothing"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
