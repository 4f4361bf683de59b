// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Style states how views are printed.
type Style struct {
	// Color is true if the output is a terminal that shows colours.
	Color bool
	// Wide includes more columns and all entries of long lists.
	Wide bool
	// Namespaces includes the column NAMESPACE.
	Namespaces bool
	// Now is the time that ages are relative to.
	Now time.Time
}

// color is the number of an ANSI colour; 0 is none.
type color int

const (
	plain  color = 0
	red    color = 31
	green  color = 32
	yellow color = 33
	blue   color = 36
	bold   color = 1
	faint  color = 2
)

// paint returns a text in a colour.
func (s Style) paint(c color, text string) string {
	if !s.Color || c == plain || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// Clean returns a text in one line without characters that control a terminal.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// age returns the time since t, as kubectl prints it; "-" for none.
func (s Style) age(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return duration.HumanDuration(max(0, s.Now.Sub(*t)))
}

// or returns a text, or "-" if it is empty.
func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
