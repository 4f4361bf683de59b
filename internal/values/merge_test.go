// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMergeSharesNothing: changes of the result do not change the merged values.
func TestMergeSharesNothing(t *testing.T) {
	t.Parallel()
	const raw = `{"m":{"n":{"a":1}},"l":[{"a":1},[2]]}`
	over, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"m": map[string]any{"b": 1.0}}
	Merge(values, over)
	for path, content := range map[string]string{"m.n.a": "9", "l[0].a": "9", "l[1][0]": "9", "m.n.new": "9"} {
		if err := new(Budget).SetPath(values, path, content); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := Parse([]byte(raw))
	if diff := cmp.Diff(want, over); diff != "" {
		t.Errorf("the merged values were changed (-want +got):\n%s", diff)
	}
}
