// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import "testing"

// TestVisible: characters that are not visible are shown by their number, and all others stay.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext":        "plain\n\ttext",
		"Grüße, 世界 →":          "Grüße, 世界 →",
		"a\x1b[31mb\x00\r\x7f": "a[U+001B][31mb[U+0000][U+000D][U+007F]",
		"user\u202egnp.exe":    "user[U+202E]gnp.exe",
		"\u200b\u0085\ufeff":   "[U+200B][U+0085][U+FEFF]",
		"bad \xff\xfe end":     "bad \ufffd\ufffd end",
		"\ufffd":               "\ufffd",
	} {
		if got := string(visible([]byte(text))); got != want {
			t.Errorf("%q is shown as %q, not %q", text, got, want)
		}
	}
}
