// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"strings"
	"unicode/utf8"
)

// cell is a text and its colour.
type cell struct {
	text  string
	color color
}

// gap is the distance of columns, as in kubectl.
const gap = 3

// table prints rows in aligned columns. Widths only grow, so that rows that are printed later are
// aligned with earlier ones.
type table struct {
	style   Style
	header  []string
	widths  []int
	started bool
	// indent precedes each row.
	indent string
}

func newTable(style Style, header ...string) *table {
	return &table{style: style, header: header, widths: make([]int, len(header))}
}

// print prints rows, and before the first ones the header.
func (t *table) print(w io.Writer, rows ...[]cell) error {
	if !t.started && !t.style.NoHeaders {
		head := make([]cell, len(t.header))
		for i, h := range t.header {
			head[i] = cell{text: h}
		}
		rows = append([][]cell{head}, rows...)
		t.started = true
	}
	for _, row := range rows {
		for i := range row {
			row[i].text = Clean(row[i].text)
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(t.indent)
		for i, c := range row {
			b.WriteString(t.style.paint(c.color, c.text))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(c.text)+gap))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printIndented prints rows below a heading.
func (t *table) printIndented(b *strings.Builder, rows [][]cell) {
	t.indent = "  "
	_ = t.print(b, rows...) // a Builder returns no error
}
