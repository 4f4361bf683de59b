// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestCopies: copy operations fail when the object exceeds the limit.
func TestCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: " + strings.Repeat("x", 1000) + "\n"
	// The two operations add two copies of the original data.
	const copying = "- {op: copy, from: /data, path: /data/one}\n- {op: copy, from: /data, path: /data/two}\n"
	for n, want := range map[int]string{1: "", 10: "spec.postRenderers[0].kustomize.patches[0] cannot be applied to ConfigMap a: operation 18 may make an object of more than 16777216 bytes"} {
		r, err := New([]helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
			Target: &helmv2.Selector{Kind: "ConfigMap"}, Patch: strings.Repeat(copying, n),
		}}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Templates(manifest)
		if want != "" {
			if err == nil || err.Error() != want {
				t.Errorf("%d copies: %.300v", n, err)
			}
			continue
		}
		if err != nil || strings.Count(got, strings.Repeat("x", 1000)) != 3*n+1 {
			t.Errorf("%d copies: %v\n%.300s", n, err, got)
		}
	}
}
