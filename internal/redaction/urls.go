// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"strconv"
	"strings"
)

// urlParts returns user, password and query values of the URLs in a line, each as it is and
// unescaped. Each URL ends where the next one starts, so that the time is linear.
func urlParts(line string) []string {
	var all []string
	pieces := strings.Split(line, "://")
	for _, piece := range pieces[1:] {
		if end := strings.IndexAny(piece, " \t\"'<>`"); end >= 0 {
			piece = piece[:end]
		}
		user, rest := splitUser(piece)
		all = append(append(all, userParts(user)...), queryParts(rest)...)
	}
	return all
}

// splitUser splits a URL without its scheme into user information and the rest.
func splitUser(text string) (user, rest string) {
	authority := text
	if end := strings.IndexAny(text, "/?#"); end >= 0 {
		authority = text[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if _, port, ok := strings.Cut(authority, ":"); at < 0 && ok && strings.Trim(port, "0123456789") != "" {
		// The password has characters that had to be escaped.
		at = strings.IndexByte(text, '@')
	}
	if at < 0 {
		return "", text
	}
	return text[:at], text[at+1:]
}

// userParts returns user and password. Errors quote an invalid password up to a character that had
// to be escaped.
func userParts(text string) []string {
	var all []string
	user, password, _ := strings.Cut(text, ":")
	for _, part := range append(strings.FieldsFunc(password, oneOf("/?#@")), user, password) {
		all = append(all, part, unescape(part))
	}
	return all
}

// queryParts returns the values in query and fragment.
func queryParts(text string) []string {
	start := strings.IndexAny(text, "?#")
	if start < 0 {
		return nil
	}
	var all []string
	for pair := range strings.FieldsFuncSeq(text[start:], oneOf("?#&;")) {
		if _, value, ok := strings.Cut(pair, "="); ok {
			all = append(all, value, unescape(value), unescape(strings.ReplaceAll(value, "+", " ")))
		}
	}
	return all
}

func oneOf(all string) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(all, r) }
}

// unescape replaces the escapes of URLs in a text. Invalid ones stay.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
