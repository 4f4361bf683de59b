// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import helmrelease "helm.sh/helm/v3/pkg/release"

// Preserve returns values merged over those of a revision. It shares nothing with either.
func Preserve(base *helmrelease.Release, values map[string]any) map[string]any {
	all := Clone(values)
	coalesce(all, Clone(base.Config))
	return all
}

// coalesce adds preserved values to values, as Helm does. Helm prints a warning for values that it
// cannot merge; coalesce does not. Null removes a preserved value. Without one, null stays, and
// removes the default of the chart.
func coalesce(values, preserved map[string]any) {
	for key, value := range preserved {
		above, ok := values[key]
		if !ok {
			values[key] = value
			continue
		}
		if above == nil && value != nil {
			delete(values, key)
			continue
		}
		upper, isMap := above.(map[string]any)
		lower, wasMap := value.(map[string]any)
		if isMap && wasMap {
			coalesce(upper, lower)
		}
	}
}

// PreserveAgain returns the values and the defaults of a stored upgrade that preserved values. Its
// chart has the merged values as its defaults.
func PreserveAgain(stored *helmrelease.Release, values map[string]any) (all, defaults map[string]any) {
	if stored.Chart != nil {
		defaults = Clone(stored.Chart.Values)
	}
	return preservedAgain(stored.Config, values), defaults
}

// preservedAgain returns the values of a stored upgrade that preserved those of a revision which
// may be deleted. They are the stored values. Numbers have the types that they have in values,
// since these decide how templates print them.
func preservedAgain(stored, values map[string]any) map[string]any {
	all := make(map[string]any, len(stored))
	for key, was := range stored {
		is, ok := values[key]
		inner, isMap := is.(map[string]any)
		outer, wasMap := was.(map[string]any)
		switch {
		case isMap && wasMap:
			all[key] = preservedAgain(outer, inner)
		case ok:
			all[key] = cloneValue(is)
		default:
			all[key] = cloneValue(was)
		}
	}
	return all
}

// Clone returns a deep copy, which is never nil.
func Clone(values map[string]any) map[string]any {
	all := make(map[string]any, len(values))
	for key, value := range values {
		all[key] = cloneValue(value)
	}
	return all
}

func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return Clone(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = cloneValue(v[i])
		}
		return all
	}
	return value
}
