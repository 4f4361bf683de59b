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
	checkTables(t, "../docs/spec/deviations.md", "shown by")
}

// TestPromisesAreTested: every promise, limit and defence in docs/security.md names tests, and they
// exist. So do those in the text.
func TestPromisesAreTested(t *testing.T) {
	const page = "../docs/security.md"
	checkTables(t, page, "test")
	text, named := testFiles(t), 0
	for _, line := range prose(t, page) {
		for _, name := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][^`]*)`").FindAllStringSubmatch(line, -1) {
			if named++; !exists(name[1], text) {
				t.Errorf("%s does not exist; it is named in: %s", name[1], line)
			}
		}
	}
	if named == 0 {
		t.Error("no test was found on the page")
	}
}

// checkTables checks that every row of the tables of a page whose last column has the given head
// names tests that exist.
func checkTables(t *testing.T, page, head string) {
	t.Helper()
	text, rows := testFiles(t), 0
	// columns is the number of columns of the present table, 0 outside of one that counts.
	columns, before := 0, ""
	for _, line := range prose(t, page) {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		last := cells[len(cells)-1]
		switch begins := !strings.HasPrefix(before, "|"); {
		case !strings.HasPrefix(line, "|"), begins && last != head:
			columns = 0
		case begins:
			columns = len(cells)
		case columns == 0 || strings.HasPrefix(line, "|-"):
		case len(cells) != columns:
			t.Errorf("a row does not have %d cells: %s", columns, line)
		default:
			rows++
			checkNames(t, line, last, text)
		}
		before = line
	}
	if rows == 0 {
		t.Errorf("no row was found in %s", page)
	}
}

// checkNames checks that a cell of a row names tests, and that they exist.
func checkNames(t *testing.T, row, cell string, text map[string]string) {
	t.Helper()
	names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1)
	if len(names) == 0 {
		t.Errorf("no test is named: %s", row)
	}
	for _, name := range names {
		if !exists(name[1], text) {
			t.Errorf("%s does not exist; it is named for: %s", name[1], row)
		}
	}
}

// exists reports whether a test of a name exists: Test, Test/Case, a fuzz test, a benchmark, a
// scenario of test/scenario, suite/scenario of test/e2e, or file/attack of the attack suite.
func exists(name string, files map[string]string) bool {
	test, sub, _ := strings.Cut(name, "/")
	if !regexp.MustCompile("^(Test|Fuzz|Benchmark)[A-Z]").MatchString(name) {
		if sub != "" {
			attacks, _ := os.ReadFile(filepath.Join("../test/load/attacks/corpus", test+".go"))
			return strings.Contains(files["../test/e2e/scenarios_test.go"], `{"`+name+`", `) || strings.Contains(string(attacks), `("`+sub+`", `)
		}
		_, err := os.Stat(filepath.Join("..", "test", "scenario", "testdata", name+".txt"))
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
