// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"
)

// ParseValues reads values from JSON or YAML. Anything that is not a map, null
// and nothing at all included, is an empty map: that is what users of this API
// are used to. Every call returns a map of its own.
func ParseValues(raw []byte) (map[string]any, error) {
	values, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if m, ok := values.(map[string]any); ok {
		return m, nil
	}
	return map[string]any{}, nil
}

// decode reads JSON or YAML; nothing at all is null.
func decode(raw []byte) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	var values any
	// A spec holds JSON. As YAML it would be read almost alike: YAML refuses some
	// characters in strings and folds others into spaces.
	if json.Unmarshal(raw, &values) != nil {
		values = nil
		if err := yaml.Unmarshal(raw, &values); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// ConfigDigest returns "sha256:<hex>" of values. It does not depend on the
// order of keys, nor on whether the values come from Helm's storage, which knows
// floating-point numbers only; no values and an empty map have the digest of
// nothing.
func ConfigDigest(values map[string]any) (string, error) {
	if len(values) == 0 {
		return digest.SHA256.FromBytes(nil).String(), nil
	}
	raw, err := asStored(values)
	if err != nil {
		return "", fmt.Errorf("values cannot be written as JSON: %w", err)
	}
	canonical, err := yaml.JSONToYAML(escape(raw))
	if err != nil {
		return "", fmt.Errorf("values cannot be written as YAML: %w", err)
	}
	return digest.SHA256.FromBytes(canonical).String(), nil
}

// asStored returns the JSON of values after they have been written and read once:
// integers that no float64 can hold are not the same then.
func asStored(values map[string]any) ([]byte, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	var stored any
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, err
	}
	return json.Marshal(stored)
}

// escape writes the characters in JSON strings that YAML refuses or folds as
// escapes, which both read alike.
func escape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for _, r := range string(raw) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
