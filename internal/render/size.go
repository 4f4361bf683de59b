// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import "reflect"

const (
	// nodeSize is the size of a value without its content. maxValueDepth limits the nesting of
	// values, which is infinite for a value that contains itself.
	nodeSize      = 16
	maxValueDepth = 2_000
)

// sizer adds up sizes until it reaches limit.
type sizer struct {
	sum, limit int64
	// deep is true if a value exceeds maxValueDepth.
	deep bool
}

// full reports whether adding can stop.
func (w *sizer) full(depth int) bool {
	w.deep = w.deep || depth > maxValueDepth
	return w.deep || w.sum >= w.limit
}

func (w *sizer) add(v any, depth int) {
	w.sum += nodeSize
	if w.full(depth) {
		return
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
	case string:
		w.sum += int64(len(v))
	case map[string]any:
		for key, inner := range v {
			w.sum += int64(len(key))
			if w.add(inner, depth+1); w.full(depth) {
				return
			}
		}
	case []any:
		for _, inner := range v {
			if w.add(inner, depth+1); w.full(depth) {
				return
			}
		}
	case []string:
		for _, s := range v {
			w.sum += nodeSize + int64(len(s))
		}
	case []byte:
		// Bytes are written as a list of numbers.
		w.sum += 4 * int64(len(v))
	default:
		w.other(reflect.ValueOf(v), depth)
	}
}

// other adds a value of a type that is rare in templates.
func (w *sizer) other(v reflect.Value, depth int) {
	if w.full(depth) {
		return
	}
	// Values of other kinds have no content.
	//exhaustive:ignore
	switch v.Kind() {
	case reflect.String:
		w.sum += int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.child(v.Elem(), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.child(v.Field(i), depth)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.sum += 4 * int64(v.Len())
			return
		}
		for i := 0; i < v.Len() && !w.full(depth); i++ {
			w.child(v.Index(i), depth)
		}
	case reflect.Map:
		for entries := v.MapRange(); !w.full(depth) && entries.Next(); {
			w.child(entries.Key(), depth)
			w.child(entries.Value(), depth)
		}
	}
}

func (w *sizer) child(v reflect.Value, depth int) {
	w.sum += nodeSize
	if v.IsValid() && v.CanInterface() && v.Kind() != reflect.Struct {
		w.add(v.Interface(), depth+1)
		return
	}
	w.other(v, depth+1)
}

// shallowSize returns the size of a value that shares its content with its arguments.
func shallowSize(v reflect.Value) int64 {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nodeSize
	}
	// Values of other kinds are small.
	//exhaustive:ignore
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice, reflect.Map:
		return nodeSize * int64(v.Len())
	}
	return nodeSize
}
