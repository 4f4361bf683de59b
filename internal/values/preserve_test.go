// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
)

// TestCoalesceIsHelms: the merge is the same as that of Helm, which also prints warnings.
func TestCoalesceIsHelms(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	samples := []m{
		{},
		{"a": nil},
		{"a": "1"},
		{"a": m{}},
		{"a": m{"b": nil}},
		{"a": m{"b": "2", "c": nil}},
		{"a": m{"b": m{"d": "3"}}},
		{"a": []any{"4"}, "e": m{"f": "5"}},
		{"e": nil, "g": nil},
	}
	for _, values := range samples {
		for _, kept := range samples {
			got := CloneMap(values)
			coalesce(got, CloneMap(kept))
			if diff := cmp.Diff(chartutil.CoalesceTables(CloneMap(values), CloneMap(kept)), got); diff != "" {
				t.Errorf("%v over %v (-Helm +ours):\n%s", values, kept, diff)
			}
		}
	}
}
