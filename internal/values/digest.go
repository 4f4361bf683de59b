// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/opencontainers/go-digest"
	yamlv2 "go.yaml.in/yaml/v2"
)

// Digest returns "sha256:<hex>" of the canonical YAML of values, as helm-controller computes it.
// The order of keys does not matter. Values have the same digest before and after Helm stores
// them, although its storage keeps numbers as float64 only. A nil map and an empty one have the
// digest of empty input.
func Digest(values map[string]any) (string, error) {
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

// asStored returns values after a round trip through JSON, which changes integers that no float64
// can hold. The numbers have the types that a YAML parser would choose for that JSON. Choosing
// them here saves a run of that parser, which took more than half of the time.
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

// withIntegers replaces in place each number that JSON writes without fraction and exponent by
// an int64 or uint64, if either can hold it.
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
		// From 1e21 on, in either direction, JSON writes an exponent.
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
