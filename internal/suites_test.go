// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goSuite is a command of a make target that runs Go tests.
type goSuite struct {
	// packages are their folders below the root, empty for the root itself.
	packages  []string
	race      bool
	run, skip *regexp.Regexp
}

// runs reports whether the suite runs a test function of a package.
func (s goSuite) runs(dir, function string) bool {
	return slices.Contains(s.packages, dir) && (s.run == nil || s.run.MatchString(function)) && (s.skip == nil || !s.skip.MatchString(function))
}

var (
	suiteRun  = regexp.MustCompile(`-(?:test\.)?run='([^']*)'`)
	suiteSkip = regexp.MustCompile(`-(?:test\.)?skip='([^']*)'`)
	testName  = regexp.MustCompile(`\bTest\w+`)
)

// suitesOf returns the Go suites of a make target.
func suitesOf(t *testing.T, target string) []goSuite {
	t.Helper()
	// The suites are the arguments of a script, which the shell splits. RACE is set, since the
	// Makefile leaves the race detector out where no C compiler is found.
	recipe := command(t, "make", "--no-print-directory", "-n", "RACE=-race", target)
	_, arguments, found := strings.Cut(recipe, "hack/suites.sh ")
	if !found {
		t.Fatalf("make %s runs no suites:\n%s", target, recipe)
	}
	var all []goSuite
	for line := range strings.Lines(command(t, "sh", "-c", `printf '%s\n' `+arguments)) {
		s := goSuite{race: strings.Contains(line, "-race")}
		switch {
		case strings.HasPrefix(line, "cd test/e2e && "):
			s.packages = []string{"test/e2e"}
		case strings.HasPrefix(line, "cd "), !strings.Contains(line, "go test "):
			continue
		default:
			_, arguments, _ := strings.Cut(line, "go test ")
			for path := range strings.FieldsSeq(command(t, "sh", "-c", "go list $(printf '%s\\n' "+strings.TrimSpace(arguments)+" | grep '^[.g]')")) {
				s.packages = append(s.packages, strings.TrimPrefix(strings.TrimPrefix(path, project), "/"))
			}
		}
		if match := suiteRun.FindStringSubmatch(line); match != nil {
			s.run = regexp.MustCompile(match[1])
		}
		if match := suiteSkip.FindStringSubmatch(line); match != nil {
			s.skip = regexp.MustCompile(match[1])
		}
		all = append(all, s)
	}
	return all
}

// command returns the output of a command in the root of the repository.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = ".."
	// Flags of a make that runs this test do not apply.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "GNUMAKEFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return string(out)
}

// testFunctions returns the test functions of the module by folder, without those that need a build
// tag.
func testFunctions(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if file != ".." && (err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || tagged(parsed) {
			return err
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), ".."), "/")
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				all[dir] = append(all[dir], f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tagged reports whether a file has a build constraint.
func tagged(file *ast.File) bool {
	return slices.ContainsFunc(file.Comments, func(group *ast.CommentGroup) bool {
		return slices.ContainsFunc(group.List, func(c *ast.Comment) bool { return constraint.IsGoBuild(c.Text) })
	})
}

// TestSuites: `make test` runs each test function once, except those of the real node.
// `make test-long` runs no other ones.
func TestSuites(t *testing.T) {
	// The file becomes an input of the test cache.
	if _, err := os.ReadFile("../Makefile"); err != nil {
		t.Fatal(err)
	}
	usual, long := suitesOf(t, "test"), suitesOf(t, "test-long")
	count := func(suites []goSuite, dir, function string) (n int) {
		for _, s := range suites {
			if s.runs(dir, function) {
				n++
			}
		}
		return n
	}
	repeated := 0
	for dir, functions := range testFunctions(t) {
		if dir == "test/node" {
			continue
		}
		for _, f := range functions {
			if n := count(usual, dir, f); n != 1 {
				t.Errorf("make test runs %s of %q %d times", f, dir, n)
			}
			repeated += count(long, dir, f)
		}
	}
	named := 0
	for _, s := range long {
		if s.run == nil {
			t.Fatalf("make test-long runs all tests of %v", s.packages)
		}
		named += len(testName.FindAllString(s.run.String(), -1))
	}
	if named != repeated || named == 0 {
		t.Errorf("make test-long names %d test functions, and %d of them exist in make test", named, repeated)
	}
}

// TestRaceDetector: `make test` runs the tests of packages without the race detector only if the
// packages start no goroutines and share nothing between goroutines.
func TestRaceDetector(t *testing.T) {
	all := sources(t)
	for _, s := range suitesOf(t, "test") {
		for path, file := range all {
			if s.race || !slices.Contains(s.packages, filepath.ToSlash(filepath.Dir(path))) {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine", path)
				}
				return true
			})
			for _, i := range file.Imports {
				if p := strings.Trim(i.Path.Value, `"`); p == "sync" || p == "sync/atomic" {
					t.Errorf("%s imports %s", path, p)
				}
			}
		}
	}
}
