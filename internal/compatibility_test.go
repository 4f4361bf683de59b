// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"os"
	"regexp"
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

// TestCompatibility: docs/compatibility.md has the versions that the suites run with.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(raw)) {
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
		"source-controller":          required(t, "test/cluster/go.mod", "github.com/fluxcd/source-controller"),
		"types of source-controller": required(t, "go.mod", "github.com/fluxcd/source-controller/api"),
		"helm-controller":            required(t, "test/reference/go.mod", "github.com/fluxcd/helm-controller"),
		"flux command":               required(t, "test/flux/go.mod", "github.com/fluxcd/flux2/v2"),
		"notification-controller":    required(t, "test/notification/go.mod", "github.com/fluxcd/notification-controller"),
		"Go":                         goVersion,
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
	built, err := os.ReadFile("../test/cluster/build.go")
	if err != nil || !strings.Contains(string(built), `kubernetesVersion = "v`+want["kubelet"]+`"`) {
		t.Errorf("test/cluster builds another version of Kubernetes (error %v)", err)
	}
}
