// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
)

func treeWorld(t *testing.T) *world {
	t.Helper()
	w := historyWorld(t)
	w.objects = append(w.objects, newWorld(t, "tree.yaml").objects...)
	return w
}

func TestTree(t *testing.T) {
	w := treeWorld(t)
	w.golden("tree", "tree web", "tree shop", "tree cart", "tree missing", "tree web -o json")
}

// TestTreeForbidden: what cannot be read is listed, and all other objects are shown.
func TestTreeForbidden(t *testing.T) {
	w := treeWorld(t)
	w.forbidden["Unstructured"] = true
	w.stored = nil
	w.golden("tree-forbidden", "tree web")
}
