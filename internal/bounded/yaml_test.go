// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// bomb returns YAML whose levels repeat the level before ten times.
func bomb(levels int) string {
	text := "a0: &a0 [x]\n"
	for i := 1; i <= levels; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return text
}

// small returns limits that a test can exceed.
func small() Limits { return Limits{Bytes: 1_000, Nodes: 100, Depth: 5} }

// TestCheck: a text is rejected before it is decoded if the expansion of its aliases exceeds a
// limit.
func TestCheck(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, raw, want string }{
		"Empty":        {"no content is within all limits", "", ""},
		"Long":         {"the text itself is within the limit of bytes", "#" + strings.Repeat("x", 999), ""},
		"TooLong":      {"the text itself exceeds it", "#" + strings.Repeat("x", 1000), "the content has 1001 bytes, more than 1000"},
		"Alias":        {"an alias is allowed", "a: &x 1\nb: *x\n", ""},
		"Bytes":        {"one long scalar, repeated", "a: &x " + strings.Repeat("x", 180) + "\nb: [*x,*x,*x,*x]\n", ""},
		"TooManyBytes": {"one more", "a: &x " + strings.Repeat("x", 180) + "\nb: [*x,*x,*x,*x,*x]\n", "more than 1000 bytes after the expansion of its aliases"},
		"Nodes":        {"lists that repeat lists", bomb(1), ""},
		"TooManyNodes": {"exponentially", bomb(2), "more than 100 keys and values after the expansion of its aliases"},
		"Exponential":  {"whose expansion would overflow", bomb(14), "after the expansion of its aliases"},
		"Depth":        {"nesting of repeated lists", "a: &x [[1]]\nb: [[*x]]\n", ""},
		"TooDeep":      {"adds up", "a: &x [[1]]\nb: [[[*x]]]\n", "nested deeper than 5 levels after the expansion of its aliases"},
		"Merge":        {"a merge repeats the keys of a map", "a: &x {" + strings.Repeat("k", 400) + ": 1}\nb: {<<: *x}\nc: {<<: *x}\n", "more than 1000 bytes"},
		"Key":          {"an alias may be a key", "a: &x " + strings.Repeat("k", 400) + "\nb: {*x : 1}\nc: {*x : 1}\n", "more than 1000 bytes"},
		"Cycle":        {"the decoder rejects a list that contains itself", "a: &x [*x]\n", ""},
		"Unknown":      {"the decoder rejects an alias without anchor", "a: [&x 1, *y]\n", ""},
		"Invalid":      {"the decoder rejects invalid content", "a: [&x 1, *x\n", ""},
		"FirstOnly":    {"the decoder reads the first document", "a: 1\n---\n" + bomb(2), ""},
		"LaterInvalid": {"the parser of the nodes reads ahead, and fails where the decoder does not", "a: &x 1\nb: *x\n---\n@", ""},
		"LaterLarge":   {"so the size is computed otherwise", "a: &x " + strings.Repeat("x", 180) + "\nb: [*x,*x,*x,*x,*x]\n---\n@", "more than 1000 bytes after the expansion of its aliases"},
		"InText":       {"characters in a text are no aliases", "a: '&x *x'\n", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := small().Check([]byte(tc.raw))
			var limit *Error
			if (err != nil) != (tc.want != "") || !strings.Contains(fmt.Sprint(err), tc.want) || err != nil && !errors.As(err, &limit) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestCheckValue: the size of a value is exact, and limited.
func TestCheckValue(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, raw string
		size        Size
		want        string
	}{
		"Null":         {"null is one node", `null`, Size{1, 1, 0}, ""},
		"Scalars":      {"keys and values are nodes", `{"ab":"cde","f":1}`, Size{7, 5, 1}, ""},
		"Depth":        {"five levels are allowed", `[[[{"a":{}}]]]`, Size{1, 6, 5}, ""},
		"TooDeep":      {"six are not", `[[[{"a":[[]]}]]]`, Size{}, "nested deeper than 5 levels"},
		"Nodes":        {"a hundred nodes are allowed", "[" + strings.Repeat("1,", 98) + "1]", Size{99, 100, 1}, ""},
		"TooManyNodes": {"one more is not", "[" + strings.Repeat("1,", 99) + "1]", Size{}, "more than 100 keys and values"},
		"Bytes":        {"a thousand bytes are allowed", `["` + strings.Repeat("x", 1000) + `"]`, Size{1000, 2, 1}, ""},
		"TooManyBytes": {"one more is not", `["` + strings.Repeat("x", 1001) + `"]`, Size{}, "more than 1000 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v any
			if err := json.Unmarshal([]byte(tc.raw), &v); err != nil {
				t.Fatal(err)
			}
			size, err := small().CheckValue(v)
			if (err != nil) != (tc.want != "") || !strings.Contains(fmt.Sprint(err), tc.want) || err == nil && size != tc.size {
				t.Errorf("%s: %+v, %v", tc.reason, size, err)
			}
		})
	}
}

