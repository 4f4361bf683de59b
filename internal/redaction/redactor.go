// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"strings"
	"sync"
)

// Redactor removes secrets from texts, in any form in which texts quote them. The zero value only
// replaces invalid UTF-8. It is safe for concurrent use.
type Redactor struct{ matcher func() *matcher }

// New returns a Redactor for values of Secrets. The values are parsed once, with the first text.
func New(values []string) Redactor {
	return Rules{}.Redactor(func() []string { return values })
}

// Rules restrict which texts in values are secret.
type Rules struct {
	// MinText is the minimum length of a secret in bytes, if it is more than the usual one.
	MinText int
	// Kept are texts that are not secret.
	Kept []string
}

// Redactor returns a Redactor for values of Secrets. It calls values once, with the first text.
func (r Rules) Redactor(values func() []string) Redactor {
	return Redactor{sync.OnceValue(func() *matcher {
		return newMatcher(r.parts(values()))
	})}
}

// Text returns a text without secrets.
func (r Redactor) Text(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r.matcher == nil || text == "" {
		return text
	}
	return r.matcher().replace(text)
}
