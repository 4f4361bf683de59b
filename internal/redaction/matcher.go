// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	// Mask replaces a secret.
	Mask = "***"
	// withheld replaces a whole text if there are more secrets than can be searched for.
	withheld = "(not shown: the Secrets of the release have more values than can be removed from messages)"
)

const (
	// maxForms and maxFormBytes limit the memory of a matcher.
	maxForms     = 250_000
	maxFormBytes = 32 << 20
)

// maxHead is the length in bytes from which on a text that starts like a form is replaced as far as
// both are equal. The replaced part is not read again, so that the time is linear in the text. A
// text that was cut is thus found, too.
const maxHead = 64

// matcher finds forms of secrets in a text.
type matcher struct {
	// withheld is true if no text is shown.
	withheld bool
	// forms are sorted, without repetitions. Each has at least minText bytes.
	forms []string
	// shorter has, for each form, the index of its longest prefix among the forms of at most
	// maxHead bytes; -1 for none.
	shorter []int32
	// starts has the range of the forms with the same first bytes.
	starts map[[minText]byte]span
}

// span is a range of indices.
type span struct{ from, to int32 }

// newMatcher returns a matcher for secrets of at least minText bytes.
func newMatcher(secrets []string) *matcher {
	var all []string
	size := 0
	for _, s := range secrets {
		// The plain text and four in base64 are the least.
		if len(all) > maxForms || size+5*len(s) > maxFormBytes {
			return &matcher{withheld: true}
		}
		for _, form := range forms(s) {
			all, size = append(all, form), size+len(form)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	m := &matcher{forms: all, shorter: make([]int32, len(all)), starts: map[[minText]byte]span{}}
	var prefixes []int32 // the forms of at most maxHead bytes that are a prefix of the current one
	for i, form := range all {
		for len(prefixes) > 0 && !strings.HasPrefix(form, all[prefixes[len(prefixes)-1]]) {
			prefixes = prefixes[:len(prefixes)-1]
		}
		m.shorter[i] = -1
		if len(prefixes) > 0 {
			m.shorter[i] = prefixes[len(prefixes)-1]
		}
		if len(form) <= maxHead {
			prefixes = append(prefixes, int32(i))
		}
		start := [minText]byte([]byte(form[:minText]))
		s, known := m.starts[start]
		if !known {
			s.from = int32(i)
		}
		m.starts[start] = span{s.from, int32(i + 1)}
	}
	return m
}

// replace returns a text without the forms. At each place, the longest one is replaced.
func (m *matcher) replace(text string) string {
	if m.withheld {
		return withheld
	}
	var b strings.Builder
	done := 0
	for i := 0; i+minText <= len(text); {
		n := m.match(text[i:])
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(Mask)
		i += n
		done = i
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// match returns the number of bytes at the start of a text that must be replaced.
func (m *matcher) match(text string) int {
	s, ok := m.starts[[minText]byte([]byte(text[:minText]))]
	if !ok {
		return 0
	}
	// The forms that have most in common with the text are next to its place in the order.
	next := s.from + int32(sort.Search(int(s.to-s.from), func(i int) bool { return m.forms[s.from+int32(i)] > text }))
	equal := 0
	for _, i := range []int32{next - 1, next} {
		if i >= s.from && i < s.to {
			equal = max(equal, common(m.forms[i], text))
		}
	}
	if equal >= maxHead {
		for equal < len(text) && !utf8.RuneStart(text[equal]) {
			equal--
		}
		return equal
	}
	for i := next - 1; i >= s.from; i = m.shorter[i] {
		if strings.HasPrefix(text, m.forms[i]) {
			return len(m.forms[i])
		}
	}
	return 0
}

// common returns the length of the common prefix of two texts.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
