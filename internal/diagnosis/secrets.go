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
	// short is the length below which a secret is a secret only as a word of its own:
	// every log contains an "a".
	short = 4
)

// Redact returns a text without secrets, in whatever form it quotes them. Of secrets
// of several lines each line is one, because a text may have been cut before it came
// here.
func Redact(text string, secrets []string) string { return NewRedactor(secrets).Text(text) }

// Redactor takes secrets out of texts. The zero value takes out nothing but what is no
// UTF-8. It may be used concurrently.
type Redactor struct {
	words    []string
	replacer *strings.Replacer
}

// NewRedactor returns a redactor that takes out some secrets, as Redact does.
func NewRedactor(secrets []string) Redactor {
	var r Redactor
	var long []string
	for _, s := range secrets {
		for _, v := range append(strings.Split(s, "\n"), s) {
			if trimmed := strings.TrimSpace(v); len(trimmed) >= short {
				// The spaces around it are the text's, but where they are encoded.
				long = append(long, Disguises(v)[1:]...)
				long = append(long, trimmed)
			} else if trimmed != "" {
				r.words = append(r.words, trimmed)
			}
		}
		// However short, somebody may have encoded it on its own.
		if encoded := base64.StdEncoding.EncodeToString([]byte(s)); len(encoded) >= short {
			long = append(long, encoded)
		}
	}
	// At one place the first that fits is replaced, so the longer go first.
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

// Disguises returns a secret in the forms in which texts quote it: as it is, as Go,
// JSON and URLs quote it, and encoded, on its own or in the middle of something.
func Disguises(secret string) []string {
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
	// In a query, and in a path.
	all = append(all, percent(secret, "-_.~", "+"), percent(secret, "-_.~$&+=:@", "%20"))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(secret)), encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(secret)))
		if len(secret) < minInside {
			continue
		}
		for before := range 3 {
			// What the neighbours have a part in is left out.
			from := (8*before + 5) / 6
			to := 8 * (before + len(secret)) / 6
			all = append(all, encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret + "xxx"))[from:to])
		}
	}
	return all
}

// percent escapes what is neither a letter, a digit nor kept, as URLs do.
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

// minInside is how long a secret has to be to be looked for in the middle of what is
// encoded: less would be found where there is none.
const minInside = 8

// Cut returns the last lines of a text, so many at most, and so many bytes of them.
func Cut(text string, maxLines, maxBytes int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
	if len(text) > maxBytes {
		// The cut may go through a character, of which nothing then stays.
		text = strings.ToValidUTF8(text[len(text)-maxBytes:], "")
	}
	return text
}

// replaceWord replaces a text where it is not a part of a longer word.
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

// SecretNames are the Secrets that a pod refers to, in its namespace. Some may be
// named more than once.
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

// mounted are the Secrets that a volume holds.
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
