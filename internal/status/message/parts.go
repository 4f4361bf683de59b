// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/brief"
)

const (
	// maxLength is the length in bytes of the longest condition message that the API server accepts.
	maxLength = 32768
	// maxHead is the maximum length in bytes of the sentences, which is what a pager shows.
	maxHead = 240
)

// Parts are the parts of a message. Left and Next are sentences without the final period.
type Parts struct {
	// What is wrong: the object, the field and the cause.
	What string
	// Left is what was left alone, or what runs now.
	Left string
	// Next is what happens next and when, or what to do.
	Next string
	// Details follow below the sentences; empty for none.
	Details string
}

// String returns the parts as sentences in the first line, of at most 240 bytes unless Left and Next
// are longer, and the details below. A longer cause lacks its middle there, and is whole in the details.
func (p Parts) String() string {
	end, what := sentences(p.Left, p.Next), strings.TrimRight(brief.Line(p.What), " .")
	if end == "" && p.Details == "" {
		return brief.Cut(what, maxLength)
	}
	if end != "" {
		end = " " + end
	}
	head, details := what, p.Details
	if limit := maxHead - len(".") - len(end); len(what) > limit {
		head = brief.Middle(what, max(limit, maxHead/4))
		if !strings.Contains(details, what) {
			details = strings.TrimSuffix(what+"\n"+details, "\n")
		}
	}
	text := strings.TrimRight(head, ".") + "." + end
	if details != "" {
		text += "\n" + details
	}
	return brief.Cut(text, maxLength)
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
