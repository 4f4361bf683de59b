// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// minInside is the minimum length of a secret that is searched inside of encoded data. A shorter
// one would match unrelated data.
const minInside = 8

// maxEncoded is the length in bytes from which on a secret is searched for in its most common forms
// only. Its lines or values are secret, too, and those have all forms.
const maxEncoded = 1024

// forms returns the forms in which texts quote a secret: the secret itself, its quotations in Go,
// JSON and URLs, and its base64 encodings, alone and inside of longer data.
func forms(secret string) []string {
	all := []string{secret}
	add := func(form string) {
		if !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	raw, err := json.Marshal(secret)
	if err == nil {
		add(string(raw[1 : len(raw)-1]))
	}
	encodings := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding}
	if len(secret) > maxEncoded {
		encodings = encodings[:1]
	} else {
		quoted := []string{strconv.Quote(secret), strconv.QuoteToASCII(secret)}
		if err == nil {
			quoted = append(quoted, strconv.Quote(string(raw[1:len(raw)-1])))
		}
		for _, q := range quoted {
			add(q[1 : len(q)-1])
		}
		// The first form is for queries, the second for paths.
		add(percent(secret, "-_.~", "+"))
		add(percent(secret, "-_.~$&+=:@", "%20"))
	}
	for _, encoding := range encodings {
		padded := encoding.EncodeToString([]byte(secret))
		add(padded)
		add(strings.TrimRight(padded, "="))
		if len(secret) < minInside {
			continue
		}
		for before := range 3 {
			// Characters that also encode bits of neighbouring bytes are left out.
			from := (8*before + 5) / 6
			to := 8 * (before + len(secret)) / 6
			add(encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret + "xxx"))[from:to])
		}
	}
	return all
}

// percent escapes all bytes but letters, digits and the kept ones, as URLs do.
func percent(s, kept, space string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strings.IndexByte(kept, c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteString(space)
		default:
			b.WriteString("%" + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
		}
	}
	return b.String()
}
