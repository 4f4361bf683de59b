// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// hostile has characters that control a terminal: of ASCII, U+0080 to U+009F, and of directions.
const hostile = "a\x1b[2J\x7f\u0080\u0085\u009b31m\u009f\u00a0\u202e\U000e0041z"

// TestNoControls: no output has characters that control a terminal, and JSON has the same content as
// before.
func TestNoControls(t *testing.T) {
	t.Parallel()
	raw, err := json.MarshalIndent(map[string]string{"a": hostile, "b": "ü\n"}, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	doc := JSON(raw)
	var before, after map[string]string
	if err := json.Unmarshal(raw, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, &after); err != nil || before["a"] != after["a"] || before["b"] != after["b"] {
		t.Errorf("%q, want %q: %v", after, before, err)
	}
	for name, text := range map[string]string{"Clean": Clean(hostile), "JSON": string(doc)} {
		if strings.ContainsAny(text, "\x1b\x7f\u0080\u0085\u009b\u009f\u202e\U000e0041") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if got := Clean("a\x9bz"); got != "a\uFFFDz" {
		t.Errorf("%q", got)
	}
	if plain := []byte(`{"a":"ü"}`); string(JSON(plain)) != string(plain) {
		t.Errorf("%s", JSON(plain))
	}
	document, err := YAML(map[string]string{"a": hostile})
	if err != nil || strings.ContainsAny(string(document), "\x1b\x7f\u0080\u0085\u009b\u009f") {
		t.Errorf("%q, %v", document, err)
	}
	if after = nil; yaml.Unmarshal(document, &after) != nil || after["a"] != before["a"] {
		t.Errorf("%q, want %q", after, before)
	}
}
