// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// maxMethods is how many methods a type may have.
	maxMethods = 25
	// maxReconcile is how many lines a function called Reconcile may have.
	maxReconcile = 50
)

// TestMethods: a type has one subject, and so a limited number of methods.
func TestMethods(t *testing.T) {
	methods := map[string]int{}
	for path, file := range sources(t) {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "internal/")+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, at most %d", name, n, maxMethods)
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestReconcileIsShort: both reconcilers read like their documentation.
func TestReconcileIsShort(t *testing.T) {
	found := 0
	for path, file := range sources(t) {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "Reconcile" || !strings.HasPrefix(path, "internal/controller/") {
				continue
			}
			found++
			raw := text(t, path)
			from, to := int(f.Pos()-file.FileStart), int(f.End()-file.FileStart)
			if lines := 1 + strings.Count(raw[from:to], "\n"); lines > maxReconcile {
				t.Errorf("%s: Reconcile has %d lines, at most %d", path, lines, maxReconcile)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d functions called Reconcile", found)
	}
}

// text returns the content of a file of the project.
func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
