// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Shorter texts are not redacted: they occur in many words, and are easily guessed. Numbers have to
// be longer, because ports and sizes are not secret.
const (
	minSecretText   = 4
	minSecretNumber = 6
)

// secrets returns the texts that references take from Secrets, so that Helm's messages can be
// redacted from them.
func secrets(refs []reference, read *documents) []string {
	var texts []string
	seen := map[string]bool{}
	for _, ref := range refs {
		if ref.Kind != helmv2.KindSecret {
			continue
		}
		if ref.TargetPath != "" {
			texts = appendText(texts, strings.Trim(ref.content, `'"`))
		}
		if seen[ref.content] {
			continue
		}
		seen[ref.content] = true
		if parsed, err := read.of(ref.content); err == nil {
			texts = appendScalars(texts, parsed)
		}
	}
	return texts
}

func appendScalars(texts []string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			texts = appendScalars(texts, inner)
		}
	case []any:
		for _, inner := range v {
			texts = appendScalars(texts, inner)
		}
	case string:
		texts = appendText(texts, v)
	case nil, bool:
	default:
		// One format is that of JSON and YAML, the other that of templates.
		for _, format := range []string{"%v", "%.f"} {
			if s := fmt.Sprintf(format, v); len(s) >= minSecretNumber {
				texts = append(texts, s)
			}
		}
	}
	return texts
}

// appendText appends a text and each of its lines: messages may quote a single line, or escape
// newlines.
func appendText(texts []string, text string) []string {
	if len(text) < minSecretText {
		return texts
	}
	texts = append(texts, text)
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= minSecretText {
				texts = append(texts, line)
			}
		}
	}
	return texts
}

// Secrets returns the texts that the values of hr take from Secrets. It ignores Secrets and keys
// that do not exist, and ConfigMaps. An error is that of reading a Secret.
func (r *Resolver) Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error) {
	only := hr.DeepCopy()
	only.Spec.ValuesFrom = slices.DeleteFunc(only.Spec.ValuesFrom, func(ref helmv2.ValuesReference) bool { return ref.Kind != helmv2.KindSecret })
	for i := range only.Spec.ValuesFrom {
		only.Spec.ValuesFrom[i].Optional = true
	}
	refs, err := r.references(ctx, only)
	return secrets(refs, &documents{}), err
}
