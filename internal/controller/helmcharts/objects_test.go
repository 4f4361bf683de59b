// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import "testing"

// TestCovers: fields of others do not count, and each difference of a wanted field does.
func TestCovers(t *testing.T) {
	type object = map[string]any
	want := object{"spec": object{"a": int64(1), "list": []any{object{"b": "c"}}}}
	for name, tc := range map[string]struct {
		have object
		want bool
	}{
		"Equal":     {object{"spec": object{"a": int64(1), "list": []any{object{"b": "c"}}}}, true},
		"More":      {object{"spec": object{"a": int64(1), "d": true, "list": []any{object{"b": "c", "e": "f"}}}, "status": object{}}, true},
		"Scalar":    {object{"spec": object{"a": int64(2), "list": []any{object{"b": "c"}}}}, false},
		"Missing":   {object{"spec": object{"list": []any{object{"b": "c"}}}}, false},
		"Longer":    {object{"spec": object{"a": int64(1), "list": []any{object{"b": "c"}, object{}}}}, false},
		"OtherKind": {object{"spec": "text"}, false},
		"None":      {object{}, false},
	} {
		if got := covers(tc.have, want); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
