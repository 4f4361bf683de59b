// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Contains reports whether a live object certainly has every field of desired with the same value,
// so that a dry run is not needed. False means uncertain: a quantity may be written differently, or
// an atomic field may have additions. Of metadata only labels and annotations are compared;
// apiVersion, kind and status are skipped. A null or empty value of desired may be absent in live.
// Nil is an object without content. Contains does not allocate.
//
// There is no schema, so atomic fields are recognized by conservative rules:
//
//   - In built-in API groups, lists with keys are recognized by name.
//   - In built-in API groups, maps are merged unless they have the name of a selector or a reference.
//   - In other API groups all values must be equal.
func Contains(live, desired map[string]any) bool {
	version, _ := desired["apiVersion"].(string)
	m := strictness{exact: !builtIn(version)}
	for name, want := range desired {
		switch name {
		case "apiVersion", "kind", "status":
			continue
		case "metadata":
			if !containsMetadata(live[name], want) {
				return false
			}
			continue
		}
		if !m.of(name).has(live[name], want) {
			return false
		}
	}
	return true
}

func containsMetadata(live, desired any) bool {
	want, ok := desired.(map[string]any)
	if !ok {
		return desired == nil
	}
	have, _ := live.(map[string]any)
	for _, name := range [...]string{"labels", "annotations"} {
		// A label map that is absent from desired is skipped; one that is null is compared.
		if value, ok := want[name]; ok && !(strictness{}).has(have[name], value) {
			return false
		}
	}
	return true
}

// builtIn reports whether an apiVersion belongs to a group that API servers serve themselves.
func builtIn(apiVersion string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	switch group {
	case "", "apps", "autoscaling", "batch", "policy", "admissionregistration.k8s.io", "apiextensions.k8s.io",
		"apiregistration.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io":
		return true
	}
	return false
}

// isKeyedList reports whether the list with the given name is merged item by item.
func isKeyedList(name string) bool {
	switch name {
	case "containers", "initContainers", "ports", "env", "volumeMounts", "volumeDevices", "volumes", "imagePullSecrets", "webhooks":
		return true
	}
	return false
}

// isAtomicMap reports whether the map with the given name belongs to one manager as a whole. A
// selector with another label is another selector.
func isAtomicMap(name string) bool {
	return strings.HasSuffix(name, "elector") || strings.HasSuffix(name, "Ref")
}

// strictness defines how strictly two values are compared.
type strictness struct {
	// exact makes additional fields of the live object a difference.
	exact bool
	// items allows additional fields in the items of a list.
	items bool
	// present makes an empty value differ from an absent one.
	present bool
}

// of returns the strictness for a field of a map that is compared with strictness m.
func (m strictness) of(name string) strictness {
	if m.exact {
		return m
	}
	return strictness{exact: isAtomicMap(name), items: isKeyedList(name), present: isAtomicMap(name) && name != "nodeSelector"}
}

// has reports whether live has the desired value. An absent live value is nil.
func (m strictness) has(live, desired any) bool {
	switch want := desired.(type) {
	case nil:
		return live == nil
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok {
			return live == nil && len(want) == 0 && !m.present
		}
		return m.hasFields(have, want)
	case []any:
		have, ok := live.([]any)
		if !ok {
			return live == nil && len(want) == 0
		}
		return m.hasItems(have, want)
	}
	return sameScalar(live, desired)
}

func (m strictness) hasFields(live, desired map[string]any) bool {
	for name, want := range desired {
		if !m.of(name).has(live[name], want) {
			return false
		}
	}
	if !m.exact {
		return true
	}
	for name, have := range live {
		if _, ok := desired[name]; !ok && have != nil {
			return false
		}
	}
	return true
}

func (m strictness) hasItems(live, desired []any) bool {
	if len(live) != len(desired) {
		return false
	}
	item := strictness{exact: !m.items, present: !m.items}
	for i := range desired {
		if !item.has(live[i], desired[i]) {
			return false
		}
	}
	return true
}

// same reports whether two JSON values are equal. Numbers are compared by value. A null field of a
// map equals an absent one.
func same(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameFields(a, b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return sameScalar(a, b)
}

func sameFields(a, b map[string]any) bool {
	for name, value := range a {
		if !same(value, b[name]) {
			return false
		}
	}
	for name, value := range b {
		if _, ok := a[name]; !ok && value != nil {
			return false
		}
	}
	return true
}

// sameScalar compares values that are neither maps nor lists. Values of types that JSON decoding
// does not produce are never equal.
func sameScalar(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return sameNumber(a, b)
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return sameNumber(b, a)
		case float64:
			return a == b
		}
	}
	return false
}

// sameNumber compares without rounding: converting a large integer to a float may change it. The
// bounds are those within which a float can be converted to an int64.
func sameNumber(i int64, f float64) bool {
	return f >= -(1<<63) && f < 1<<63 && float64(i) == f && int64(f) == i
}

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
