// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
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
		all = append(all, s, base64.StdEncoding.EncodeToString([]byte(s)))
	}
	// At one place the first that fits is replaced, so the longer go first.
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(all))
	for _, s := range slices.Compact(all) {
		pairs = append(pairs, s, redacted)
	}
	return redactor{strings.NewReplacer(pairs...)}
}

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
