// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import "strings"

// maxLength is the length in bytes of the longest condition message that the API server accepts.
const maxLength = 32768

// Parts are the three parts of a message. Left and Next are sentences without the final period.
type Parts struct {
	// What is wrong: the object, the field and the cause.
	What string
	// Left is what was left alone.
	Left string
	// Next is what happens next and when, or what to do.
	Next string
}

// String returns the parts as sentences in one line. A long cause is shortened, so that the other
// parts stay.
func (p Parts) String() string {
	end := sentences(p.Left, p.Next)
	what := strings.TrimRight(oneLine(p.What), " .")
	if end == "" {
		return what
	}
	const more = "..."
	if limit := maxLength - len(end) - len(". "); len(what) > limit {
		what = strings.ToValidUTF8(what[:limit-len(more)], "") + more
	}
	return what + ". " + end
}

// sentences joins texts, each with a final period.
func sentences(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		if t == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString(t + ".")
	}
	return b.String()
}

// oneLine replaces line breaks and the white space around them by one space.
func oneLine(text string) string {
	if !strings.ContainsAny(text, "\n\r") {
		return strings.TrimSpace(text)
	}
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
