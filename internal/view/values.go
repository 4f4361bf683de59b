// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// Masked replaces values of Secrets.
const Masked = "***"

// Values are the values of a HelmRelease without the defaults of its chart. Values that come from
// Secrets are masked.
type Values struct {
	Values map[string]any `json:"values"`
	// Keys are all keys, sorted, with the layer that sets each.
	Keys   []ValueKey `json:"keys"`
	Unread []string   `json:"unread,omitempty"`
}

// ValueKey is a key of the values. A list is one value.
type ValueKey struct {
	Key string `json:"key"`
	// Layer is "inline" for spec.values, or "<kind>/<name>" for an object of spec.valuesFrom.
	Layer string `json:"layer"`
	// File is the key of the object, or the path of the file; empty for spec.values. Line is the line in
	// it, counted from 1; 0 if it is not known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Overrides is the layer below that sets the key, too, with its file and line; empty if there is none.
	Overrides string `json:"overrides,omitempty"`
	// Value is the value as compact JSON.
	Value string `json:"value"`
}

// From returns the layer with its file and line.
func (k ValueKey) From() string {
	return plan.Origin{Layer: k.Layer, File: k.File, Line: k.Line}.String()
}

// ValuesOf returns the view of values. layers are in the order in which they are merged, and secrets
// are texts of Secrets.
func ValuesOf(values map[string]any, layers []plan.Layer, secrets []string, unread []string) Values {
	m := masking{layers: layers, redactor: redaction.New(secrets)}
	masked, _ := m.mask(values, nil).(map[string]any)
	return Values{Values: masked, Keys: m.keys, Unread: unread}
}

// masking collects the keys of values while it masks them.
type masking struct {
	layers   []plan.Layer
	redactor redaction.Redactor
	keys     []ValueKey
}

func (m *masking) mask(value any, path []string) any {
	inner, isMap := value.(map[string]any)
	if isMap && (len(inner) > 0 || len(path) == 0) {
		masked := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			masked[key] = m.mask(inner[key], append(slices.Clone(path), key))
		}
		return masked
	}
	from := plan.OriginOf(path, m.layers)
	if strings.HasPrefix(from.Layer, "Secret/") {
		value = Masked
	} else {
		value = m.redact(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte(fmt.Sprint(value))
	}
	m.keys = append(m.keys, ValueKey{
		Key: plan.KeyOf(path), Layer: from.Layer, File: from.File, Line: from.Line, Overrides: from.Overrides, Value: string(text),
	})
	return value
}

// redact removes texts of Secrets from a value.
func (m *masking) redact(value any) any {
	switch v := value.(type) {
	case string:
		return m.redactor.Text(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = m.redact(v[i])
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key := range v {
			all[key] = m.redact(v[key])
		}
		return all
	}
	return value
}
