// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	redacted = "***"
	// short is the length in bytes below which a secret is redacted only as a separate word.
	// Otherwise a secret "a" would hide most of a log.
	short = 4
)

// Redact returns a text without secrets, in any form in which texts quote them. Each line of a
// multi-line secret is redacted on its own, because the text may have been truncated.
func Redact(text string, secrets []string) string { return NewRedactor(secrets).Text(text) }

// Redactor removes secrets from texts. The zero value only replaces invalid UTF-8. It is safe for
// concurrent use.
type Redactor struct {
	words    []string
	replacer *strings.Replacer
}

// NewRedactor returns a Redactor for the given secrets.
func NewRedactor(secrets []string) Redactor {
	var r Redactor
	var long []string
	for _, s := range secrets {
		for _, v := range append(strings.Split(s, "\n"), s) {
			if trimmed := strings.TrimSpace(v); len(trimmed) >= short {
				// Surrounding spaces stay in the text, but are part of encoded forms.
				long = append(long, QuotedForms(v)[1:]...)
				long = append(long, trimmed)
			} else if trimmed != "" {
				r.words = append(r.words, trimmed)
			}
		}
		// Even a short secret may be encoded on its own.
		if encoded := base64.StdEncoding.EncodeToString([]byte(s)); len(encoded) >= short {
			long = append(long, encoded)
		}
	}
	// At one position the first matching pair is replaced, so longer texts come first.
	slices.SortFunc(long, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(long) {
		pairs = append(pairs, s, redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// Text returns a text without the secrets.
func (r Redactor) Text(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for _, word := range r.words {
		text = replaceWord(text, word)
	}
	if r.replacer == nil {
		return text
	}
	return r.replacer.Replace(text)
}

// QuotedForms returns the forms in which texts quote a secret. The first is the secret itself. The
// others are its quotations in Go, JSON and URLs, and its base64 encodings, alone and inside of
// longer data.
func QuotedForms(secret string) []string {
	all := []string{secret}
	quoted := []string{strconv.Quote(secret), strconv.QuoteToASCII(secret)}
	if raw, err := json.Marshal(secret); err == nil {
		quoted = append(quoted, string(raw), strconv.Quote(string(raw[1:len(raw)-1])))
	}
	for _, q := range quoted {
		if inner := q[1 : len(q)-1]; inner != secret {
			all = append(all, inner)
		}
	}
	// The first form is for queries, the second for paths.
	all = append(all, percent(secret, "-_.~", "+"), percent(secret, "-_.~$&+=:@", "%20"))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(secret)), encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(secret)))
		if len(secret) < minInside {
			continue
		}
		for before := range 3 {
			// Characters that also encode bits of neighbouring bytes are left out.
			from := (8*before + 5) / 6
			to := 8 * (before + len(secret)) / 6
			all = append(all, encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret + "xxx"))[from:to])
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

// minInside is the minimum length of a secret that is searched inside of encoded data. A shorter
// one would match unrelated data.
const minInside = 8

// Cut returns the last lines of a text, limited in lines and bytes.
func Cut(text string, maxLines, maxBytes int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
	if len(text) > maxBytes {
		// The cut may split a character, which is then dropped.
		text = strings.ToValidUTF8(text[len(text)-maxBytes:], "")
	}
	return text
}

// replaceWord redacts a word where it is not a part of a longer word.
func replaceWord(text, word string) string {
	part := func(b byte) bool {
		return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_' || b >= 0x80
	}
	var out strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := i + len(word)
		if (i > 0 && part(text[i-1])) || (end < len(text) && part(text[end])) {
			out.WriteString(text[:end])
		} else {
			out.WriteString(text[:i] + redacted)
		}
		text = text[end:]
	}
}

// SecretNames returns the names of the Secrets that a Pod refers to, in its namespace. Names may
// repeat.
func SecretNames(spec corev1.PodSpec) []string {
	var names []string
	for _, s := range spec.ImagePullSecrets {
		names = append(names, s.Name)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				names = append(names, from.SecretRef.Name)
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				names = append(names, env.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	for _, volume := range spec.Volumes {
		names = append(names, mounted(volume.VolumeSource)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// mounted returns the names of the Secrets in a volume.
func mounted(volume corev1.VolumeSource) []string {
	var names []string
	if volume.Secret != nil {
		names = append(names, volume.Secret.SecretName)
	}
	if volume.Projected == nil {
		return names
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			names = append(names, source.Secret.Name)
		}
	}
	return names
}
