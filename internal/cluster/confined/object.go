// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bytes"
	"errors"
	"io"
)

// objectBody is the body of a successful answer. Its end is an error unless the body holds an
// object of Kubernetes, since decoders quote bodies without a kind.
type objectBody struct {
	io.ReadCloser

	missing *ForeignError
	scan    scanner
}

// Read implements io.Reader.
func (b *objectBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.scan.write(p[:n])
	if errors.Is(err, io.EOF) && !b.scan.isObject() {
		return 0, b.missing
	}
	return n, err
}

// maxKey is the length of the longest key that matters.
const maxKey = len("apiVersion")

// scanner recognizes an object of Kubernetes: JSON with the keys kind and apiVersion and texts as
// their values, or Protobuf. It keeps no part of the body but the current key.
type scanner struct {
	// prefix has the first bytes of the body.
	prefix []byte
	depth  int
	// inString is true within a string, and escaped after a backslash in it.
	inString, escaped bool
	// key is the current or the last string at depth 1 where a key is expected, text the length of
	// the current string.
	key     []byte
	isKey   bool
	text    int
	hasKind bool
	hasAPI  bool
}

func (s *scanner) isObject() bool {
	return s.hasKind && s.hasAPI || bytes.Equal(s.prefix, []byte(protobufPrefix))
}

func (s *scanner) write(p []byte) {
	if missing := len(protobufPrefix) - len(s.prefix); missing > 0 {
		s.prefix = append(s.prefix, p[:min(missing, len(p))]...)
	}
	if s.isObject() {
		return
	}
	for _, c := range p {
		if s.inString {
			s.inText(c)
		} else {
			s.between(c)
		}
	}
}

// inText handles a byte of a string.
func (s *scanner) inText(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = false
		s.endText()
		return
	}
	s.text++
	if s.isKey && s.depth == 1 && len(s.key) <= maxKey {
		s.key = append(s.key, c)
	}
}

// endText handles the end of a string.
func (s *scanner) endText() {
	if s.depth != 1 || s.isKey || s.text == 0 {
		return
	}
	switch string(s.key) {
	case "kind":
		s.hasKind = true
	case "apiVersion":
		s.hasAPI = true
	}
}

// between handles a byte outside of strings.
func (s *scanner) between(c byte) {
	switch c {
	case '"':
		s.inString, s.text = true, 0
		if s.isKey && s.depth == 1 {
			s.key = s.key[:0]
		}
	case '{', '[':
		s.depth++
		s.isKey = s.depth == 1 && c == '{'
	case '}', ']':
		s.depth--
	case ':':
		s.isKey = false
	case ',':
		s.isKey = s.depth == 1
	}
}
