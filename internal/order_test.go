// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	// maxFiles is how many files a package may have, tests and generated files excluded.
	maxFiles = 16
	// maxUpward is how many of 100 uses of a package's own identifiers may refer to a file
	// that its comment lists further up.
	maxUpward = 10
)

// listed matches a line of a package's list of files: two spaces or more, a file, a text.
var listed = regexp.MustCompile(`(?m)^\s+([a-z0-9_]+\.go)\s+\S`)

// TestFilesAreListed: the comment of each package lists its files, so that a reader who follows
// the list rarely has to go back.
func TestFilesAreListed(t *testing.T) {
	fset := token.NewFileSet()
	for dir, files := range filesByPackage(t, fset) {
		if len(files) > maxFiles {
			t.Errorf("%s has %d files, at most %d", dir, len(files), maxFiles)
		}
		if len(files) < 3 {
			continue
		}
		var order []string
		for _, file := range files {
			for _, match := range listed.FindAllStringSubmatch(file.Doc.Text(), -1) {
				order = append(order, match[1])
			}
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == "doc.go" })
		if !slices.Equal(slices.Sorted(slices.Values(order)), names) {
			t.Errorf("%s: the comment lists %v, and the package has %v", dir, order, names)
			continue
		}
		if upward, all := uses(t, fset, dir, files, order); upward*100 > all*maxUpward {
			t.Errorf("%s: %d of %d uses refer to files further up in its list, more than %d %%", dir, upward, all, maxUpward)
		}
	}
}

// filesByPackage parses the packages under internal/, tests and generated files excluded.
func filesByPackage(t *testing.T, fset *token.FileSet) map[string]map[string]*ast.File {
	t.Helper()
	all := map[string]map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if dir := filepath.Dir(path); all[dir] == nil {
			all[dir] = map[string]*ast.File{}
		}
		all[filepath.Dir(path)][d.Name()] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// uses counts the uses of identifiers that another file of the package declares, and those
// of them that are declared further up. Fields of structs do not count.
func uses(t *testing.T, fset *token.FileSet, dir string, files map[string]*ast.File, order []string) (upward, all int) {
	t.Helper()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exported(t))}
	pkg, err := config.Check(project+"/internal/"+dir, fset, slices.Collect(maps.Values(files)), info)
	if err != nil {
		t.Fatal(err)
	}
	at := func(pos token.Pos) int { return slices.Index(order, filepath.Base(fset.Position(pos).Filename)) }
	for id, object := range info.Uses {
		if v, ok := object.(*types.Var); object.Pkg() != pkg || ok && (v.IsField() || v.Parent() != pkg.Scope()) {
			continue
		}
		used, declared := at(id.Pos()), at(object.Pos())
		if used < 0 || declared < 0 || used == declared {
			continue
		}
		if all++; declared < used {
			upward++
		}
	}
	return upward, all
}

// exported returns a function that opens the export data of a package.
func exported(t *testing.T) func(path string) (io.ReadCloser, error) {
	t.Helper()
	files, err := exportFiles()
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// exportFiles builds the module and returns the file with the export data of each package.
var exportFiles = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files, err
})
