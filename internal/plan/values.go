// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
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
	// Name is LayerInline, LayerChart, or "<kind>/<name>" for an object of valuesFrom.
	Name string
	// File is the key of the object, or the path of the file in a source; empty for other layers.
	File   string
	Values map[string]any
	// Lines returns the line of the last key of a path in File, counted from 1; 0 if it is not known. It is
	// nil if no line is known.
	Lines func(path []string) int
}

// Origin is where a value comes from.
type Origin struct {
	// Layer and File are those of a Layer, and Line is the line in File; 0 if it is not known.
	Layer, File string
	Line        int
	// Overrides is the layer below, which sets the key to a value without effect, with its file and line;
	// empty if there is none.
	Overrides string
}

// String returns the layer with its file and line, such as "ConfigMap/web values.yaml:3".
func (o Origin) String() string {
	text := o.Layer
	if o.File != "" {
		text += " " + o.File
		if o.Line > 0 {
			text += ":" + strconv.Itoa(o.Line)
		}
	}
	return text
}

// SourceOf returns where the value of a key comes from, and what it overrides, such as "inline, over
// ConfigMap/web values.yaml:3".
func SourceOf(v v1alpha1.PlanValue) string {
	text := Origin{Layer: v.Layer, File: v.File, Line: int(v.Line)}.String()
	if v.Overrides != "" {
		text += ", over " + v.Overrides
	}
	return text
}

// Values returns the keys whose values differ between was and is, sorted, each with the layer that
// sets it: the last one of layers, or LayerChart if it is in none. It returns no values.
func Values(was, is map[string]any, layers []Layer) []v1alpha1.PlanValue {
	var all []v1alpha1.PlanValue
	differences(was, is, nil, func(path []string, removed bool) {
		from := Origin{Layer: LayerRemoved}
		if !removed {
			from = OriginOf(path, layers)
		}
		all = append(all, v1alpha1.PlanValue{Key: KeyOf(path), Layer: from.Layer, File: from.File, Line: int64(from.Line), Overrides: from.Overrides})
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

// OriginOf returns where the value at a path comes from: the last layer that sets it.
func OriginOf(path []string, layers []Layer) Origin {
	i := lastOf(path, layers)
	if i < 0 {
		return Origin{Layer: LayerChart}
	}
	from := layers[i].origin(path)
	if below := lastOf(path, layers[:i]); below >= 0 {
		from.Overrides = layers[below].origin(path).String()
	}
	return from
}

// lastOf returns the index of the last layer that sets the value at a path; -1 if none does.
func lastOf(path []string, layers []Layer) int {
	for i, l := range slices.Backward(layers) {
		if sets(l.Values, path) {
			return i
		}
	}
	return -1
}

func (l *Layer) origin(path []string) Origin {
	from := Origin{Layer: l.Name, File: l.File}
	if l.Lines != nil {
		from.Line = l.Lines(path)
	}
	return from
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
