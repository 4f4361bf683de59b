// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// document returns a page of docs/spec, or for helmreleases.md all pages about HelmReleases.
func document(t *testing.T, name string) string {
	t.Helper()
	paths := []string{"../docs/spec/" + name}
	if name == "helmreleases.md" {
		var err error
		if paths, err = filepath.Glob("../docs/spec/*.md"); err != nil {
			t.Fatal(err)
		}
		paths = slices.DeleteFunc(paths, func(path string) bool {
			return slices.Contains([]string{"deviations.md", "operations.md"}, filepath.Base(path))
		})
	}
	var text strings.Builder
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(raw)
	}
	return text.String()
}

func mentions(document, word string) bool {
	return regexp.MustCompile(`(^|[^A-Za-z])` + regexp.QuoteMeta(word) + `($|[^A-Za-z])`).MatchString(document)
}

// TestFieldsAreDocumented: docs/spec mentions every field of spec and status.
func TestFieldsAreDocumented(t *testing.T) {
	for _, tc := range []struct{ crd, document string }{
		{"helm.toolkit.fluxcd.io_helmreleases.yaml", "helmreleases.md"},
		{"ops.vworkspace.io_operations.yaml", "operations.md"},
	} {
		raw, err := os.ReadFile("../config/crd/bases/" + tc.crd)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatal(err)
		}
		text, fields := document(t, tc.document), 0
		var walk func(schema apiextensionsv1.JSONSchemaProps, path string)
		walk = func(schema apiextensionsv1.JSONSchemaProps, path string) {
			for name, field := range schema.Properties {
				fields++
				if !mentions(text, name) && !strings.HasPrefix(path, "status.conditions") {
					t.Errorf("docs/spec/%s does not mention %s%s", tc.document, path, name)
				}
				walk(field, path+name+".")
			}
			if schema.Items != nil && schema.Items.Schema != nil {
				walk(*schema.Items.Schema, path)
			}
		}
		for _, half := range []string{"spec", "status"} {
			walk(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[half], half+".")
		}
		if fields == 0 {
			t.Errorf("no field was found in %s", tc.crd)
		}
	}
}

// TestWordsAreDocumented: the pages about HelmReleases mention every condition, reason, annotation
// and label that the code uses.
func TestWordsAreDocumented(t *testing.T) {
	text, used, all := document(t, "helmreleases.md"), usedConstants(t, "helmv2"), constants(t, "../api/v2/*.go")
	for name, value := range all {
		kind := regexp.MustCompile("^(Condition|Reason|EventReason|Annotation|Label|EventAnnotation|EventMetadata|Metadata)").FindString(name)
		if kind == "" || !used[name] {
			continue
		}
		word := value
		if kind == "EventMetadata" || strings.HasPrefix(value, "reconcile.") {
			// The documents have the prefix in a table head or column.
			_, word, _ = strings.Cut(value, "/")
		} else if strings.HasPrefix(value, "/") {
			word = all["Group"] + value
		}
		if !mentions(text, word) {
			t.Errorf("no page about HelmReleases mentions %s, %s", name, value)
		}
	}
}

// TestReasonsHaveRows: docs/spec/status.md has a row for each condition, docs/spec/problems.md one for
// each reason of a condition, and neither has one for what does not exist.
func TestReasonsHaveRows(t *testing.T) {
	used, all := usedConstants(t, "helmv2"), constants(t, "../api/v2/*.go")
	conditions := firstColumn(t, "status.md", "Conditions")
	reasons := firstColumn(t, "problems.md", "Reasons")
	events := firstColumn(t, "status.md", "Events")
	known := map[string]bool{}
	for name, value := range all {
		isCondition, isReason := strings.HasPrefix(name, "Condition"), strings.HasPrefix(name, "Reason")
		known[value] = known[value] || isCondition || isReason
		switch {
		case !used[name]:
		case isCondition && !slices.Contains(conditions, value):
			t.Errorf("docs/spec/status.md has no row for condition %s", value)
		case isReason && !slices.Contains(reasons, value) && !slices.Contains(events, value):
			t.Errorf("docs/spec/problems.md does not say what to do about %s", value)
		}
	}
	for _, name := range slices.Concat(conditions, reasons) {
		if !known[name] {
			t.Errorf("there is a row for %s, which does not exist", name)
		}
	}
}

// TestFailureCodes: FailureCodes returns each code once, docs/spec/diagnosis.md has a row for each, and
// docs/runbook.md the entry that alerts link to.
func TestFailureCodes(t *testing.T) {
	var want []string
	for name, value := range constants(t, "../api/v2/*.go") {
		if strings.HasPrefix(name, "Failure") {
			want = append(want, value)
		}
	}
	raw, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "\n## Causes\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var entries []string
	for _, match := range regexp.MustCompile("(?m)^### (.*)$").FindAllStringSubmatch(text, -1) {
		entries = append(entries, match[1])
	}
	slices.Sort(want)
	for place, got := range map[string][]string{
		"FailureCodes": helmv2.FailureCodes(), "docs/runbook.md": entries, "docs/spec/diagnosis.md": firstColumn(t, "diagnosis.md", "Causes"),
	} {
		if got = slices.Sorted(slices.Values(got)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, and the constants are %v", place, got, want)
		}
	}
}

// firstColumn returns the names in the first column of the tables in a section of a page of docs/spec.
func firstColumn(t *testing.T, page, section string) []string {
	t.Helper()
	_, text, found := strings.Cut(document(t, page), "\n## "+section+"\n")
	if !found {
		t.Fatalf("docs/spec/%s has no section %s", page, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.HasPrefix(cells[1], " `") {
			for _, match := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(cells[1], -1) {
				names = append(names, match[1])
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("docs/spec/%s, %s has rows for %v", page, section, names)
	}
	return names
}

// TestWordsOfOperationsAreDocumented: docs/spec/operations.md mentions every such constant of the
// API of Operations.
func TestWordsOfOperationsAreDocumented(t *testing.T) {
	text, all, found := document(t, "operations.md"), constants(t, "../api/ops/v1alpha1/*.go"), 0
	for name, value := range all {
		if !regexp.MustCompile("^(Condition|Reason|Result|Annotation|Label|Phase|Type|Event[A-Z])").MatchString(name) {
			continue
		}
		if found++; strings.HasPrefix(value, "/") {
			value = all["Group"] + value
		}
		if !mentions(text, value) {
			t.Errorf("docs/spec/operations.md does not mention %s, %s", name, value)
		}
	}
	if found == 0 {
		t.Error("no constant was found")
	}
}

// constants returns the string constants of the files that match pattern, by name.
func constants(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			ast.Inspect(spec.Values[0], func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					all[spec.Names[0].Name], _ = strconv.Unquote(l.Value)
				}
				return true
			})
			return true
		})
	}
	return all
}

// usedConstants returns the names that the project's code selects from a package.
func usedConstants(t *testing.T, alias string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == alias {
					used[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	if !used["ConditionReady"] {
		t.Fatal("ConditionReady is not among the used names")
	}
	return used
}
