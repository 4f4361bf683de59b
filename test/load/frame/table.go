// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Aligned returns rows of the same length as text, the first column to the left and figures to the
// right.
func Aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Markdown returns rows, of which the first one is the heading, as a table. The first column, and
// those with the given indexes, are to the left.
func Markdown(rows [][]string, left ...int) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteByte('|')
		for _, cell := range row {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteByte('\n')
		if i > 0 {
			continue
		}
		for column := range row {
			if column == 0 || slices.Contains(left, column) {
				b.WriteString("|---")
			} else {
				b.WriteString("|--:")
			}
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// Median returns the median of values, 0 for none.
func Median[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
