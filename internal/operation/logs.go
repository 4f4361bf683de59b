// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
)

// Bounds of the logs in status.
const (
	// MaxLogLines is how many lines of a container's log are kept.
	MaxLogLines = 20
	// MaxLogBytes is how many bytes of them.
	MaxLogBytes = 4096
	// MaxLogs is of how many containers logs are kept.
	MaxLogs = 16
)

const (
	redacted = "***"
	// short is the length below which a secret is a secret only as a word of its own:
	// every log contains an "a".
	short = 4
)

// Tail returns the last lines of a log, without secrets, their base64 included.
// Those are replaced before anything is cut, because half a secret would not be
// recognised; and of secrets of several lines each line is one, because a log may
// have been cut before it came here.
func Tail(text string, secrets []string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var long []string
	for _, s := range secrets {
		for _, v := range append(strings.Split(s, "\n"), s, base64.StdEncoding.EncodeToString([]byte(s))) {
			if v = strings.TrimSpace(v); len(v) >= short {
				long = append(long, v)
			} else if v != "" {
				text = replaceWord(text, v)
			}
		}
	}
	// At one place the first that fits is replaced, so the longer go first.
	slices.SortFunc(long, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(long) {
		pairs = append(pairs, s, redacted)
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-MaxLogLines):], "\n")
	if len(text) > MaxLogBytes {
		// The cut may go through a character, of which nothing then stays.
		text = strings.ToValidUTF8(text[len(text)-MaxLogBytes:], "")
	}
	return text
}

// replaceWord replaces a text where it is not a part of a longer word.
func replaceWord(text, word string) string {
	part := func(b byte) bool {
		return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_' || b >= 0x80
	}
	var out strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := i + len(word)
		if (i > 0 && part(text[i-1])) || (end < len(text) && part(text[end])) {
			out.WriteString(text[:end])
		} else {
			out.WriteString(text[:i] + redacted)
		}
		text = text[end:]
	}
}
