// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"
)

// TestFormer: former values of Secrets are found by the paths that the Secrets set now.
func TestFormer(t *testing.T) {
	was := map[string]any{
		"password": "old", "plain": "text", "nested": map[string]any{"token": "older", "plain": "text"},
		"list": []any{"first", map[string]any{"key": "second"}}, "number": 5.0,
	}
	layers := []Layer{
		{Name: "ConfigMap/values", Values: map[string]any{"plain": "new"}},
		{Name: "Secret/values", Values: map[string]any{
			"password": "new", "nested": map[string]any{"token": "newer", "absent": "x"}, "list": []any{"third"}, "number": "text", "other": "y",
		}},
		{Name: LayerInline, Values: map[string]any{"plain": "newest"}},
	}
	got := Former(was, layers)
	slices.Sort(got)
	if want := []string{"first", "old", "older", "second"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
