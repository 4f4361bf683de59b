// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

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

// Limited is the first entries of a list, with the number of the others.
type Limited[T any] struct {
	Entries []T
	More    int
}

// Len returns the number of all entries.
func (l Limited[T]) Len() int { return len(l.Entries) + l.More }

// First returns at most n entries of a list.
func First[T any](all []T, n int) Limited[T] {
	n = min(len(all), n)
	return Limited[T]{Entries: all[:n:n], More: len(all) - n}
}
