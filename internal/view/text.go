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

// Line returns the sentences of a message, without its details and the end of long ones.
func Line(message string) string {
	head, _ := Message(message)
	return Shorten(head, maxLine)
}

// Message returns the sentences of a message, and the lines of its details.
func Message(text string) (head string, details []string) {
	head, rest, _ := strings.Cut(strings.Trim(text, "\n"), "\n")
	return strings.TrimSpace(head), linesOf(rest)
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

// Age is the time of an event, and the time since then.
type Age struct {
	At  time.Time
	Ago string
}

// AgeOf returns the age of an event. Without a time, Ago is empty.
func AgeOf(at, now time.Time) Age {
	if at.IsZero() {
		return Age{}
	}
	return Age{At: at, Ago: Ago(at, now)}
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
