// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
)

// What is composed here may be secret, and what goes wrong is shown to everybody
// who may read a HelmRelease. So no error of this file quotes content.

// ParseMap reads values from JSON or YAML that have to be a map. Nothing at all,
// and null, are an empty one. Every call returns a map of its own.
func ParseMap(raw []byte) (map[string]any, error) {
	values, err := decode(raw)
	if err != nil {
		return nil, unreadable(err)
	}
	switch v := values.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("the content is not a map")
}

// unreadable says what the YAML parser says, but for its quotations.
func unreadable(err error) error {
	// The number stands in front of everything the parser may quote.
	line := regexp.MustCompile(`^error converting YAML to JSON: yaml: (line \d+): `).FindStringSubmatch(err.Error())
	if line == nil {
		return errors.New("the content cannot be read as YAML")
	}
	return fmt.Errorf("the content cannot be read as YAML: %s", line[1])
}

// MergeInto lays over on values: maps are merged key by key, anything else
// replaces what was there, null included. It neither changes over nor shares
// anything with it.
func MergeInto(values, over map[string]any) {
	for key, v := range over {
		below, isMap := values[key].(map[string]any)
		above, areMaps := v.(map[string]any)
		if isMap && areMaps {
			MergeInto(below, above)
			continue
		}
		values[key] = clone(v)
	}
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for key, inner := range c {
			c[key] = clone(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = clone(inner)
		}
		return c
	}
	return value
}

// SetPath sets what path leads to, both in the notation of Helm's --set:
// numbers, true, false, null and {lists} have their types, and a comma begins
// another assignment. What a pair of quotes encloses, of either sort, becomes a
// string. After an error values are of no use.
func SetPath(values map[string]any, path, content string) error {
	for _, quote := range []string{`'`, `"`} {
		if rest, opened := strings.CutPrefix(content, quote); opened {
			if inner, closed := strings.CutSuffix(rest, quote); closed {
				return set(values, path, inner, strvals.ParseIntoString)
			}
		}
	}
	return set(values, path, content, strvals.ParseInto)
}

// SetLiteral sets what path leads to, in the notation of Helm's --set, to
// content to the letter. After an error values are of no use.
func SetLiteral(values map[string]any, path, content string) error {
	escaped := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `{`, `\{`, `}`, `\}`).Replace(content)
	return set(values, path, escaped, strvals.ParseIntoString)
}

func set(values map[string]any, path, content string, parse func(string, map[string]any) error) error {
	// Where it ends right after the sign, the parser forgets some assignments.
	if content == "" {
		content = ","
	}
	if parse(path+"="+content, values) == nil {
		return nil
	}
	// Whose fault is it? If the path alone is refused, saying so quotes nothing
	// but the path.
	if err := strvals.ParseIntoString(path+"=x", values); err != nil {
		return fmt.Errorf("the target path %q cannot be set: %w", path, err)
	}
	return fmt.Errorf("the content cannot be set at the target path %q: it is not in the notation of Helm's --set", path)
}
