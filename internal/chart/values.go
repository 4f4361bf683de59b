// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/opencontainers/go-digest"
	yamlv2 "go.yaml.in/yaml/v2"
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
	stored, err := asStored(values)
	if err != nil {
		return "", fmt.Errorf("values cannot be written as JSON: %w", err)
	}
	canonical, err := yamlv2.Marshal(stored)
	if err != nil {
		return "", fmt.Errorf("values cannot be written as YAML: %w", err)
	}
	return digest.SHA256.FromBytes(canonical).String(), nil
}

// asStored returns values after they have been written as JSON and read: integers
// that no float64 can hold are not the same then. Numbers are of the types that a
// YAML parser would find in that JSON; to have it look for them took more than half
// of the time.
func asStored(values map[string]any) (any, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	var stored any
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, err
	}
	return withIntegers(stored), nil
}

// withIntegers replaces, in place, the numbers that JSON writes without a fraction
// or an exponent by integers, where any can hold them.
func withIntegers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = withIntegers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = withIntegers(inner)
		}
	case float64:
		// JSON writes no exponent from here on, in either direction.
		if v != math.Trunc(v) || math.Abs(v) >= 1e21 {
			return v
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return u
		}
	}
	return value
}
