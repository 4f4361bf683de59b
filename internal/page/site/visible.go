// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// visible returns a page whose texts have no invisible characters: control characters, marks that
// change the direction of a text, and other format characters are shown by their number, and bytes
// that are not UTF-8 by a replacement character. Templates have none of these characters, so that
// all of them are from the cluster or from the request.
func visible(page []byte) []byte {
	first := nextInvisible(page)
	if first == len(page) {
		return page
	}
	out := make([]byte, 0, len(page)+64)
	for {
		out = append(out, page[:first]...)
		if page = page[first:]; len(page) == 0 {
			return out
		}
		r, size := utf8.DecodeRune(page)
		if r == utf8.RuneError {
			out = utf8.AppendRune(out, utf8.RuneError)
		} else {
			out = fmt.Appendf(out, "[%U]", r)
		}
		page = page[size:]
		first = nextInvisible(page)
	}
}

// nextInvisible returns the position of the first invisible character, or the length of a page
// without one.
func nextInvisible(page []byte) int {
	for i := 0; i < len(page); {
		if c := page[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(page[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return i
		}
		i += size
	}
	return len(page)
}
