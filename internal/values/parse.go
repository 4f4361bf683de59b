// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// Parse reads the values of a spec from JSON or YAML. Each call returns a new map, which is
// never nil. Empty input, null, and anything else that is not a map, yield an empty map, as in
// helm-controller. An error may quote raw.
func Parse(raw []byte) (map[string]any, error) {
	values, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if m, ok := values.(map[string]any); ok {
		return m, nil
	}
	return map[string]any{}, nil
}

// ParseMap reads the values of a reference from JSON or YAML. Each call returns a new map, which
// is never nil. Empty input and null yield an empty map; anything else that is not a map is an
// error. Errors do not quote raw.
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

// decode reads JSON or YAML. Empty input is null.
func decode(raw []byte) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil //nolint:nilnil // the value is null
	}
	var values any
	// A spec holds JSON. A YAML parser rejects some characters in strings and folds others into
	// spaces, so YAML is read only where JSON is not.
	if json.Unmarshal(raw, &values) != nil {
		values = nil
		if err := yaml.Unmarshal(raw, &values); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// unreadable returns an error of the YAML parser without its quotations.
func unreadable(err error) error {
	// The number of the line precedes everything that the parser may quote.
	line := regexp.MustCompile(`^error converting YAML to JSON: yaml: (line \d+): `).FindStringSubmatch(err.Error())
	if line == nil {
		return errors.New("the content cannot be read as YAML")
	}
	return fmt.Errorf("the content cannot be read as YAML: %s", line[1])
}
