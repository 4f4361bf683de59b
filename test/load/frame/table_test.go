// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"testing"
	"time"
)

// TestTables: the first column is to the left and figures are to the right.
func TestTables(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"a|b", "s", "text"}, {"c", "1 → 2", "d"}}
	if got, want := Aligned(rows), "a|b      s  text\nc    1 → 2     d\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := Markdown(rows, 2), "| a\\|b | s | text |\n|---|--:|---|\n| c | 1 → 2 | d |\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestMedian: half of the values are not larger.
func TestMedian(t *testing.T) {
	t.Parallel()
	if got := Median([]time.Duration{9, 1, 5}); got != 5 {
		t.Errorf("%d", got)
	}
	if got := Median([]float64{4, 1, 2, 9}); got != 3 {
		t.Errorf("%v", got)
	}
	if got := Median([]float64(nil)); got != 0 {
		t.Errorf("%v", got)
	}
}
