// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDeviationsAreShown: every test and scenario that docs/spec/deviations.md names for a
// difference from helm-controller exists.
func TestDeviationsAreShown(t *testing.T) {
	raw, err := os.ReadFile("../docs/spec/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	text, shown, want := testFiles(t), 0, 0
	for line := range strings.SplitSeq(string(raw), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") {
			continue
		}
		if cells[len(cells)-1] == "shown by" {
			want = len(cells)
			continue
		}
		if len(cells) != want {
			t.Errorf("a row does not have %d cells: %s", want, line)
			continue
		}
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[want-1], -1)
		if len(names) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, name := range names {
			shown++
			if !exists(name[1], text) {
				t.Errorf("%s does not exist; it is named for: %s", name[1], cells[1])
			}
		}
	}
	if shown == 0 {
		t.Error("the document has no table")
	}
}

// exists reports whether a test of a name exists: Test, Test/Case, a scenario of
// internal/scenario, or suite/scenario of test/e2e.
func exists(name string, files map[string]string) bool {
	test, sub, _ := strings.Cut(name, "/")
	if !strings.HasPrefix(name, "Test") {
		if sub != "" {
			return strings.Contains(files["../test/e2e/scenarios_test.go"], `{"`+name+`", `)
		}
		_, err := os.Stat(filepath.Join("scenario", "testdata", name+".txt"))
		return err == nil
	}
	for _, content := range files {
		_, body, found := strings.Cut(content, "\nfunc "+test+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		if found && (sub == "" || strings.Contains(body, `"`+sub+`"`)) {
			return true
		}
	}
	return false
}

// testFiles returns the content of all tests, by path.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin"}, d.Name()):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			raw, err := os.ReadFile(path)
			files[path] = string(raw)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
