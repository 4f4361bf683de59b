// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import "maps"

// Merge merges over into values. Maps are merged key by key. Any other value replaces the
// existing one, null included. Merge does not change over, and values shares nothing with it
// afterwards.
func Merge(values, over map[string]any) {
	for key, v := range over {
		below, isMap := values[key].(map[string]any)
		above, areMaps := v.(map[string]any)
		if isMap && areMaps {
			Merge(below, above)
			continue
		}
		values[key] = Clone(v)
	}
}

// Clone returns a deep copy of a value as encoding/json decodes it.
func Clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for key, inner := range c {
			c[key] = Clone(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = Clone(inner)
		}
		return c
	}
	return value
}

// CloneMap returns a deep copy of values, which is never nil.
func CloneMap(values map[string]any) map[string]any {
	all := make(map[string]any, len(values))
	for key, value := range values {
		all[key] = Clone(value)
	}
	return all
}
