// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOneVersion: the product, the test cluster and the other programs of `make test` have the same
// version of each module that they share. Otherwise its packages, and all that import them, are
// compiled twice.
func TestOneVersion(t *testing.T) {
	product := modules(t, "../go.mod")
	for path, except := range map[string]string{
		// The line in this file has the reason.
		"../test/cluster/go.mod": "github.com/fluxcd/pkg/runtime",
		// Prometheus requires newer ones, and nothing else in this module imports them.
		"../test/monitoring/go.mod": "go.opentelemetry.io/",
	} {
		for module, version := range modules(t, path) {
			if ours, ok := product[module]; ok && ours != version && !strings.HasPrefix(module, except) {
				t.Errorf("%s requires %s %s, and go.mod %s", path, module, version, ours)
			}
		}
	}
}

// modules returns the versions of the modules that a go.mod requires.
func modules(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^(?:require )?\t?(\S+) (v\S+)(?: // .*)?$`).FindAllStringSubmatch(string(data), -1) {
		all[line[1]] = line[2]
	}
	if len(all) < 10 {
		t.Fatalf("%s: found %d modules", path, len(all))
	}
	return all
}