// TestDecode: accepted YAML is decoded as without limits, and rejected YAML is not decoded.
func TestDecode(t *testing.T) {
	t.Parallel()
	const text = "a: &x {b: 010, c: yes}\nd: {<<: *x, c: no}\n"
	got, err := small().ToJSON([]byte(text))
	if want := `{"a":{"b":8,"c":true},"d":{"b":8,"c":false}}`; string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	var m map[string]any
	if err := small().Unmarshal([]byte("a: &x 1\nb: *x"), &m); err != nil || !cmp.Equal(m, map[string]any{"a": 1.0, "b": 1.0}) {
		t.Errorf("%v, %v", m, err)
	}
	var limit *Error
	if _, err := small().ToJSON([]byte(bomb(9))); !errors.As(err, &limit) {
		t.Errorf("ToJSON: %v", err)
	}
	if err := small().Unmarshal([]byte(bomb(9)), &m); !errors.As(err, &limit) {
		t.Errorf("Unmarshal: %v", err)
	}
	if err := small().UnmarshalStrict([]byte(bomb(9)), &m); !errors.As(err, &limit) {
		t.Errorf("UnmarshalStrict: %v", err)
	}
	if err := small().UnmarshalStrict([]byte("a: 1\na: 2"), &m); err == nil || errors.As(err, &limit) {
		t.Errorf("a repeated key: %v", err)
	}
}

// TestDecodedSize: a text that only the decoder accepts is measured after decoding.
func TestDecodedSize(t *testing.T) {
	t.Parallel()
	size, ok := decodedSize([]byte("a: &x ["+strings.Repeat("1,", 20)+"]\nb: [*x,*x]\n2: y"), small())
	if want := (Size{Bytes: 64, Nodes: 69, Depth: 3}); !ok || size != want {
		t.Errorf("%+v, %t", size, ok)
	}
	if size, ok := decodedSize([]byte(bomb(3)), small()); !ok || small().exceededBy(size, "") == nil {
		t.Errorf("%+v, %t", size, ok)
	}
	if _, ok := decodedSize([]byte("a: ["), small()); ok {
		t.Error("invalid content has a size")
	}
}

// FuzzCheck: accepted YAML has the result of the plain decoder, whose size is within the limits.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"a: &x {b: 010, c: yes}\nd: {<<: *x, c: no}\n", bomb(1), bomb(3), "a: &x [[1]]\nb: [[*x]]\n", "&x a: *x\n", "- &a b\n- *a\n# *\n", "a: &x |\n  text\nb: *x\n",
		"x: &x {a: 1}\ny: &y {b: 2}\nz: {<<: [*x, *y]}\n", "? &a [1]\n: *a\n", "a: &x 'y'\n---\nb: *x\n", "%YAML 1.1\n---\na: &x 1\nb: *x\n...\n", "a: &x !!binary aGk=\nb: *x", "{a: &x 1, b: *x }", "a: &x [1]\nb: *x\n---\n@", "[&x [1,2], *x, &y,*x]",
	} {
		f.Add(seed)
	}
	limits := small()
	f.Fuzz(func(t *testing.T, text string) {
		raw := []byte(text)
		if limits.Check(raw) != nil {
			return
		}
		want, wantErr := yaml.YAMLToJSON(raw)
		got, err := limits.ToJSON(raw)
		if string(got) != string(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%q, %v instead of %q, %v", got, err, want, wantErr)
		}
		var v any
		if wantErr != nil || json.Unmarshal(want, &v) != nil || !MayRepeat(raw) {
			return
		}
		// JSON writes a control character with six bytes, and a float with up to 24.
		size, err := Limits{Bytes: 24 * limits.Bytes, Nodes: limits.Nodes, Depth: limits.Depth}.CheckValue(v)
		if err != nil {
			t.Fatalf("accepted content has %+v: %v", size, err)
		}
	})
}
