// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"
)

// TestDigest: known values have known digests.
func TestDigest(t *testing.T) {
	t.Parallel()
	nested := func(b float64) map[string]any {
		return map[string]any{"a": map[string]any{"b": b}, "list": []any{"x", true}}
	}
	cases := map[string]struct {
		reason string
		values map[string]any
		want   string
	}{
		"Nil":     {reason: "no values have the digest of empty input", want: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"Empty":   {reason: "an empty map has the same digest", values: map[string]any{}, want: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"Flat":    {reason: "the digest is over YAML", values: map[string]any{"foo": "bar"}, want: "sha256:1dabc4e3cbbd6a0818bd460f3a6c9855bfe95d506c74726bc0f2edb0aecb1f4e"},
		"Nested":  {reason: "maps and lists are included", values: nested(1), want: "sha256:1f050ebb37bcf045c742c4b39098e6dd326444e5cc9d96c7f9b6e1b44c3628cd"},
		"Changed": {reason: "a nested change changes the digest", values: nested(2), want: "sha256:e099e218efe699006d09e504a2a61f0ba1d30992483a70c0fa23df9f9c59f2a5"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Digest(tc.values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDigestOfInvalidJSON: values that JSON cannot represent have no digest.
func TestDigestOfInvalidJSON(t *testing.T) {
	t.Parallel()
	if d, err := Digest(map[string]any{"a": math.Inf(1)}); err == nil {
		t.Errorf("infinity has digest %s", d)
	}
}

// digestOf returns the digest of values in JSON or YAML.
func digestOf(t *testing.T, raw string) string {
	t.Helper()
	values, err := Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	d, err := Digest(values)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return d
}

// TestDigestIgnoresOrder: the order of keys does not change the digest, that of lists does.
func TestDigestIgnoresOrder(t *testing.T) {
	t.Parallel()
	one := digestOf(t, `{"a":1,"b":{"c":2,"d":3},"l":[{"e":4,"f":5}]}`)
	other := digestOf(t, "l:\n- f: 5\n  e: 4\nb: {d: 3, c: 2}\na: 1\n")
	if one != other {
		t.Errorf("the order or notation of keys changed the digest: %s, %s", one, other)
	}
	if list := digestOf(t, `{"l":[1,2]}`); list == digestOf(t, `{"l":[2,1]}`) {
		t.Error("the order of a list does not change the digest")
	}
}

// TestDigestSurvivesStorage: values have the same digest before and after Helm stores them as JSON.
// Otherwise each reconciliation would upgrade.
func TestDigestSurvivesStorage(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"Large":      `{"n":12345678901234567890}`,
		"MaxInt":     `{"n":9223372036854775807}`,
		"Negative":   `{"n":-9223372036854775808}`,
		"Million":    `{"n":1000000}`,
		"Huge":       `{"n":1e21}`,
		"Huger":      `{"n":123456789012345678901234567890}`,
		"Float":      `{"n":0.1}`,
		"Tiny":       `{"n":1e-9}`,
		"WholeFloat": `{"n":1.0}`,
		"MinusZero":  `{"n":-0.0}`,
		"YAMLFloat":  "n: 1e3\nm: 0x1F\no: 0o17\np: 1_000\n",
		"YAMLTime":   "t: 2001-01-01\n",
		"Strings":    `{"a":"yes","b":"1e3","c":"0x1F","d":"~","e":"","f":"2001-01-01","g":"<<","h":" x ","i":"a\nb\n"}`,
		"HTML":       `{"a":"<b>&</b>"}`,
		"Separators": `{"a":"\u2028\u2029\u0085\ufeff"}`,
		"Control":    `{"a":"\u0000\u0001\u001f\u007f\u0080\u009f","\u007f":1}`,
		"Emoji":      `{"a":"🚢","b":"\ud83d\ude80","c":"\ufffe\uffff"}`,
		"Surrogate":  `{"a":"\ud800"}`,
		"Nulls":      `{"a":null,"b":[null],"c":{}}`,
		"Keys":       `{"a2":1,"a10":2,"A":3,"":4,"1":5,"true":6}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkStable(t, []byte(raw))
		})
	}
}

// checkStable checks that values have the same digest before and after Helm stores them. It ignores
// invalid input.
func checkStable(t *testing.T, raw []byte) {
	t.Helper()
	values, err := Parse(raw)
	if err != nil {
		return
	}
	first, err := Digest(values)
	if err != nil {
		t.Fatalf("%q has no digest: %v", raw, err)
	}
	stored, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(stored, &decoded); err != nil {
		t.Fatal(err)
	}
	second, err := Digest(decoded)
	if err != nil || first != second {
		t.Errorf("%q has digest %s, and %s once stored (%v)", raw, first, second, err)
	}
	parsed, err := Parse(stored)
	if err != nil {
		t.Fatalf("%q became %q, which cannot be read: %v", raw, stored, err)
	}
	if diff := cmp.Diff(values, parsed); diff != "" {
		t.Errorf("%q changed when read again (-first +second):\n%s", raw, diff)
	}
}

// digestByParsing computes the digest by its definition: values are stored as JSON, and a YAML
// parser converts the JSON to YAML. It returns false if the parser rejects the JSON.
func digestByParsing(t *testing.T, values map[string]any) (string, bool) {
	t.Helper()
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var stored any
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	if raw, err = json.Marshal(stored); err != nil {
		t.Fatal(err)
	}
	// YAML rejects some characters in strings and folds others, but accepts their escapes.
	out := make([]byte, 0, len(raw))
	for _, r := range string(raw) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	canonical, err := yaml.JSONToYAML(out)
	return digest.SHA256.FromBytes(canonical).String(), err == nil
}

// checkDefinition compares a digest with its definition. It ignores values that the YAML parser
// rejects, for example keys of more than a thousand characters.
func checkDefinition(t *testing.T, values map[string]any) {
	t.Helper()
	if len(values) == 0 {
		return
	}
	got, err := Digest(values)
	if err != nil {
		t.Fatal(err)
	}
	if want, ok := digestByParsing(t, values); ok && got != want {
		t.Errorf("%v has digest %s, want %s", values, got, want)
	}
}

// TestDigestIsAsDefined: unusual values have the digest of the definition.
func TestDigestIsAsDefined(t *testing.T) {
	values := map[string]any{
		"numbers": []any{
			0, math.Copysign(0, -1), 1, -1, 1.5, 1e19, 1e20, 1e21, -1e21, 1e22, 1e-7, 123456789012345678, uint64(math.MaxUint64), math.MinInt64,
			1 << 53, 1<<53 + 1, 9007199254740993.0, 18446744073709551615.0, 18446744073709551616.0, math.MaxFloat64, math.SmallestNonzeroFloat64,
		},
		"strings": []any{
			"", "1", "1.0", "true", "null", "~", "<<", "2026-01-01", "0x10", "1_000", "a\nb", " a", "a: b", "#", "- a", "é", "\u0000", "\u0085",
			"\ufeff", "\u2028", "😀", "a\xffb", "=", "yes", "0o7", ".inf",
		},
		"<<": map[string]any{"a": nil}, "1": true, "true": false, "": []any{}, "m": map[string]any{}, "a10": 1, "a9": 2, "A": 3,
	}
	checkDefinition(t, values)
	checkDefinition(t, manyValues())
	for _, key := range []string{"numbers", "strings"} {
		list, _ := values[key].([]any)
		for _, v := range list {
			checkDefinition(t, map[string]any{"v": v})
		}
	}
}

// TestDigestOfStoredIntegers: Helm's storage loses the low digits of large integers, which does not
// change the digest.
func TestDigestOfStoredIntegers(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"7", "9007199254740993", "9223372036854775807", "-9223372036854775807", "{1,9007199254740993}"} {
		values := map[string]any{}
		if err := new(Budget).SetPath(values, "a.b", content); err != nil {
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
		want, err := Digest(stored)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Digest(values); err != nil || got != want {
			t.Errorf("%s: digest %s before storage, %s after, %v", content, got, want, err)
		}
	}
}
