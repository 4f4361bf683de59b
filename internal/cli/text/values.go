// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"strings"

	"github.com/pintle-dev/pintle/internal/view"
)

// Values prints values as YAML, or each key with its layer.
func Values(w io.Writer, v view.Values, provenance bool, style Style) error {
	var b strings.Builder
	if provenance {
		t := newTable(style, "KEY", "FROM", "OVERRIDES", "VALUE")
		rows := make([][]cell, 0, len(v.Keys))
		for _, k := range v.Keys {
			rows = append(rows, []cell{{text: k.Key}, {text: k.From()}, {text: or(k.Overrides)}, {text: shorter(k.Value, style)}})
		}
		_ = t.print(&b, rows...) // a Builder returns no error
	} else {
		raw, err := YAML(v.Values)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			b.WriteString(Clean(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	unread(&b, v.Unread, style)
	_, err := io.WriteString(w, b.String())
	return err
}
