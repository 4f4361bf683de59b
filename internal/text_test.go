// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// readsText lists the files that may take a decision from the text of an error or of a
// message, with the reason.
func readsText() map[string]string {
	return map[string]string{
		"internal/apiretry/answer.go":      "some answers of API servers differ in nothing but their message",
		"internal/chart/artifact.go":       "net/http has no type for the error of an invalid Location",
		"internal/helm/apply/ownership.go": "Helm has no type for the error of another owner",
		"internal/status/readback.go":      "helm-controller announces actions by a message, and its CRD has no field for it",
		"internal/values/parse.go":         "the YAML parser reports a line in its message only",
	}
}

// TestNoDecisionFromText: no text of an error or of a message steers control flow. Texts
// change with the version of the software that writes them. Two messages may be compared
// to find out whether one is new.
func TestNoDecisionFromText(t *testing.T) {
	found := map[string]bool{}
	for path, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if !comparesText(n) {
				return true
			}
			if _, excepted := readsText()[path]; !excepted {
				t.Errorf("%s takes a decision from the text of an error or message", path)
			}
			found[path] = true
			return true
		})
	}
	for path := range readsText() {
		if !found[path] {
			t.Errorf("%s compares no text: remove it from the list", path)
		}
	}
}

// comparesText reports whether a node compares the text of an error or message.
func comparesText(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, _ := f.X.(*ast.Ident)
	compares := from != nil && from.Name == "strings" && slices.ContainsFunc([]string{"Contains", "HasPrefix", "HasSuffix", "Index", "EqualFold"}, func(name string) bool {
		return strings.HasPrefix(f.Sel.Name, name)
	})
	if !compares && !strings.HasPrefix(f.Sel.Name, "Match") && !strings.HasPrefix(f.Sel.Name, "Find") {
		return false
	}
	return slices.ContainsFunc(call.Args, isText)
}

// isText reports whether an expression contains a call of Error without arguments, or a
// field Message.
func isText(e ast.Expr) bool {
	text := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Error" && len(n.Args) == 0 {
				text = true
			}
		case *ast.SelectorExpr:
			text = text || n.Sel.Name == "Message"
		}
		return !text
	})
	return text
}
