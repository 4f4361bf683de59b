// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import "strings"

// Shorter texts are not removed: they occur in many words, and are easily guessed. Numbers must be
// longer, because ports and sizes are not secret.
const (
	minText   = 4
	minNumber = 6
)

// commonWords returns words that are not removed, in upper or lower case. A message in which they
// are masked is useless, and shows that the masked word is one of them. docs/security.md has the
// same list.
func commonWords() map[string]bool {
	all := map[string]bool{}
	for _, word := range append(settingWords(), guessedWords()...) {
		all[word] = true
	}
	return all
}

// settingWords returns the common words that switch something. They are no passwords either.
func settingWords() []string {
	return strings.Fields("default disable disabled enable enabled false http https localhost none null require required true")
}

// guessedWords returns the common words that people use as passwords.
func guessedWords() []string {
	return strings.Fields("admin guest password root secret test token user username")
}

// number reports whether a text consists of digits and their punctuation.
func number(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0123456789+-._eE") == ""
}
