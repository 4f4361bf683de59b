// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// minInside is the minimum length of a secret that is searched inside of encoded data. A shorter
// one would match unrelated data.
const minInside = 8

// forms returns the forms in which texts quote a secret: the secret itself, its quotations in Go,
// JSON and URLs, and its base64 encodings, alone and inside of longer data. Forms may repeat.
func forms(secret string) []string {
	all := []string{secret}
	add := func(form string) {
		if form != secret {
			all = append(all, form)
		}
	}
	quoted := []string{strconv.Quote(secret), strconv.QuoteToASCII(secret)}
	if raw, err := json.Marshal(secret); err == nil {
		quoted = append(quoted, string(raw), strconv.Quote(string(raw[1:len(raw)-1])))
	}
	for _, q := range quoted {
		add(q[1 : len(q)-1])
	}
	// The first form is for queries, the second for paths.
	add(percent(secret, "-_.~", "+"))
	add(percent(secret, "-_.~$&+=:@", "%20"))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
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
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strings.IndexByte(kept, c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteString(space)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
