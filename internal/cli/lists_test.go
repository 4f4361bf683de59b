// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

// TestLists: what has failed or waits comes first.
func TestLists(t *testing.T) {
	w := planWorld(t)
	w.objects = append(w.objects, newWorld(t, "lists.yaml").objects...)
	w.golden("lists", "operations -A", "operations -n apps -l team=shop --no-headers", "operations -n finance -o yaml",
		"plans -A", "plans -n apps -o wide", "plans -n apps -o json", "policies -n apps", "policies -A -o wide", "policies -A -l team=shop -o yaml")
}

func TestListErrors(t *testing.T) {
	w := newWorld(t, "lists.yaml")
	w.golden("lists-errors", "operations -n nothing", "plans -n nothing -o json", "operations web", "plans -l a=(", "policies -o xml")
	w.forbidden["ClusterReleasePolicy"], w.forbidden["ReleasePlan"] = true, true
	w.golden("lists-forbidden", "policies -n apps", "plans")
}
