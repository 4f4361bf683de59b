// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/pintle-dev/pintle/test/harness"
)

func page(t *testing.T, path ...string) string {
	t.Helper()
	return string(read(t, filepath.Join(append([]string{harness.Root()}, path...)...)))
}

// TestOperatorsCommandsExist: the commands in docs/operating.md and docs/page.md use existing flags,
// targets, values and files.
func TestOperatorsCommandsExist(t *testing.T) {
	text, flags := page(t, "docs", "operating.md")+page(t, "docs", "page.md"), page(t, "docs", "flags.md")
	makefile := page(t, "Makefile")
	for _, match := range regexp.MustCompile("`make ([a-z-]+)|\\[make ([a-z-]+)\\]").FindAllStringSubmatch(text, -1) {
		if target := match[1] + match[2]; !strings.Contains(makefile, "\n"+target+":") {
			t.Errorf("there is no make %s", target)
		}
	}
	for _, match := range regexp.MustCompile(`(?:config|charts)(?:/[a-z_-]+)+(?:\.(?:yaml|sh))?`).FindAllString(text, -1) {
		if _, err := os.Stat(filepath.Join(harness.Root(), match)); err != nil {
			t.Errorf("%v", err)
		}
	}
	// What is between backquotes and begins with two dashes is a flag of the controller.
	for _, match := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(flags, "| `--"+match[1]+"` |") {
			t.Errorf("there is no flag --%s", match[1])
		}
	}
	var set []string
	for _, match := range regexp.MustCompile(`--set ([A-Za-z.]+=[^ \n]+)`).FindAllStringSubmatch(text, -1) {
		set = append(set, match[1])
	}
	if len(set) < 5 {
		t.Fatalf("values are set by %v", set)
	}
	for _, assignment := range set {
		if _, err := render(t, parsed(t, assignment)); err != nil {
			t.Errorf("--set %s: %v", assignment, err)
		}
	}
	for _, match := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(harness.Root(), "docs", match[1])); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// parsed is what Helm makes of --set.
func parsed(t *testing.T, assignment string) values {
	t.Helper()
	v, err := strvals.Parse(assignment)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
