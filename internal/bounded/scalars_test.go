// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScalars: the values of a document are returned without keys, and nothing of other texts.
func TestScalars(t *testing.T) {
	t.Parallel()
	text := func(all ...string) (scalars []Scalar) {
		for _, s := range all {
			scalars = append(scalars, Scalar{Text: s})
		}
		return scalars
	}
	limits := Limits{Bytes: 200, Nodes: 20, Depth: 3}
	for name, tc := range map[string]struct {
		raw  string
		want []Scalar
		none bool
	}{
		"Map":          {raw: "a: b\nc: [d, {e: f}]\n", want: text("b", "d", "f")},
		"MapKey":       {raw: "{a: b}: c", want: text("b", "c")},
		"Repeated":     {raw: "a: b\na: c\n", want: text("b", "c")},
		"Numbers":      {raw: "- 1\n- 2.5\n- '3'\n- true\n- ~\n", want: []Scalar{{"1", true}, {"2.5", true}, {"3", false}}},
		"Alias":        {raw: "a: &x b\nc: *x\n", want: text("b")},
		"Comments":     {raw: "# one\na: b # two\n", want: text("one", "two", "b")},
		"JSON":         {raw: `{"a":["b\u0063",{"d":"e","d":"f"},null,true,12345678901234567890],"g":"` + "\x7f" + `","h":{}}`, want: []Scalar{{"bc", false}, {"e", false}, {"f", false}, {"12345678901234567890", true}, {"\x7f", false}}},
		"SecondOnly":   {raw: "--- a\n---\nb: c\n", want: text("a", "c")},
		"Word":         {raw: "word", none: true},
		"Prose":        {raw: "it is 5:30 now", none: true},
		"Invalid":      {raw: "a: [b", none: true},
		"LaterInvalid": {raw: "a: b\n---\n[", none: true},
		"Long":         {raw: "a: " + strings.Repeat("b", 200), none: true},
		"ManyItems":    {raw: strings.Repeat("- a\n", 20), none: true},
		"ManyInFlow":   {raw: "[" + strings.Repeat("a,", 20) + "]", none: true},
		"Deep":         {raw: "[[[[a]]]]", none: true},
		"DeepJSON":     {raw: `{"a":[[[1]]]}`, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := limits.Scalars(tc.raw)
			if ok == tc.none {
				t.Fatalf("ok is %v", ok)
			}
			if diff := cmp.Diff(tc.want, got); ok && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
