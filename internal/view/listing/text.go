// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// maxLine is the maximum length of a message in one line.
const maxLine = 240

// Line returns the first line of a message, without the end of a long one.
func Line(message string) string {
	first, _, more := strings.Cut(strings.TrimSpace(message), "\n")
	first = Shorten(strings.TrimSpace(first), maxLine)
	if more && !strings.HasSuffix(first, "…") {
		first += " …"
	}
	return first
}

// Shorten returns a text of at most n characters and an ellipsis, cut between words if possible.
func Shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	cut := string([]rune(text)[:n])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + " …"
}

// Ago returns the time since an event, in at most two units.
func Ago(at, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(at))) }

// Words are the words of a search, in lower case.
type Words []string

// WordsOf returns the words of a search.
func WordsOf(search string) Words { return strings.Fields(strings.ToLower(search)) }

// In reports whether each word is in one of the texts.
func (w Words) In(texts ...string) bool {
	if len(w) == 0 {
		return true
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	for _, word := range w {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}
