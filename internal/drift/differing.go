// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Differing returns the paths of the fields of desired that a live object does not certainly have
// with the same value, in their order. It is empty if Contains returns true, and else not. Values
// are not returned.
func Differing(live, desired map[string]any) []string {
	version, _ := desired["apiVersion"].(string)
	d := &differing{}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		switch name {
		case "apiVersion", "kind", "status":
		case "metadata":
			d.metadata(live[name], desired[name])
		default:
			d.field(strictness{exact: !builtIn(version)}.of(name), fieldpath.MakePathOrDie(name), live[name], desired[name])
		}
	}
	return d.paths
}

// differing collects the paths of fields.
type differing struct{ paths []string }

func (d *differing) metadata(live, desired any) {
	want, ok := desired.(map[string]any)
	if !ok {
		if desired != nil {
			d.paths = append(d.paths, ".metadata")
		}
		return
	}
	have, _ := live.(map[string]any)
	for _, name := range [...]string{"annotations", "labels"} {
		if value, ok := want[name]; ok {
			d.field(strictness{}, fieldpath.MakePathOrDie("metadata", name), have[name], value)
		}
	}
}

// field adds the path of a field that differs. Of a map, and of a list whose items have the same
// number, it adds the paths of what differs inside.
func (d *differing) field(m strictness, path fieldpath.Path, live, desired any) {
	if m.has(live, desired) {
		return
	}
	before := len(d.paths)
	switch want := desired.(type) {
	case map[string]any:
		if have, ok := live.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(want)) {
				d.field(m.of(name), with(path, fieldpath.PathElement{FieldName: &name}), have[name], want[name])
			}
		}
	case []any:
		if have, ok := live.([]any); ok && len(have) == len(want) {
			for i := range want {
				d.field(strictness{exact: !m.items, present: !m.items}, with(path, itemElement(want[i], i)), have[i], want[i])
			}
		}
	}
	if len(d.paths) == before {
		d.paths = append(d.paths, formatPath(path))
	}
}

// itemElement returns the path element of an item of a list: its name if it has one, else its index.
func itemElement(item any, i int) fieldpath.PathElement {
	if object, ok := item.(map[string]any); ok && object["name"] != nil {
		return elementOf(item, []string{"name"})
	}
	return fieldpath.PathElement{Index: &i}
}
