// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import "strings"

// Contains reports whether the content of a live object certainly has everything
// that desired has, so that the API server need not be asked. False means that it
// is not sure: a quantity in other words, or a field that somebody may have added
// to what the API server takes as a whole. Of metadata only labels and annotations
// count, and apiVersion, kind and status do not at all. What is null or empty in
// desired may be absent. Nil is an object without content. It does not allocate.
//
// There is no schema here, so what may be taken as a whole is known by rule of
// thumb, on the side of caution: lists whose items have keys are known by name, in
// the groups that every cluster has; maps are merged there, unless their name is
// that of a selector or a reference. Elsewhere all must be the same.
func Contains(live, desired map[string]any) bool {
	version, _ := desired["apiVersion"].(string)
	m := manner{exact: !builtIn(version)}
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
		// What is absent from desired, unlike null in it, asks for nothing.
		if value, ok := want[name]; ok && !(manner{}).has(have[name], value) {
			return false
		}
	}
	return true
}

// builtIn reports whether a version is of a group that API servers have themselves.
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

// keyed reports whether a list of that name is merged item by item.
func keyed(name string) bool {
	switch name {
	case "containers", "initContainers", "ports", "env", "volumeMounts", "volumeDevices", "volumes", "imagePullSecrets", "webhooks":
		return true
	}
	return false
}

// whole reports whether a map of that name belongs to one manager altogether:
// another label in a selector is another selector.
func whole(name string) bool {
	return strings.HasSuffix(name, "elector") || strings.HasSuffix(name, "Ref")
}

// manner is how strictly values are compared.
type manner struct {
	// exact is for what has to be the same: more in the live object is a difference.
	exact bool
	// items is for a list whose items are not exact.
	items bool
	// present is for what means something else if it is empty than if it is absent.
	present bool
}

// of returns the manner for a field of a map that is compared in this manner.
func (m manner) of(name string) manner {
	if m.exact {
		return m
	}
	return manner{exact: whole(name), items: keyed(name), present: whole(name) && name != "nodeSelector"}
}

// has compares two values. An absent live one is nil.
func (m manner) has(live, desired any) bool {
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

func (m manner) hasFields(live, desired map[string]any) bool {
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

func (m manner) hasItems(live, desired []any) bool {
	if len(live) != len(desired) {
		return false
	}
	item := manner{exact: !m.items, present: !m.items}
	for i := range desired {
		if !item.has(live[i], desired[i]) {
			return false
		}
	}
	return true
}

// same reports whether two JSON values are equal. Numbers are compared by value;
// what is null equals what is absent from a map.
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

// sameScalar compares what is neither a map nor a list; of another type than JSON
// has, nothing is known.
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

// sameNumber compares without rounding: a large integer becomes another one as a
// float. The bounds are those within which a float can be converted at all.
func sameNumber(i int64, f float64) bool {
	return f >= -(1<<63) && f < 1<<63 && float64(i) == f && int64(f) == i
}
