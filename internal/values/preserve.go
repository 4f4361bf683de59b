// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

// Preserve returns values merged over the values of a revision. It shares nothing with either.
func Preserve(stored, values map[string]any) map[string]any {
	all := CloneMap(values)
	coalesce(all, CloneMap(stored))
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

// PreserveAgain returns the values of a stored upgrade that preserved the values of a revision,
// which may be deleted by now. They are the stored values. Numbers have the types that they have in
// values, since these decide how templates print them.
func PreserveAgain(stored, values map[string]any) map[string]any {
	all := make(map[string]any, len(stored))
	for key, was := range stored {
		is, ok := values[key]
		inner, isMap := is.(map[string]any)
		outer, wasMap := was.(map[string]any)
		switch {
		case isMap && wasMap:
			all[key] = PreserveAgain(outer, inner)
		case ok:
			all[key] = Clone(is)
		default:
			all[key] = Clone(was)
		}
	}
	return all
}
