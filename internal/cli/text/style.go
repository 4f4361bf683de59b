// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// Style states how views are printed.
type Style struct {
	// Color is true if the output is a terminal that shows colours.
	Color bool
	// Wide includes more columns and all entries of long lists.
	Wide bool
	// Namespaces includes the column NAMESPACE.
	Namespaces bool
	// Owners includes the column OWNER. Wide includes it too.
	Owners bool
	// Now is the time that ages are relative to.
	Now time.Time
	// NoHeaders leaves out the headers of lists.
	NoHeaders bool
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
		case controls(r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// JSON returns a JSON document whose strings have no characters that control a terminal: they are
// escaped. The encoder of Go escapes those below U+0020 only.
func JSON(document []byte) []byte { return escape(document, controls) }

// YAML returns a value as YAML without characters that control a terminal: its encoder refuses them
// unless they are escaped. YAML has no escapes for surrogates, so format characters stay.
func YAML(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(escape(raw, unicode.IsControl))
}

// escape returns a JSON document with escapes in place of some characters. Line breaks stay: in strings
// they are escaped already.
func escape(document []byte, is func(rune) bool) []byte {
	if !bytes.ContainsFunc(document, func(r rune) bool { return r != '\n' && is(r) }) {
		return document
	}
	escaped := make([]byte, 0, len(document)+64)
	for _, r := range string(document) {
		if r == '\n' || !is(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// controls reports whether a character controls a terminal, or the direction or visibility of others.
func controls(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

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
