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
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// document returns what users read.
func document(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../docs/spec/helmreleases.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func mentions(document, word string) bool {
	return regexp.MustCompile(`(^|[^A-Za-z])` + regexp.QuoteMeta(word) + `($|[^A-Za-z])`).MatchString(document)
}

// TestFieldsAreDocumented: every field of spec and status is mentioned somewhere.
func TestFieldsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	text, fields := document(t), 0
	var walk func(schema apiextensionsv1.JSONSchemaProps, path string)
	walk = func(schema apiextensionsv1.JSONSchemaProps, path string) {
		for name, field := range schema.Properties {
			fields++
			if !mentions(text, name) && !strings.HasPrefix(path, "status.conditions") {
				t.Errorf("docs/spec/helmreleases.md says nothing of %s%s", path, name)
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
	if fields < 200 {
		t.Errorf("%d fields: what has become of the others?", fields)
	}
}

// TestWordsAreDocumented: so is every condition, reason, annotation and label that
// the program reads or writes.
func TestWordsAreDocumented(t *testing.T) {
	text, used, all := document(t), usedConstants(t), constants(t)
	for name, value := range all {
		kind := regexp.MustCompile("^(Condition|Reason|EventReason|Annotation|Label|EventAnnotation|EventMetadata|Metadata)").FindString(name)
		if kind == "" || !used[name] {
			continue
		}
		word := value
		if kind == "EventMetadata" || strings.HasPrefix(value, "reconcile.") {
			// A table gives the prefix once.
			_, word, _ = strings.Cut(value, "/")
		} else if strings.HasPrefix(value, "/") {
			word = all["Group"] + value
		}
		if !mentions(text, word) {
			t.Errorf("docs/spec/helmreleases.md says nothing of %s, %s", name, value)
		}
	}
}

// constants returns the texts of api/v2 by their names.
func constants(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../api/v2/*.go")
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

// usedConstants returns the names of what the rooms take from api/v2.
func usedConstants(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "helmv2" {
					used[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	if !used["ConditionReady"] {
		t.Fatal("nothing is used")
	}
	return used
}
