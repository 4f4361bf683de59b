// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// maxShown is the maximum number of bytes that are shown of a value.
	maxShown = 120
	// masked replaces values of Secrets.
	masked = "***"
)

// compact encodes a value as JSON without HTML escapes.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// A value that JSON cannot encode is not shown.
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// redact removes secrets from a text; nil removes nothing.
type redact func(string) string

func (r redact) text(s string) string {
	if r == nil {
		return s
	}
	return r(s)
}

// pointer returns a JSON pointer, empty if a token has a secret: such a pointer would select nothing.
func (r redact) pointer(tokens []string) string {
	for _, t := range tokens {
		if r.text(t) != t {
			return ""
		}
	}
	return formatPointer(tokens)
}

// show returns a value as text, empty for null. Secrets are removed before the text is cut, because
// a part of a secret would not be recognized.
func (r redact) show(v any) string {
	if v == nil {
		return ""
	}
	s := r.text(compact(v))
	if len(s) <= maxShown {
		return s
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

// secretPath reports whether the values at or below a path of a Secret are secret. kubectl apply
// stores a copy of the data in an annotation.
func secretPath(path fieldpath.Path) bool {
	if len(path) == 0 || path[0].FieldName == nil {
		return true
	}
	switch *path[0].FieldName {
	case "data", "stringData":
		return true
	case "metadata":
		if len(path) < 2 || path[1].FieldName == nil || *path[1].FieldName != "annotations" {
			return false
		}
		return len(path) < 3 || path[2].FieldName == nil || strings.Contains(*path[2].FieldName, "last-applied")
	}
	return false
}

// overlay replaces the part of want at the tokens of a JSON pointer by the same part of have, or
// removes it if have does not have it. It changes want. It returns the new value, and whether it
// still exists.
func overlay(want, have any, tokens []string) (v any, keep bool) {
	if len(tokens) == 0 {
		return have, have != nil
	}
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		name := tokens[0]
		if w[name] == nil && len(tokens) > 1 {
			return want, true
		}
		if v, keep := overlay(w[name], h[name], tokens[1:]); keep {
			w[name] = v
		} else {
			delete(w, name)
		}
	case []any:
		return overlayItem(w, have, tokens), true
	}
	return want, true
}

func overlayItem(want []any, have any, tokens []string) []any {
	i, err := strconv.Atoi(tokens[0])
	if err != nil || i < 0 || i > len(want) {
		return want
	}
	h, _ := have.([]any)
	var item any
	if i < len(h) {
		item = h[i]
	}
	if i == len(want) {
		if item != nil && len(tokens) == 1 {
			want = append(want, item)
		}
		return want
	}
	if v, keep := overlay(want[i], item, tokens[1:]); keep {
		want[i] = v
		return want
	}
	return append(want[:i], want[i+1:]...)
}
