// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package internal_test holds the house to its plan: who may import whom, and
// which deeds are done in one place only. docs/architecture.md says why.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	project = "github.com/pintle-dev/pintle"
	rooms   = project + "/internal/"
	runtime = "sigs.k8s.io/controller-runtime"
)

// mayImport says which rooms a room may import itself. Everybody may import api.
// A new room has to be added here before anybody can use it.
func mayImport() map[string][]string {
	return map[string][]string{
		"release":     {},
		"cause":       {},
		"objectstate": {},
		"diagnose":    {"cause", "release"},
		"operation":   {"cause"},
		"hookjob":     {},
		"report":      {"operation", "release"},
		"scenario":    {"cause", "release", "report"},
		"chart":       {},
		"sandbox":     {},
		"apiretry":    {},
		"cluster":     {"apiretry"},
		"cloud":       {},
		"options":     {},
		"expression":  {},
		"postrender":  {},
		"attempt":     {"release"},
		"watch":       {},
		"memory":      {},
		"notify":      {},
		"fence":       {},
		"desired":     {"chart", "expression", "release"},
		"drift":       {"apiretry", "release"},
		"helm":        {"apiretry", "cause", "chart", "expression", "hookjob", "objectstate", "postrender", "release", "sandbox"},
		"metrics":     {"release", "report"},
		"controller":  {"apiretry", "attempt", "cause", "cluster", "desired", "diagnose", "drift", "helm", "hookjob", "metrics", "notify", "operation", "release", "report", "watch"},
		"main":        {"chart", "cloud", "cluster", "controller", "desired", "fence", "helm", "memory", "metrics", "notify", "options"},
	}
}

// pkg is what `go list` tells about a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string
	Standard   bool
}

