// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMap(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		raw    string
		want   map[string]any
		err    string
	}{
		"Nothing":   {reason: "nothing is an empty map", raw: " \n", want: map[string]any{}},
		"Null":      {reason: "null is one too", raw: "null", want: map[string]any{}},
		"Comment":   {reason: "a comment says nothing", raw: "# x", want: map[string]any{}},
		"YAML":      {reason: "YAML is what people write", raw: "a: [1, ~]", want: map[string]any{"a": []any{1.0, nil}}},
		"JSON":      {reason: "JSON is YAML", raw: "{\n\t\"a\": 1\n}", want: map[string]any{"a": 1.0}},
		"List":      {reason: "a list is no map", raw: "[a]", err: "the content is not a map"},
		"JSONList":  {reason: "nor is one of JSON", raw: `["a"]`, err: "the content is not a map"},
		"Word":      {reason: "nor is a word", raw: "a", err: "the content is not a map"},
		"False":     {reason: "nor is false", raw: "false", err: "the content is not a map"},
		"Broken":    {reason: "the line is named", raw: "a: 1\nb: c: d", err: "the content cannot be read as YAML: line 2"},
		"Alias":     {reason: "and nothing is quoted", raw: "a: *word", err: "the content cannot be read as YAML"},
		"FakeLine":  {reason: "not even what looks like a line", raw: `a: *line7`, err: "the content cannot be read as YAML"},
		"NotInJSON": {reason: "what JSON cannot say is an error", raw: "a: .inf", err: "the content cannot be read as YAML"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseMap([]byte(tc.raw))
			var text string
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || text != tc.err {
				t.Errorf("%s: error %q, want %q (-want +got):\n%s", tc.reason, text, tc.err, diff)
			}
		})
	}
}

func TestMergeIntoSharesNothing(t *testing.T) {
	t.Parallel()
	const raw = `{"m":{"n":{"a":1}},"l":[{"a":1},[2]]}`
	over, err := ParseValues([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"m": map[string]any{"b": 1.0}}
	MergeInto(values, over)
	for path, content := range map[string]string{"m.n.a": "9", "l[0].a": "9", "l[1][0]": "9", "m.n.new": "9"} {
		if err := SetPath(values, path, content); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := ParseValues([]byte(raw))
	if diff := cmp.Diff(want, over); diff != "" {
		t.Errorf("what was merged was changed afterwards (-want +got):\n%s", diff)
	}
}

// TestDigestOfStoredIntegers: Helm's storage forgets the low digits of large
// integers, which must not look like a change for ever.
func TestDigestOfStoredIntegers(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"7", "9007199254740993", "9223372036854775807", "-9223372036854775807", "{1,9007199254740993}"} {
		values := map[string]any{}
		if err := SetPath(values, "a.b", content); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string]any{}
		if err := json.Unmarshal(raw, &stored); err != nil {
			t.Fatal(err)
		}
		want, err := ConfigDigest(stored)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ConfigDigest(values); err != nil || got != want {
			t.Errorf("%s: digest %s before it is stored, %s after, %v", content, got, want, err)
		}
	}
}
