// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redaction

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Finding is a value that looks like a credential. It does not have the value.
type Finding struct {
	// Path are the keys on the way to the value. The key of a list is followed by "[<index>]".
	Path []string
	// What is a noun with its article, such as "a JSON Web Token".
	What string
}

const (
	// maxFindings limits the findings in one tree.
	maxFindings = 100
	// maxAsked limits how many paths may be allowed: patterns are compared with each.
	maxAsked = 10_000
)

// Credentials returns the values in a tree of JSON that look like credentials, by the name of their
// key or by their form, in the order of the keys. At most maxFindings are returned. allowed reports
// whether a path may have any value. The time is linear in the size of the tree.
func Credentials(tree map[string]any, allowed func(path []string) bool) []Finding {
	w := walk{allowed: allowed}
	w.value(nil, keyOf(""), tree)
	return w.found
}

// walk is one run of Credentials.
type walk struct {
	allowed func(path []string) bool
	asked   int
	found   []Finding
}

// value adds the findings in a value, which is at a path and has the last key of the path.
func (w *walk) value(path []string, key key, value any) {
	if len(w.found) >= maxFindings {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		w.entries(path, key, v)
	case []any:
		key.listed = true
		list := slices.Clone(path)
		for i, inner := range v {
			list[len(list)-1] = fmt.Sprintf("%s[%d]", path[len(path)-1], i)
			w.value(list, key, inner)
		}
	case string:
		w.text(path, key, v)
	case nil, bool:
	default:
		if key.is(names()) {
			w.add(path, "a credential by its name")
		}
	}
}

// entries adds the findings in a map. A map with a name and a value, such as a variable of a container,
// is an entry with this name.
func (w *walk) entries(path []string, parent key, all map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k := keyOf(name)
		if called, is := all["name"].(string); is && name == "value" {
			k = keyOf(called)
		}
		k.reference = k.reference || parent.reference
		w.value(append(path, name), k, all[name])
	}
}

// text adds the finding that a text is.
func (w *walk) text(path []string, k key, text string) {
	if what := k.judge(text, maxDepth); what != "" {
		w.add(path, what)
	}
}

func (w *walk) add(path []string, what string) {
	if w.asked++; w.asked <= maxAsked && w.allowed != nil && w.allowed(path) {
		return
	}
	w.found = append(w.found, Finding{Path: slices.Clone(path), What: what})
}

// judge returns what a text with this key looks like; empty if it does not look like a credential.
// depth is how many texts in texts are judged.
func (k key) judge(text string, depth int) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if what := form(text); what != "" {
		return what
	}
	referred := k.reference || isReference(text)
	switch {
	case !referred && k.is(names()) && !isSetting(text):
		return "a credential by its name"
	case !referred && k.is(weakNames()) && isRandom(text, minWeak):
		return "a credential by its name"
	case depth == 0:
		return ""
	}
	if plain, ok := decode(text); ok {
		return k.judge(plain, depth-1)
	}
	if !referred && !k.isIdentity() && isRandom(text, minRandom) {
		return "a random key"
	}
	return inside(text)
}

// inside returns what the assignments in a text look like, such as those of a configuration file or of
// an argument of a program.
func inside(text string) string {
	if !strings.ContainsAny(text, "=:") {
		return ""
	}
	for line := range strings.Lines(text) {
		for part := range strings.FieldsFuncSeq(line, oneOf(",;&{}\r\n")) {
			if assigns(part) {
				return "a text with a credential by its name"
			}
			if words := strings.Fields(part); len(words) > 1 && slices.ContainsFunc(words, assigns) {
				return "a text with a credential by its name"
			}
		}
	}
	return ""
}

// assigns reports whether a text is a key with the name of a credential and a value that is neither
// prose nor code.
func assigns(text string) bool {
	text = strings.TrimLeft(text, "- \t")
	for _, separator := range []string{"=", ": ", ":"} {
		name, _, found := strings.Cut(text, separator)
		if name = strings.Trim(name, " \t\"'"); !found || strings.ContainsFunc(name, unicode.IsSpace) {
			continue
		}
		value, ok := assignment(text, separator)
		if !ok {
			continue
		}
		bare := unquote(value)
		if quoted := bare != value; !quoted && strings.ContainsAny(bare, " \t()[]<>$`|\\") {
			return false
		}
		k := keyOf(name)
		if len(bare) < minText || isReference(bare) || isSetting(bare) || keyOf(bare).is(names()) {
			return false
		}
		return k.is(names()) || k.is(weakNames()) && isRandom(bare, minWeak)
	}
	return false
}
