// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/bounded"
)

const (
	// maxDepth limits documents in documents.
	maxDepth = 3
	// minEncoded is the minimum length of a text that may be base64 of another one.
	minEncoded = 8
	// minCredentials is the minimum length of what follows the scheme in a header of HTTP.
	minCredentials = 16
)

// documents returns the limits of a structured document. The lines of a larger one are secret.
func documents() bounded.Limits { return bounded.Limits{Bytes: 1 << 20, Nodes: 100_000, Depth: 100} }

// parts returns the texts in values that are secret. If there are too many, it returns at least so
// many that the matcher has no room for them.
func (r Rules) parts(values []string) []string {
	c := collector{minText: max(minText, r.MinText), common: commonWords(), known: map[string]bool{}}
	for _, text := range r.Kept {
		c.known[text] = true
	}
	for _, v := range values {
		c.value(v, 0)
	}
	return c.all
}

// collector collects secret texts.
type collector struct {
	minText int
	// common are words that are not secret, in lower case.
	common map[string]bool
	// known are the collected texts, and other texts that are not secret.
	known map[string]bool
	all   []string
	bytes int
}

// add adds a text if it is secret.
func (c *collector) add(text string) {
	text = strings.TrimSpace(text)
	switch {
	case len(text) < c.minText, number(text) && len(text) < minNumber:
	case c.known[text], c.common[strings.ToLower(text)]:
	case len(c.all) > maxForms, c.bytes > maxFormBytes:
	default:
		c.known[text] = true
		c.all, c.bytes = append(c.all, text), c.bytes+len(text)
	}
}

// value adds a value and its parts. A document has its values as parts, and any other text its
// lines, the values in them, the parts of URLs, and what it is the encoding of.
func (c *collector) value(text string, depth int) {
	c.add(text)
	c.add(strings.Trim(text, "\"'"))
	if depth > maxDepth || len(text) < minText {
		return
	}
	if scalars, ok := documents().Scalars(text); ok {
		for _, s := range scalars {
			if s.Number {
				c.number(s.Text)
			} else {
				c.value(s.Text, depth+1)
			}
		}
		return
	}
	c.addBase64(text, depth)
	several := strings.Contains(strings.TrimSpace(text), "\n")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") {
			continue // the first or the last line of a PEM block
		}
		if several {
			c.add(line)
		}
		c.line(line, depth)
	}
}

// number adds a number in the formats of documents and of templates.
func (c *collector) number(text string) {
	c.add(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		c.add(fmt.Sprint(n))
		c.add(strconv.FormatFloat(n, 'f', 0, 64))
	}
}

// line adds the values in a line, such as KEY=value, key: value, or host=a password=b, and in its
// URLs.
func (c *collector) line(line string, depth int) {
	for _, part := range urlParts(line) {
		c.value(part, depth+1)
	}
	if value, ok := assignment(line, "="); ok {
		c.value(unquote(value), depth+1)
	} else if value, ok := assignment(line, ": "); ok {
		c.value(unquote(value), depth+1)
	}
	fields := strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r == ';' || r == ',' || r == '&' })
	if len(fields) < 2 {
		return
	}
	for _, field := range fields {
		if value, ok := assignment(field, "="); ok {
			c.value(unquote(value), depth+1)
		}
	}
}

// assignment returns the value in a text. ok is false if there is no plausible key.
func assignment(text, separator string) (value string, ok bool) {
	key, value, ok := strings.Cut(text, separator)
	key = strings.Trim(key, " \t\"'")
	for i := range len(key) {
		b := key[i]
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && !strings.ContainsRune("_.-/ ", rune(b)) {
			return "", false
		}
	}
	return strings.TrimSpace(value), ok && key != ""
}

// unquote returns a value without quotation marks, and without the comma after them.
func unquote(value string) string {
	trimmed := strings.TrimRight(value, ",;")
	if text, err := strconv.Unquote(trimmed); err == nil {
		return text
	}
	return strings.Trim(trimmed, "\"'")
}

// addBase64 adds the plain text of a base64 encoding, such as the user and password in the
// credentials of a registry.
func (c *collector) addBase64(text string, depth int) {
	text = strings.TrimSpace(text)
	if _, credentials, ok := strings.Cut(text, " "); ok && len(credentials) >= minCredentials && !strings.Contains(credentials, " ") {
		text = credentials
		c.add(text)
	}
	plain, ok := decode(text)
	if !ok {
		return
	}
	c.value(plain, depth+1)
	if user, password, ok := strings.Cut(strings.TrimSpace(plain), ":"); ok && !strings.ContainsAny(plain, " \n") {
		c.add(user)
		c.add(password)
	}
}

// decode returns the text that a text is the base64 encoding of.
func decode(text string) (string, bool) {
	if len(text) < minEncoded {
		return "", false
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		raw, err := encoding.DecodeString(text)
		if err != nil {
			continue
		}
		plain := string(raw)
		return plain, utf8.ValidString(plain) && !strings.ContainsFunc(plain, func(r rune) bool {
			return unicode.IsControl(r) && !unicode.IsSpace(r)
		})
	}
	return "", false
}
