// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// The layers of values that are no objects.
const (
	LayerInline  = "inline"
	LayerChart   = "chart"
	LayerRemoved = "removed"
)

// Layer is the part of the values that comes from one place.
type Layer struct {
	// Name is LayerInline, or "<kind>/<name>" for an object of valuesFrom.
	Name   string
	Values map[string]any
}

// Values returns the keys whose values differ between was and is, sorted, each with the layer that
// sets it: the last one of layers, or LayerChart if it is in none. It returns no values.
func Values(was, is map[string]any, layers []Layer) []v1alpha1.PlanValue {
	var all []v1alpha1.PlanValue
	differences(was, is, nil, func(path []string, removed bool) {
		layer := LayerRemoved
		if !removed {
			layer = LayerOf(path, layers)
		}
		all = append(all, v1alpha1.PlanValue{Key: KeyOf(path), Layer: layer})
	})
	return all
}

// differences calls found for each path at which two values differ. Removed is true for those that is
// does not have.
func differences(was, is any, path []string, found func(path []string, removed bool)) {
	before, wasMap := was.(map[string]any)
	after, isMap := is.(map[string]any)
	if was == nil && len(after) > 0 {
		wasMap = true
	}
	if is == nil && len(before) > 0 {
		isMap = true
	}
	if !wasMap || !isMap {
		if !same(was, is) {
			found(path, is == nil)
		}
		return
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		differences(before[key], after[key], append(slices.Clone(path), key), found)
	}
}

// same reports whether two values have the same JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// LayerOf returns the name of the last layer that sets the value at a path.
func LayerOf(path []string, layers []Layer) string {
	for _, l := range slices.Backward(layers) {
		if sets(l.Values, path) {
			return l.Name
		}
	}
	return LayerChart
}

// sets reports whether values have a value at a path, or one that is no map on the way to it.
func sets(values any, path []string) bool {
	for _, key := range path {
		inner, ok := values.(map[string]any)
		if !ok {
			return true
		}
		if values, ok = inner[key]; !ok {
			return false
		}
	}
	return true
}

// Former returns the texts that was has at the paths which layers of Secrets set. They may be former
// values of these Secrets.
func Former(was map[string]any, layers []Layer) []string {
	var all []string
	for _, l := range layers {
		if strings.HasPrefix(l.Name, "Secret/") {
			all = append(all, textsAt(l.Values, was)...)
		}
	}
	return all
}

// textsAt returns the texts in a value below the paths that another one sets.
func textsAt(set, value any) []string {
	keys, isMap := set.(map[string]any)
	below, hasKeys := value.(map[string]any)
	if !isMap || !hasKeys {
		return texts(value)
	}
	var all []string
	for key, inner := range keys {
		all = append(all, textsAt(inner, below[key])...)
	}
	return all
}

// texts returns the texts in a value.
func texts(value any) []string {
	var all []string
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			all = append(all, texts(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, texts(inner)...)
		}
	case string:
		all = append(all, v)
	}
	return all
}

// KeyOf returns a path in Helm's notation.
func KeyOf(path []string) string {
	escaped := make([]string, len(path))
	for i, key := range path {
		escaped[i] = strings.ReplaceAll(strings.ReplaceAll(key, `\`, `\\`), ".", `\.`)
	}
	return strings.Join(escaped, ".")
}
