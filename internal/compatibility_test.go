// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// required returns the version of a module that a go.mod file requires, without the leading v.
func required(t *testing.T, file, module string) string {
	t.Helper()
	raw, err := os.ReadFile("../" + file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(module) + ` v?([0-9.]+)`).FindSubmatch(raw)
	if found == nil {
		t.Fatalf("%s does not require %s", file, module)
	}
	return string(found[1])
}

// TestCompatibility: docs/compatibility.md has the versions that the suites run with, and the oldest
// version of Kubernetes in which the chart can be installed.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	versions, rest, _ := strings.Cut(string(raw), "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(versions) {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells[1]
		}
	}
	goVersion, _, _ := strings.Cut(required(t, "go.mod", "go")+" ", ".0 ")
	want := map[string]string{
		"part": "version",
		"Kubernetes API server, controller manager, scheduler": required(t, "test/cluster/go.mod", "k8s.io/kubernetes"),
		"kubelet": required(t, "test/cluster/go.mod", "k8s.io/kubernetes"),
		"client libraries of Kubernetes (`k8s.io/client-go`)": required(t, "go.mod", "k8s.io/client-go"),
		"etcd":                       required(t, "test/cluster/go.mod", "go.etcd.io/etcd/server/v3"),
		"Helm SDK":                   required(t, "go.mod", "helm.sh/helm/v3"),
		"helm command of Helm 3":     required(t, "test/helm/go.mod", "helm.sh/helm/v3"),
		"helm command of Helm 4":     required(t, "test/helm/go.mod", "helm.sh/helm/v4"),
		"source-controller":          required(t, "test/cluster/go.mod", "github.com/fluxcd/source-controller"),
		"types of source-controller": required(t, "go.mod", "github.com/fluxcd/source-controller/api"),
		"helm-controller":            required(t, "test/reference/go.mod", "github.com/fluxcd/helm-controller"),
		"flux command":               required(t, "test/neighbours/go.mod", "github.com/fluxcd/flux2/v2"),
		"kustomize-controller":       required(t, "test/neighbours/go.mod", "github.com/fluxcd/kustomize-controller"),
		"k3s' helm-controller":       required(t, "test/neighbours/go.mod", "github.com/k3s-io/helm-controller"),
		"notification-controller":    required(t, "test/neighbours/go.mod", "github.com/fluxcd/notification-controller"),
		"Go":                         goVersion,
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := filepath.Glob("../test/cluster/kubernetes/*.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range servers {
		minor := strings.TrimSuffix(filepath.Base(file), ".mod")
		version := required(t, "test/cluster/kubernetes/"+minor+".mod", "k8s.io/kubernetes")
		want["API server, controller manager and scheduler of Kubernetes "+minor] = version
		if !strings.HasPrefix(version, minor+".") || !strings.Contains(string(makefile), " kubernetes-"+minor+" ") {
			t.Errorf("%s is of Kubernetes %s, or `make test-kubernetes` does not run the suite kubernetes-%s", file, version, minor)
		}
	}
	for part, version := range want {
		if rows[part] != version {
			t.Errorf("%s is %s, and docs/compatibility.md says %q", part, version, rows[part])
		}
		delete(rows, part)
	}
	if len(rows) > 0 {
		t.Errorf("no module has the version of %v", rows)
	}
	oldest := 0
	for _, row := range regexp.MustCompile(`(?m) \| 1\.([0-9]+) \| .* \| a default installation fails \|$`).FindAllStringSubmatch(rest, -1) {
		minor, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		oldest = max(oldest, minor)
	}
	chart, err := os.ReadFile("../charts/pintle/Chart.yaml")
	if line := fmt.Sprintf("\nkubeVersion: \">=1.%d.0-0\"\n", oldest); err != nil || !strings.Contains(string(chart), line) {
		t.Errorf("the chart does not have the line %q for the features that docs/compatibility.md says it needs (error %v)", line, err)
	}
	if !strings.Contains(rest, fmt.Sprintf("older than Kubernetes 1.%d,", oldest)) {
		t.Errorf("docs/compatibility.md does not say that the chart needs Kubernetes 1.%d", oldest)
	}
}
