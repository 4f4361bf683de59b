// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// Parse reads the values of a spec from JSON or YAML. Each call returns a new map, which is
// never nil. Empty input, null, and anything else that is not a map, yield an empty map, as in
// helm-controller. An error may quote raw. Content that exceeds bounded.Values is an error.
func Parse(raw []byte) (map[string]any, error) {
	values, _, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if m, ok := values.(map[string]any); ok {
		return m, nil
	}
	return map[string]any{}, nil
}

// Budget limits the values of one release together. The zero value has the whole budget. It is not
// safe for concurrent use.
type Budget struct {
	// used is the size of all parsed values, and elements the number of assignments and list
	// elements at target paths.
	used     bounded.Size
	elements int
}

// The limits of a Budget. Helm's storage limits the values of a revision to about a megabyte of
// compressed text.
const (
	maxBytes = 16 << 20
	maxNodes = 1_000_000
)

// ParseMap reads the values of a reference from JSON or YAML. Each call returns a new map, which
// is never nil. Empty input and null yield an empty map; anything else that is not a map is an
// error, and so is content that exceeds bounded.Values or the budget. Errors do not quote raw.
func (b *Budget) ParseMap(raw []byte) (map[string]any, error) {
	values, size, err := decode(raw)
	if err != nil {
		return nil, unreadable(err)
	}
	if err := b.use(size); err != nil {
		return nil, err
	}
	switch v := values.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("the content is not a map")
}

// use adds a size to the budget.
func (b *Budget) use(size bounded.Size) error {
	b.used.Bytes, b.used.Nodes = b.used.Bytes+size.Bytes, b.used.Nodes+size.Nodes
	switch {
	case b.used.Bytes > maxBytes:
		return bounded.Exceeded("all values of the release together have more than %d bytes", maxBytes)
	case b.used.Nodes > maxNodes:
		return bounded.Exceeded("all values of the release together have more than %d keys and values", maxNodes)
	}
	return nil
}

// decode reads JSON or YAML within bounded.Values. Empty input is null.
func decode(raw []byte) (any, bounded.Size, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, bounded.Size{}, nil
	}
	limits := bounded.Values()
	var values any
	// A spec holds JSON. A YAML parser rejects some characters in strings and folds others into
	// spaces, so YAML is read only where JSON is not.
	if json.Unmarshal(raw, &values) != nil {
		values = nil
		if err := limits.Unmarshal(raw, &values); err != nil {
			return nil, bounded.Size{}, err
		}
	}
	size, err := limits.CheckValue(values)
	return values, size, err
}

// unreadable returns an error of the YAML parser without its quotations.
func unreadable(err error) error {
	var limit *bounded.Error
	if errors.As(err, &limit) {
		return limit
	}
	line, _ := located(err)
	if line == "" {
		return errors.New("the content cannot be read as YAML")
	}
	return fmt.Errorf("the content cannot be read as YAML: line %s", line)
}

// yamlError matches errors of the YAML parser. The number of the line precedes everything that the
// parser may quote.
var yamlError = regexp.MustCompile(`(?s)^error converting YAML to JSON: yaml: line (\d+): (.*)$`)

// located returns the line and the cause of an error of the YAML parser; empty if it has no line.
func located(err error) (line, cause string) {
	if match := yamlError.FindStringSubmatch(err.Error()); match != nil {
		return match[1], match[2]
	}
	return "", ""
}
