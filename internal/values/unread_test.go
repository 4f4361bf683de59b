// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUndefined: values that the defaults have are defined, also if the default is null.
func TestUndefined(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"known": 1, "none": nil, "null": map[string]any{"a": 1}, "text": map[string]any{"below": 1}, "empty": map[string]any{},
		"free": map[string]any{"a": map[string]any{"b": []any{}}, "c": false}, "deep": map[string]any{"known": "x", "unknown": "x"},
	}
	defaults := map[string]any{
		"known": 2, "null": nil, "text": "x", "free": map[string]any{}, "deep": map[string]any{"known": "y"},
	}
	var got []string
	for _, path := range Undefined(given, defaults) {
		got = append(got, strings.Join(path, "."))
	}
	if diff := cmp.Diff([]string{"deep.unknown", "empty", "free.a.b", "free.c", "text.below"}, got); diff != "" {
		t.Errorf("undefined (-want +got):\n%s", diff)
	}
	if Undefined(nil, defaults) != nil {
		t.Error("no values have undefined ones")
	}
}

// TestAltered: each kind of value differs, at the paths and nowhere else.
func TestAltered(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"text": "a", "number": 1.0, "flag": true, "list": []any{"a"}, "none": []any{}, "map": map[string]any{}, "int": int64(2),
		"in": map[string]any{"a": "b", "kept": "k"}, "kept": "k",
	}
	before := CloneMap(given)
	got := Altered(given, [][]string{{"text"}, {"number"}, {"flag"}, {"list"}, {"none"}, {"map"}, {"int"}, {"in", "a"}})
	if !cmp.Equal(before, given) {
		t.Error("the values are changed in place")
	}
	for key, value := range got {
		if cmp.Equal(value, given[key]) != (key == "kept") {
			t.Errorf("%s is %v", key, value)
		}
	}
	if in, _ := got["in"].(map[string]any); in["kept"] != "k" || in["a"] == "b" {
		t.Errorf("in is %v", in)
	}
}

// TestFindUnread: those without effect are found in few steps, and within a limit the rest is counted.
func TestFindUnread(t *testing.T) {
	t.Parallel()
	var paths [][]string
	for i := range 64 {
		paths = append(paths, []string{string(rune('!' + i))})
	}
	read := []string{paths[3][0], paths[60][0]}
	for name, tc := range map[string]struct {
		most, unread, left, calls int
	}{
		"All": {100, 62, 0, 25}, "Few": {5, 16, 48, 5}, "None": {0, 0, 64, 0},
	} {
		calls := 0
		unread, left := FindUnread(paths, tc.most, func(some [][]string) bool {
			calls++
			return slices.ContainsFunc(some, func(p []string) bool { return slices.Contains(read, p[0]) })
		})
		if len(unread) != tc.unread || left != tc.left || calls > tc.calls {
			t.Errorf("%s: %d calls, %d unread, %d left", name, calls, len(unread), left)
		}
		for _, p := range unread {
			if slices.Contains(read, p[0]) {
				t.Errorf("%s: %s is read", name, p)
			}
		}
	}
	if unread, left := FindUnread(nil, 5, nil); unread != nil || left != 0 {
		t.Errorf("of none: %v, %d", unread, left)
	}
}

// TestSimilar: a misspelt key has a suggestion, and a different one has none.
func TestSimilar(t *testing.T) {
	t.Parallel()
	of := map[string]any{"replicaCount": 1, "image": 1, "a": 1, "imagePullPolicy": 1}
	for key, want := range map[string]string{
		"replicaCout": "replicaCount", "replicacount": "replicaCount", "iamge": "image", "imge": "image", "b": "", "service": "", "imagePulPolicy": "imagePullPolicy",
	} {
		if got := Similar(key, of); got != want {
			t.Errorf("%s is like %q, not %q", key, got, want)
		}
	}
}
