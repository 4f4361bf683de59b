// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package internal_test checks the structure of the module: which package imports which, and which
// calls are made in one place only. It also checks what pages say of the code. docs/architecture.md
// gives the reasons.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	project  = "github.com/pintle-dev/pintle"
	packages = project + "/internal/"
	runtime  = "sigs.k8s.io/controller-runtime"
)

// layer is a set of folders below internal/, with the packages in them. A longer path counts before
// a shorter one.
type layer struct {
	name    string
	folders []string
}

// layers returns the layers from the lowest to the highest one. A package may import its own layer
// and lower ones. A new package needs an entry only if it is in no folder of the list.
func layers() []layer {
	return []layer{
		// Tools know nothing of releases.
		{"tools", []string{
			"apiretry", "bounded", "brief", "cel", "cluster", "events", "fair", "leader", "oomwatch", "options", "parallel",
			"redaction", "values", "version", "watch", "worker",
		}},
		// Decisions are pure, so they use only those tools that are.
		{decisions, []string{
			"danger", "diagnosis", "helmchart", "hookjob", "operation", "plan", "policy", "readiness", "release", "rollout", "status",
		}},
		// Effects read the input of decisions and carry out their results.
		{"effects", []string{"cancel", "chart", "diagnosis/evidence", "drift", "helm", "helmchart/archive", "inputs", "render"}},
		{controllers, []string{"attempt", "controller", "metrics"}},
		// Interfaces show to users what the API server has.
		{"interfaces", []string{"cli", "diff", "page", "view"}},
	}
}

const (
	decisions = "decisions"
	// controllers are imported by main only: interfaces and other commands do without.
	controllers = "controllers"
)

// layerOf returns the number and the name of the layer of a package of the project. All packages
// outside of internal/ are above the layers, except the API, which is below.
func layerOf(path string) (number int, name string) {
	rest, internal := strings.CutPrefix(path, packages)
	if !internal {
		if within(path, project+"/api") {
			return -1, "api"
		}
		return len(layers()), "top"
	}
	number, longest := -1, ""
	for n, l := range layers() {
		for _, folder := range l.folders {
			if within(rest, folder) && len(folder) > len(longest) {
				number, name, longest = n, l.name, folder
			}
		}
	}
	return number, name
}

// pure lists the pure packages outside of the layer of decisions, and the libraries that a pure
// package may import if they are not the types of Kubernetes.
func pure() map[string][]string {
	return map[string][]string{
		"bounded":  {"go.yaml.in/yaml", "sigs.k8s.io/yaml"},
		"brief":    {},
		"cli/text": {"k8s.io/apimachinery/pkg/util/duration", "sigs.k8s.io/yaml"},
		// A version of an artifact in a registry is a tag, and a range is not.
		"helmchart": {"github.com/Masterminds/semver/v3", "k8s.io/apiextensions-apiserver/pkg/apis", "k8s.io/apimachinery/pkg"},
		"policy":    {"github.com/robfig/cron/v3", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/labels"},
		// kstatus has Flux's rules of readiness.
		"readiness": {"github.com/fluxcd/cli-utils/pkg/kstatus/status", "k8s.io/api", "k8s.io/apimachinery/pkg"},
		"redaction": {},
		// equality compares a status with one that was stored.
		"release":       {"k8s.io/apimachinery/pkg/api/equality", "k8s.io/apimachinery/pkg/apis/meta/v1"},
		"view":          nil,
		"view/doctor":   nil,
		"view/list":     nil,
		"view/manifest": {"github.com/pmezard/go-difflib/difflib", "sigs.k8s.io/yaml"},
		"view/request":  nil,
	}
}

// pkg is the output of `go list` about a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string
	Standard   bool
}

// list runs `go list` once: it takes a second.
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

