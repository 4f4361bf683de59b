// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import "fmt"

// Limits limits one text of YAML or JSON.
type Limits struct {
	// Bytes limits the text, and the sum of its keys and scalars once its aliases are expanded.
	Bytes int
	// Nodes limits the number of maps, lists, keys and scalars.
	Nodes int
	// Depth limits the nesting of maps and lists.
	Depth int
}

// Values returns the limits of a text with values, of a patch and of a kubeconfig. An object of the
// API server has at most 1.5 MiB. An alias may repeat a part of it, so the expanded size is larger.
// Every level of nesting indents its lines in the YAML of the values, so that a deep value of some
// kilobytes would become hundreds of megabytes.
func Values() Limits { return Limits{Bytes: 8 << 20, Nodes: 500_000, Depth: 100} }

// Manifest returns the limits of a rendered manifest. A chart may render 32 MiB.
func Manifest() Limits { return Limits{Bytes: 64 << 20, Nodes: 4_000_000, Depth: 1_000} }

// Size is the size of a decoded value, in the units of Limits.
type Size struct{ Bytes, Nodes, Depth int }

func (l Limits) exceeds(s Size) bool {
	return s.Bytes > l.Bytes || s.Nodes > l.Nodes || s.Depth > l.Depth
}

// exceededBy returns the error of a size; nil if it is within the limits.
func (l Limits) exceededBy(s Size, when string) error {
	switch {
	case s.Depth > l.Depth:
		return Exceeded("the content is nested deeper than %d levels%s", l.Depth, when)
	case s.Nodes > l.Nodes:
		return Exceeded("the content has more than %d keys and values%s", l.Nodes, when)
	case s.Bytes > l.Bytes:
		return Exceeded("the content has more than %d bytes%s", l.Bytes, when)
	}
	return nil
}

// add adds a value at a depth, until the size exceeds the limits.
func (s *Size) add(v any, l Limits, depth int) {
	s.Nodes++
	if l.exceeds(*s) {
		return
	}
	switch v := v.(type) {
	case string:
		s.Bytes += len(v)
	case map[string]any:
		s.Depth = max(s.Depth, depth+1)
		for key, inner := range v {
			s.Bytes, s.Nodes = s.Bytes+len(key), s.Nodes+1
			if s.add(inner, l, depth+1); l.exceeds(*s) {
				return
			}
		}
	case []any:
		s.Depth = max(s.Depth, depth+1)
		for _, inner := range v {
			if s.add(inner, l, depth+1); l.exceeds(*s) {
				return
			}
		}
	default:
		// Other scalars are short.
		s.Bytes++
	}
}

// Error is the error of a text that exceeds a limit. It names the limit and quotes no content.
type Error struct{ text string }

// Exceeded returns an error with a formatted text, which must not quote content.
func Exceeded(format string, args ...any) *Error { return &Error{fmt.Sprintf(format, args...)} }

// Error implements error.
func (e *Error) Error() string { return e.text }
