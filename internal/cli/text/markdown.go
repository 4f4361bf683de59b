// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/pintle-dev/pintle/internal/view"
)

// Markdown prints a diff for the comment of a pull request: what it may harm first, and the rest folded.
func Markdown(w io.Writer, d view.Diff) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n", inline(diffTitle(d)))
	for i, danger := range d.Dangers {
		if i == 0 {
			b.WriteString("\n| danger | object | what happens |\n|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| **%s** | %s | %s |\n", inline(string(danger.Class)), inline(dangerous(danger).String()), inline(danger.Reason))
	}
	for _, p := range d.Problems {
		fmt.Fprintf(&b, "\n**Problem:** %s\n", inline(p))
	}
	if !d.Differs() {
		_, err := io.WriteString(w, b.String())
		return err
	}
	var full strings.Builder
	if err := Diff(&full, d, Style{Wide: true}); err != nil {
		return err
	}
	// A fence is longer than each one in the text.
	fence := "```"
	for strings.Contains(full.String(), fence) {
		fence += "`"
	}
	fmt.Fprintf(&b, "\n<details><summary>%d objects change</summary>\n\n%sdiff\n%s%s\n\n</details>\n", len(d.Objects)+len(d.Drifted), fence, full.String(), fence)
	_, err := io.WriteString(w, b.String())
	return err
}

// meaning are the characters with a meaning in Markdown. A name after an @ would be notified.
//
//nolint:gochecknoglobals // constant
var meaning = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@&#8203;",
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`)

// inline returns a text in one line of Markdown, in which no character has a meaning.
func inline(s string) string { return meaning.Replace(strings.Join(strings.Fields(Clean(s)), " ")) }
