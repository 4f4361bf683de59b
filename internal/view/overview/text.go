// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"iter"
	"maps"
	"strings"
	"unicode/utf8"
)

const (
	// maxName is the maximum length of an unknown name in a message.
	maxName = 40
	// maxLine is the maximum length of a message in one line.
	maxLine = 240
)

// line returns the first line of a message, without the end of a long one.
func line(message string) string {
	first, _, more := strings.Cut(strings.TrimSpace(message), "\n")
	first = shorten(strings.TrimSpace(first), maxLine)
	if more && !strings.HasSuffix(first, "…") {
		first += " …"
	}
	return first
}

// shorten returns a text of at most n characters and an ellipsis, cut between words if possible.
func shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	cut := string([]rune(text)[:n])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + " …"
}

func join[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