// list asks once: it takes a second.
var list = sync.OnceValues(func() (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Imports,Deps,Standard", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// graph lists all packages of the project and what they reach.
func graph(t *testing.T) map[string]pkg {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// room returns the name of the room a package belongs to, empty if none.
func room(path string) string {
	if path == project {
		return "main"
	}
	name, ok := strings.CutPrefix(path, rooms)
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "/")
	return name
}

// within reports whether path is one of the packages or lies beneath one.
func within(path string, packages ...string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// reach returns a way from a package to one of the targets, nil if there is
// none. The way does not lead through the libraries of API types: they link a
// logger and an HTTP client without anybody asking for one.
func reach(all map[string]pkg, from string, targets ...string) []string {
	seen := map[string]bool{from: true}
	for queue := [][]string{{from}}; len(queue) > 0; queue = queue[1:] {
		way := queue[0]
		for _, next := range all[way[len(way)-1]].Imports {
			switch {
			case within(next, targets...):
				return append(slices.Clone(way), next)
			case seen[next] || all[next].Standard,
				within(next, "k8s.io/apimachinery", "k8s.io/api", "k8s.io/apiextensions-apiserver/pkg/apis"):
				continue
			}
			seen[next] = true
			queue = append(queue, append(slices.Clone(way), next))
		}
	}
	return nil
}

func TestWhoImportsWhom(t *testing.T) {
	all, allowed := graph(t), mayImport()
	for path, p := range all {
		from := room(path)
		if from == "" {
			if within(path, project) && slices.ContainsFunc(p.Imports, func(i string) bool { return room(i) == "controller" }) {
				t.Errorf("%s imports controller, which only main may", path)
			}
			continue
		}
		others, known := allowed[from]
		if !known {
			t.Errorf("%s is a room nobody knows: say in mayImport whom it may import", from)
		}
		for _, i := range p.Imports {
			if to := room(i); to != "" && to != from && !slices.Contains(others, to) {
				t.Errorf("%s imports %s, and may import only %v", from, to, others)
			}
		}
	}
	for name := range allowed {
		if path := rooms + name; name != "main" && all[path].ImportPath == "" {
			t.Errorf("the room %s does not exist", name)
		}
	}
}

func TestPureRooms(t *testing.T) {
	all := graph(t)
	for _, name := range []string{"release", "report", "scenario", "operation", "cause", "hookjob", "objectstate"} {
		p := all[rooms+name]
		for _, dep := range p.Deps {
			if within(dep, "k8s.io/client-go", "helm.sh/helm", runtime, "k8s.io/cli-runtime") {
				t.Errorf("%s reaches %s: %v", name, dep, reach(all, rooms+name, dep))
			}
		}
		if way := reach(all, rooms+name, "net", "github.com/go-logr/logr", "log", "math/rand", "context", "os/exec", "k8s.io/klog"); way != nil {
			t.Errorf("%s is to turn values into values: %s", name, strings.Join(way, " imports "))
		}
	}
	for _, name := range []string{"release", "report", "operation", "cause", "hookjob", "objectstate"} {
		if slices.Contains(all[rooms+name].Imports, "os") {
			t.Errorf("%s imports os", name)
		}
	}
}

func TestWhoKnowsHelm(t *testing.T) {
	for path, p := range graph(t) {
		name := room(path)
		if name == "" {
			continue
		}
		for _, i := range p.Imports {
			if within(i, "helm.sh/helm") && !slices.Contains([]string{"helm", "chart", "sandbox"}, name) {
				t.Errorf("%s imports %s, which only helm, chart and sandbox may", name, i)
			}
		}
		for _, dep := range p.Deps {
			if within(dep, "helm.sh/helm") && !slices.Contains([]string{"helm", "chart", "sandbox", "desired", "controller", "main"}, name) {
				t.Errorf("%s reaches %s", name, dep)
			}
		}
	}
}

// TestWhoKnowsClouds: the libraries of clouds are large, and start by looking around.
func TestWhoKnowsClouds(t *testing.T) {
	for path, p := range graph(t) {
		if name := room(path); name == "" || name == "cloud" || name == "main" {
			continue
		}
		for _, dep := range p.Deps {
			if within(dep, "github.com/fluxcd/pkg/auth", "github.com/aws", "github.com/Azure/azure-sdk-for-go", "google.golang.org/api") {
				t.Errorf("%s reaches %s", path, dep)
			}
		}
	}
}

// TestWhoBuildsControllers keeps to three rooms what of controller-runtime starts,
// wakes and answers reconciliations.
func TestWhoBuildsControllers(t *testing.T) {
	var machinery []string
	for _, p := range []string{"builder", "controller", "event", "handler", "manager", "predicate", "reconcile", "source"} {
		machinery = append(machinery, runtime+"/pkg/"+p)
	}
	for path, p := range graph(t) {
		name := room(path)
		if name == "" || slices.Contains([]string{"controller", "attempt", "main"}, name) {
			continue
		}
		for _, i := range p.Imports {
			if i == runtime || within(i, machinery...) {
				t.Errorf("%s imports %s", name, i)
			}
		}
	}
}

// TestNoDrawers: a package is named for what it does.
func TestNoDrawers(t *testing.T) {
	for path := range graph(t) {
		if !within(path, project) {
			continue
		}
		for part := range strings.SplitSeq(path, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, part) {
				t.Errorf("%s: %q says nothing", path, part)
			}
		}
	}
}

// TestOnePlace finds deeds that are to be done in one place, and where they are
// done. Reading the sources here also tells the test cache that they matter to
// the tests above.
func TestOnePlace(t *testing.T) {
	deeds := map[string][]string{}
	for path, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if deed := deedOf(n); deed != "" {
				deeds[deed] = append(deeds[deed], path)
			}
			return true
		})
	}
	helmrelease := "internal/controller/helmrelease_publish.go"
	// One for each kind of object that is visited.
	publish := []string{helmrelease, "internal/controller/operation_publish.go"}
	for deed, tc := range map[string]struct {
		reason string
		where  []string
	}{
		"write status":    {"One write ends a visit.", publish},
		"IsConflict":      {"Conflicts end a visit silently, in one way; those of an object that is corrected lead to another look at it.", []string{helmrelease, "internal/drift/correct.go"}},
		"make a recorder": {"Events that go another way lack the annotations of their object, and are posted nowhere.", []string{"internal/controller/events.go"}},
		"Requeue":         {"It is deprecated, and says neither when nor why.", nil},
	} {
		got := deeds[deed]
		slices.Sort(got)
		if !slices.Equal(got, tc.where) {
			t.Errorf("%s %s happens in %v, not in %v", tc.reason, deed, got, tc.where)
		}
	}
	for _, path := range deeds["result"] {
		if !slices.Contains(publish, path) {
			t.Errorf("%s says when to come back; only %v may", path, publish)
		}
	}
	for _, path := range deeds["condition"] {
		if !strings.HasPrefix(path, "internal/report/") {
			t.Errorf("%s builds a condition; only report may", path)
		}
	}
	if len(deeds["condition"]) == 0 || len(deeds["result"]) == 0 {
		t.Errorf("nothing was found, so this test looks for the wrong thing: %v", deeds)
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
	if err := read("main.go"); err != nil {
		t.Fatal(err)
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

// deedOf names what a piece of code does, if it is one of the deeds that have
// their place.
func deedOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		return deedOfCall(n)
	case *ast.CompositeLit:
		return deedOfLiteral(n)
	}
	return ""
}

func deedOfCall(call *ast.CallExpr) string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch f.Sel.Name {
	case "IsConflict":
		return "IsConflict"
	case "GetEventRecorderFor", "GetEventRecorder":
		return "make a recorder"
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

func deedOfLiteral(l *ast.CompositeLit) string {
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
