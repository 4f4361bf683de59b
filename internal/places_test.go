// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOnePlace: some calls are made in one file only. The sources that it reads become inputs of the
// test cache, for TestImports too.
func TestOnePlace(t *testing.T) {
	calls := map[string][]string{}
	for path, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call := callOf(n); call != "" {
				calls[call] = append(calls[call], path)
			}
			return true
		})
	}
	const controllers = "internal/controller/"
	// One for each kind of object that is reconciled.
	publish := []string{controllers + "helmcharts/reconcile.go", controllers + "helmrelease/publish.go", controllers + "operations/publish.go"}
	// When a reconciliation is repeated.
	results := append([]string{controllers + "helmrelease/requeue.go"}, publish...)
	for call, tc := range map[string]struct {
		reason string
		where  []string
	}{
		"write status": {"One write ends a reconciliation. Plans are written before.", slices.Sorted(slices.Values(append([]string{controllers + "helmrelease/plans/planner.go"}, publish...)))},
		"IsConflict": {"A conflict ends a reconciliation without an error. One of an object that is compared or corrected leads to another comparison, one of an object that a hook replaces to another look, one of a plan to another read, one of a record ends the action, and one of the key of seals leads to its read.", []string{
			controllers + "helmcharts/reconcile.go", controllers + "helmrelease/publish.go", controllers + "helmrelease/sourcemaker.go", controllers + "operations/publish.go",
			"internal/drift/correct.go", "internal/drift/object.go", "internal/helm/apply/forecast.go", "internal/helm/apply/hooks.go", "internal/helm/planning/secret.go",
			"internal/helm/storage/sealkey.go", "internal/helm/storage/secretapi.go",
		}},
		"record an event": {"All events are built by status.", []string{controllers + "recorder.go", "internal/events/recorder.go"}},
		"make a recorder": {"Events of another recorder lack the annotations of their object, and are not posted.", []string{controllers + "recorder.go"}},
		"Requeue":         {"It is deprecated, and has no delay.", nil},
		// Checks of objects recover their panics.
		"SetLimit": {"A panic for one object, on a goroutine of its own, ends the process. Package parallel recovers it.", []string{"internal/helm/wait/object.go"}},
		"decode YAML": {"Aliases of untrusted YAML expand to any size.", []string{
			"internal/bounded/aliases.go", "internal/bounded/lines.go", "internal/bounded/scalars.go", "internal/bounded/yaml.go", "internal/helm/apply/builder.go",
		}},
	} {
		got := calls[call]
		slices.Sort(got)
		got = slices.Compact(got)
		if !slices.Equal(got, tc.where) {
			t.Errorf("%s %s happens in %v, not in %v", tc.reason, call, got, tc.where)
		}
	}
	for _, path := range calls["result"] {
		if !slices.Contains(results, path) {
			t.Errorf("%s builds a result; only %v may", path, results)
		}
	}
	for _, built := range []string{"condition", "event"} {
		for _, path := range calls[built] {
			// The recorder converts events to their payload.
			if !strings.HasPrefix(path, "internal/status/") && path != "internal/events/recorder.go" {
				t.Errorf("%s builds the %s; only status may", path, built)
			}
		}
	}
	if len(calls["condition"]) == 0 || len(calls["result"]) == 0 {
		t.Errorf("nothing was found, so this test looks for the wrong thing: %v", calls)
	}
}

// sources parses the project's own code, tests excluded.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	read := func(path string) error {
		raw, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			return err
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, raw, parser.SkipObjectResolution)
		return err
	}
	for _, path := range []string{"main.go", "controllers.go", "manager.go", "clouds.go"} {
		if err := read(path); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		return read(filepath.Join("internal", path))
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// callOf returns the name under which TestOnePlace lists a node, empty for all others.
func callOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		return callIn(n)
	case *ast.CompositeLit:
		return literalIn(n)
	}
	return ""
}

func callIn(e *ast.CallExpr) string {
	f, ok := e.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if of, ok := f.X.(*ast.Ident); ok && strings.HasPrefix(of.Name, "yaml") && decodesYAML(f.Sel.Name) {
		return "decode YAML"
	}
	switch f.Sel.Name {
	case "IsConflict", "SetLimit":
		return f.Sel.Name
	case "GetEventRecorderFor", "GetEventRecorder":
		return "make a recorder"
	case "Event", "Eventf", "AnnotatedEventf":
		return "record an event"
	case "SetStatusCondition", "RemoveStatusCondition":
		return "condition"
	case "Update", "Patch", "Apply", "Create":
		// x.Status().Patch(...): the receiver is a call of Status itself.
		if of, ok := f.X.(*ast.CallExpr); ok {
			if s, ok := of.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Status" || s.Sel.Name == "SubResource") {
				return "write status"
			}
		}
	}
	return ""
}

// decodesYAML reports whether a function of a YAML package decodes.
func decodesYAML(name string) bool {
	return slices.Contains([]string{"Unmarshal", "UnmarshalStrict", "YAMLToJSON", "YAMLToJSONStrict", "NewDecoder", "NewYAMLToJSONDecoder", "NewYAMLOrJSONDecoder", "ToJSON"}, name)
}

func literalIn(l *ast.CompositeLit) string {
	typ, ok := l.Type.(*ast.SelectorExpr)
	if !ok || len(l.Elts) == 0 {
		return ""
	}
	from, ok := typ.X.(*ast.Ident)
	if !ok {
		return ""
	}
	switch from.Name + "." + typ.Sel.Name {
	case "metav1.Condition":
		return "condition"
	case "status.Event", "eventv1.Event", "corev1.Event", "eventsv1.Event":
		return "event"
	case "ctrl.Result", "reconcile.Result":
		for _, e := range l.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Requeue" {
					return "Requeue"
				}
			}
		}
		return "result"
	}
	return ""
}