// graph returns all packages that the project consists of or depends on, by path.
func graph(t *testing.T) map[string]pkg {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// nameOf returns the path of a package below internal/, "main" for the command, and the
// empty string for every other package.
func nameOf(path string) string {
	if path == project {
		return "main"
	}
	name, ok := strings.CutPrefix(path, packages)
	if !ok {
		return ""
	}
	return name
}

// within reports whether path is one of the packages or lies beneath one.
func within(path string, packages ...string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// reach returns a chain of imports from a package to one of the targets, nil if there is
// none. Libraries of API types end a chain: they link a logger and an HTTP client that the
// package does not use. So does the library for cron, of which only the parser is used.
func reach(all map[string]pkg, from string, targets ...string) []string {
	seen := map[string]bool{from: true}
	for queue := [][]string{{from}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		for _, next := range all[chain[len(chain)-1]].Imports {
			switch {
			case within(next, targets...):
				return append(slices.Clone(chain), next)
			case seen[next] || all[next].Standard,
				within(next, "k8s.io/apimachinery", "k8s.io/api", "k8s.io/apiextensions-apiserver/pkg/apis", "github.com/robfig/cron"):
				continue
			}
			seen[next] = true
			queue = append(queue, append(slices.Clone(chain), next))
		}
	}
	return nil
}

// TestImports: packages import their own layer and lower ones. Only main and tests import controllers.
// Test support is below test/, above all layers.
func TestImports(t *testing.T) {
	for path, p := range graph(t) {
		if !within(path, project) || path == project+"/internal" {
			continue
		}
		from, layer := layerOf(path)
		if layer == "" {
			t.Errorf("%s is in no layer", path)
			continue
		}
		for _, i := range p.Imports {
			if !within(i, project) {
				continue
			}
			to, other := layerOf(i)
			switch {
			case to > from:
				t.Errorf("%s of the layer %s imports %s of the higher layer %s", path, layer, i, other)
			case other == controllers && layer != controllers && path != project && !within(path, project+"/test"):
				t.Errorf("%s imports %s, which only main may", path, i)
			}
		}
	}
	for _, l := range layers() {
		for _, folder := range l.folders {
			if _, err := os.Stat(folder); err != nil {
				t.Errorf("the layer %s: %v", l.name, err)
			}
		}
	}
}

// TestPurePackages: decisions and the packages that pure lists perform no I/O. They import only pure
// packages, api, and their libraries.
func TestPurePackages(t *testing.T) {
	all, libraries := graph(t), pure()
	for path := range all {
		name := nameOf(path)
		if _, layer := layerOf(path); layer == decisions && libraries[name] == nil {
			libraries[name] = nil // now it is listed
		}
	}
	for name, allowed := range libraries {
		p := all[packages+name]
		if p.ImportPath == "" {
			t.Errorf("%s does not exist", name)
		}
		if allowed == nil {
			allowed = []string{"k8s.io/api", "k8s.io/apimachinery/pkg"}
		}
		for _, i := range p.Imports {
			_, isPure := libraries[nameOf(i)]
			if !isPure && !all[i].Standard && !within(i, project+"/api") && !within(i, allowed...) {
				t.Errorf("%s imports %s, and is pure", name, i)
			}
		}
		for _, dep := range p.Deps {
			if within(dep, "k8s.io/client-go", "helm.sh/helm", runtime, "k8s.io/cli-runtime") {
				t.Errorf("%s reaches %s: %s", name, dep, strings.Join(reach(all, packages+name, dep), " imports "))
				break
			}
		}
		if chain := reach(all, packages+name, "net", "github.com/go-logr/logr", "log", "math/rand", "context", "os/exec", "k8s.io/klog"); chain != nil {
			t.Errorf("%s performs no I/O, and takes time and identity as arguments: %s", name, strings.Join(chain, " imports "))
		}
		if slices.Contains(p.Imports, "os") {
			t.Errorf("%s imports os", name)
		}
	}
}

// TestLibraries: a library is imported only by the packages that are listed for it.
func TestLibraries(t *testing.T) {
	machinery := []string{runtime}
	for _, p := range []string{"builder", "controller", "event", "handler", "manager", "predicate", "reconcile", "source"} {
		machinery = append(machinery, runtime+"/pkg/"+p)
	}
	for _, tc := range []struct {
		libraries []string
		// exact is true if packages below the libraries do not count.
		exact bool
		// direct may import the libraries, and indirect may reach them.
		direct, indirect []string
	}{
		{
			libraries: []string{"helm.sh/helm"},
			direct:    []string{"helm", "helm/apply", "helm/planning", "helm/redact", "helm/revision", "helm/storage", "helm/wait", "chart/archive", "render", "render/handler", "render/postrender", "render/remote", "values"},
			indirect:  []string{"chart", "diff", "helmchart/archive", "inputs", "controller", "page", "view/read", "cli", "main"},
		},
		{
			// They are large, and inspect the machine when they are initialized.
			libraries: []string{"github.com/fluxcd/pkg/auth", "github.com/aws", "github.com/Azure/azure-sdk-for-go", "google.golang.org/api", "cloud.google.com/go", "golang.org/x/oauth2"},
			direct:    []string{"cluster/cloudauth"},
			indirect:  []string{"main"},
		},
		{
			libraries: machinery,
			exact:     true,
			direct:    []string{"controller", "controller/helmcharts", "controller/helmrelease", "controller/helmrelease/plans", "controller/helmrelease/policies", "controller/helmrelease/trigger", "controller/operations", "controller/setup", "attempt", "main"},
		},
		{
			// The controller has no commands.
			libraries: []string{"github.com/spf13/cobra"},
			exact:     true,
			direct:    []string{"cli"},
		},
	} {
		for path, p := range graph(t) {
			name := nameOf(path)
			if name == "" || slices.Contains(tc.direct, name) {
				continue
			}
			for _, i := range p.Imports {
				if within(i, tc.libraries...) && (!tc.exact || slices.Contains(tc.libraries, i)) {
					t.Errorf("%s imports %s, and only %v may", name, i, tc.direct)
				}
			}
			if tc.exact || within(name, tc.indirect...) {
				continue
			}
			for _, dep := range p.Deps {
				if within(dep, tc.libraries[0]) {
					t.Errorf("%s reaches %s", name, dep)
				}
			}
		}
	}
}
