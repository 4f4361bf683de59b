// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"maps"
	"slices"
)

// Undefined returns the paths of the values that defaults do not have, sorted. Lists and empty maps are
// values, and null is none: it only drops a default.
func Undefined(given, defaults map[string]any) [][]string {
	var all [][]string
	var walk func(value, known any, path []string)
	walk = func(value, known any, path []string) {
		inner, isMap := value.(map[string]any)
		if !isMap || len(inner) == 0 {
			if value != nil && known == nil {
				all = append(all, path)
			}
			return
		}
		has, _ := known.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			below, is := has[key]
			if is && below == nil {
				// A default of null is one: its type is not known.
				continue
			}
			walk(inner[key], below, append(slices.Clone(path), key))
		}
	}
	walk(given, defaults, nil)
	return all
}

// sentinel is what values are changed by. Nothing else has it.
const sentinel = "pintle-changes-this"

// Altered returns a copy of values that differs at some paths, which must exist.
func Altered(given map[string]any, paths [][]string) map[string]any {
	all := CloneMap(given)
	for _, path := range paths {
		parent := all
		for _, key := range path[:len(path)-1] {
			parent, _ = parent[key].(map[string]any)
		}
		last := path[len(path)-1]
		parent[last] = altered(parent[last])
	}
	return all
}

func altered(value any) any {
	switch v := value.(type) {
	case string:
		return v + sentinel
	case bool:
		return !v
	case float64:
		return v + 1
	case int64:
		return v + 1
	case int:
		return v + 1
	case []any:
		if len(v) > 0 {
			return append(slices.Clone(v), altered(v[0]))
		}
		return []any{sentinel}
	case map[string]any:
		all := maps.Clone(v)
		all[sentinel] = sentinel
		return all
	}
	return sentinel
}

// FindUnread returns those of some paths that have no effect, and how many were not looked at because
// matters was called most times. matters reports whether the result changes if the values at some paths do.
func FindUnread(paths [][]string, most int, matters func(paths [][]string) bool) (unread [][]string, left int) {
	groups := [][][]string{paths}
	for ; len(groups) > 0 && most > 0; most-- {
		group := groups[0]
		groups = groups[1:]
		switch half := len(group) / 2; {
		case len(group) == 0:
			most++
		case !matters(group):
			unread = append(unread, group...)
		case half > 0:
			groups = append(groups, group[:half], group[half:])
		}
	}
	for _, group := range groups {
		left += len(group)
	}
	slices.SortFunc(unread, slices.Compare[[]string])
	return unread, left
}

// Similar returns the key of a map that a misspelt one may mean; empty if none is like it.
func Similar(key string, of map[string]any) string {
	if len(key) < 3 {
		return ""
	}
	best, closest := "", 3
	for _, other := range slices.Sorted(maps.Keys(of)) {
		if d := distance(key, other); d < closest {
			best, closest = other, d
		}
	}
	return best
}

// distance returns how many bytes of a must be inserted, deleted or replaced to get b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
