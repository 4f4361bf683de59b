// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/release"
)

// redacted stands where a secret stood.
const redacted = "***"

// redactor takes secrets out of what Helm says. Helm quotes values where they do
// not fit: in what a schema refuses, what a template cannot render, and what the
// API server will not have, where they may be encoded. The zero value takes out
// nothing.
type redactor struct{ replacer *strings.Replacer }

func newRedactor(secrets []string) redactor {
	var all []string
	for _, s := range secrets {
		all = append(all, disguises(s)...)
	}
	// At one place the first that fits is replaced, so the longer go first.
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(all))
	for _, s := range slices.Compact(all) {
		pairs = append(pairs, s, redacted)
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// disguises returns a secret in the forms in which messages quote it: as it is, as
// Go and JSON quote it, and encoded, on its own or in the middle of something.
func disguises(secret string) []string {
	all := []string{secret}
	quoted := []string{strconv.Quote(secret), strconv.QuoteToASCII(secret)}
	if raw, err := json.Marshal(secret); err == nil {
		quoted = append(quoted, string(raw))
	}
	for _, q := range quoted {
		if inner := q[1 : len(q)-1]; inner != secret {
			all = append(all, inner)
		}
	}
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

// minInside is how long a secret has to be to be looked for in the middle of what is
// encoded: less would be found where there is none.
const minInside = 8

func (r redactor) text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// error returns err as it is if there is nothing to take out of it, and its
// text alone otherwise: what it wraps would still say it all.
func (r redactor) error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); r.text(text) != text {
		return errors.New(r.text(text))
	}
	return err
}

// size returns what a record takes, with what is told of files in its chart.
func (r redactor) size(s *release.RecordSize) *release.RecordSize {
	if s == nil {
		return nil
	}
	for i := range s.Parts {
		s.Parts[i].Largest = r.text(s.Parts[i].Largest)
	}
	return s
}
