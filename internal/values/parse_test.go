// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse: values are read from JSON and YAML, and anything but a map is an empty map.
func TestParse(t *testing.T) {
	t.Parallel()
	type want struct {
		values map[string]any
		failed bool
	}
	cases := map[string]struct {
		reason string
		raw    string
		want   want
	}{
		"Nothing":    {reason: "no values are an empty map", raw: "", want: want{values: map[string]any{}}},
		"Space":      {reason: "whitespace is empty input", raw: " \n\t ", want: want{values: map[string]any{}}},
		"Null":       {reason: "null is an empty map", raw: "null", want: want{values: map[string]any{}}},
		"EmptyMap":   {reason: "an empty map stays one", raw: "{}", want: want{values: map[string]any{}}},
		"List":       {reason: "anything but a map is an empty map", raw: `["a"]`, want: want{values: map[string]any{}}},
		"String":     {reason: "anything but a map is an empty map", raw: `"a"`, want: want{values: map[string]any{}}},
		"Number":     {reason: "anything but a map is an empty map", raw: `7`, want: want{values: map[string]any{}}},
		"Comment":    {reason: "a comment is empty input", raw: "# none\n", want: want{values: map[string]any{}}},
		"JSON":       {reason: "a spec holds JSON", raw: `{"a":{"b":1},"l":["x",true,null]}`, want: want{values: map[string]any{"a": map[string]any{"b": 1.0}, "l": []any{"x", true, nil}}}},
		"YAML":       {reason: "users write YAML", raw: "a:\n  b: 1\nl: [x, true, ~]\n", want: want{values: map[string]any{"a": map[string]any{"b": 1.0}, "l": []any{"x", true, nil}}}},
		"YAMLKeys":   {reason: "keys become strings", raw: "1: a\ntrue: b\n", want: want{values: map[string]any{"1": "a", "true": "b"}}},
		"Indented":   {reason: "JSON may be indented with tabs, unlike YAML", raw: "{\n\t\"a\": 1\n}", want: want{values: map[string]any{"a": 1.0}}},
		"MergeKey":   {reason: "JSON has no merge keys", raw: `{"<<":{"a":1},"b":2}`, want: want{values: map[string]any{"<<": map[string]any{"a": 1.0}, "b": 2.0}}},
		"Control":    {reason: "JSON strings may contain characters that YAML rejects", raw: "{\"a\":\"x\u007fy\u0085z\"}", want: want{values: map[string]any{"a": "x\u007fy\u0085z"}}},
		"Broken":     {reason: "invalid input is an error", raw: "{", want: want{failed: true}},
		"BadIndent":  {reason: "invalid input is an error", raw: "a: b\n c: d\n", want: want{failed: true}},
		"NotANumber": {reason: "a value that JSON cannot represent is an error", raw: "a: .inf\n", want: want{failed: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, err := Parse([]byte(tc.raw))
			got := want{values: values, failed: err != nil}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s: Parse(%q) (-want +got), error %v:\n%s", tc.reason, tc.raw, err, diff)
			}
		})
	}
}

// TestParseMap: anything but a map is an error, which does not quote the input.
func TestParseMap(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		raw    string
		want   map[string]any
		err    string
	}{
		"Nothing":   {reason: "empty input is an empty map", raw: " \n", want: map[string]any{}},
		"Null":      {reason: "null is an empty map", raw: "null", want: map[string]any{}},
		"Comment":   {reason: "a comment is empty input", raw: "# x", want: map[string]any{}},
		"YAML":      {reason: "users write YAML", raw: "a: [1, ~]", want: map[string]any{"a": []any{1.0, nil}}},
		"JSON":      {reason: "JSON is YAML", raw: "{\n\t\"a\": 1\n}", want: map[string]any{"a": 1.0}},
		"List":      {reason: "a list is an error", raw: "[a]", err: "the content is not a map"},
		"JSONList":  {reason: "a list in JSON is an error", raw: `["a"]`, err: "the content is not a map"},
		"Word":      {reason: "a string is an error", raw: "a", err: "the content is not a map"},
		"False":     {reason: "a boolean is an error", raw: "false", err: "the content is not a map"},
		"Broken":    {reason: "the error contains the line", raw: "a: 1\nb: c: d", err: "the content cannot be read as YAML: line 2"},
		"Alias":     {reason: "the error does not quote the input", raw: "a: *word", err: "the content cannot be read as YAML"},
		"FakeLine":  {reason: "text in the form of a line number is not quoted", raw: `a: *line7`, err: "the content cannot be read as YAML"},
		"NotInJSON": {reason: "a value that JSON cannot represent is an error", raw: "a: .inf", err: "the content cannot be read as YAML"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := new(Budget).ParseMap([]byte(tc.raw))
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

// TestParseLimits: content that exceeds a limit is an error of one line, which does not quote it.
func TestParseLimits(t *testing.T) {
	t.Parallel()
	const word = "s3cr3t"
	aliases := func(n int) string {
		return "a: &x " + word + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*x,", n) + "]\n"
	}
	nested := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	cases := map[string]struct{ reason, raw, want string }{
		"Aliases":        {"an alias may repeat a text", aliases(80), ""},
		"TooManyAliases": {"up to a limit", aliases(90), "the content has more than 8388608 bytes after the expansion of its aliases"},
		"Depth":          {"values may be nested", nested(99), ""},
		"TooDeep":        {"up to a limit", nested(100), "the content is nested deeper than 100 levels"},
		"TooDeepYAML":    {"in YAML too", "a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + " # " + word, "the content is nested deeper than 100 levels"},
		"Nodes":          {"values may be many", `{"a":[` + strings.Repeat("1,", 499_996) + "1]}", ""},
		"TooManyNodes":   {"up to a limit", `{"a":[` + strings.Repeat("1,", 499_997) + "1]}", "the content has more than 500000 keys and values"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := new(Budget).ParseMap([]byte(tc.raw))
			var got string
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s: %q", tc.reason, got)
			}
			if _, err := Parse([]byte(tc.raw)); (err != nil) != (tc.want != "") {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestBudget: all values of a release have one limit.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ reason, raw, want string }{
		{"bytes add up", `{"a":"` + strings.Repeat("x", 8<<20-1) + `"}`, "all values of the release together have more than 16777216 bytes"},
		{"nodes add up", `{"a":[` + strings.Repeat("1,", 499_996) + "1]}", "all values of the release together have more than 1000000 keys and values"},
	} {
		var b Budget
		for i := range 3 {
			_, err := b.ParseMap([]byte(tc.raw))
			if (err != nil) != (i == 2) || err != nil && err.Error() != tc.want {
				t.Errorf("%s: content %d: %v", tc.reason, i, err)
			}
		}
	}
}

// TestParseCopies: each call returns a new map.
func TestParseCopies(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"a":{"b":1}}`)
	one, _ := Parse(raw)
	one["a"].(map[string]any)["b"] = "changed"
	other, _ := Parse(raw)
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"b": 1.0}}, other); diff != "" {
		t.Errorf("values are shared (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"a":{"b":1},"list":["x",true]}`, "a: &x [1, 2]\nb: *x\n", "a: 1e400\n", "<<: {a: 1}\n",
		`{"<<":{"a":1}}`, "a: !!binary aGVsbG8=\n", "? [a]\n: b\n", "a: .nan\n", "- a\n", "\x00", "a: \"\\u0085\"\n",
		strings.Repeat("[", 64), "a: 0777\nb: 1_000\nc: 12:30:45\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkStable(t, raw)
		if values, err := Parse(raw); err == nil {
			checkDefinition(t, values)
		}
	})
}
