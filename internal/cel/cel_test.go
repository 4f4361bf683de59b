// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"strings"
	"testing"
)

func thing() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "a", "generation": int64(2), "labels": map[string]any{"v": "1.2.3"}},
		"status": map[string]any{
			"replicas":   int64(3),
			"load":       0.5,
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}
}

func TestParsedExpressions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		want         bool
		err          string
	}{
		"Field":      {reason: "top-level fields are variables", text: "status.replicas == 3", want: true},
		"False":      {reason: "what is not so is false", text: "status.replicas > 3"},
		"Loop":       {reason: "lists can be searched", text: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", want: true},
		"Has":        {reason: "a field can be asked for", text: "has(status.missing)"},
		"Numbers":    {reason: "numbers compare, whatever their type", text: "status.replicas > status.load", want: true},
		"Optional":   {reason: "optional fields are in the language", text: "status.?missing.orValue(true)", want: true},
		"Strings":    {reason: "strings can be taken apart", text: "metadata.labels['v'].split('.')[0] == '1'", want: true},
		"Sets":       {reason: "lists can be compared as sets", text: "sets.contains([1, 2], [2])", want: true},
		"Encoders":   {reason: "base64 can be read", text: "string(base64.decode('aGk=')) == 'hi'", want: true},
		"Missing":    {reason: "a missing field is an error, not false", text: "status.missing == 1", err: "no such key: missing"},
		"NoVariable": {reason: "so is a missing top-level field", text: "spec.replicas == 1", err: "expression 'spec.replicas == 1': "},
		"NotBool":    {reason: "only true and false are answers", text: "status.replicas", err: "yields int, not bool"},
		"Endless": {
			reason: "an expression that would not end is ended",
			text:   "[" + strings.Repeat("1,", 299) + "1].all(a, [" + strings.Repeat("1,", 299) + "1].all(b, [" + strings.Repeat("1,", 299) + "1].all(c, a + b + c == 3)))",
			err:    "cost limit exceeded",
		},
		"Growing": {
			reason: "texts cost what they are long",
			text:   "'xxxxxxxxxx'" + strings.Repeat(".replace('x', 'xxxxxxxxxx')", 9) + ".size() > 0",
			err:    "cost limit exceeded",
		},
		"GrowingList": {
			reason: "lists too",
			text:   "('" + strings.Repeat("x", 5000) + "'.split('').map(a, '" + strings.Repeat("y", 5000) + "').join('" + strings.Repeat("z", 5000) + "') + 'a').size() > 0",
			err:    "cost limit exceeded",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Bool(thing())
			if got != tc.want || !strings.Contains(fmt.Sprint(err), tc.err) || (err != nil) != (tc.err != "") {
				t.Errorf("%s: got %t, %v", tc.reason, got, err)
			}
		})
	}
}

func TestRefusedExpressions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text, want string }{
		"Deep":       {"what nests without end is not parsed", strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000), "expression recursion limit exceeded"},
		"Calls":      {"nor chains without end", "dep" + strings.Repeat(".a", 50_000) + "[" + strings.Repeat("-", 5000) + "1]", "expression"},
		"Long":       {"nor is what is too long", "dep.x == '" + strings.Repeat("x", 200_000) + "'", "expression code point size exceeds limit"},
		"Syntax":     {"what is no CEL is refused", "dep.status ==", "expression 'dep.status ==': "},
		"NoVariable": {"a variable that will not be there is refused", "other.status == 1", "undeclared reference to 'other'"},
		"NoFunction": {"so is a function that does not exist", "nonsense(dep)", "undeclared reference to 'nonsense'"},
		"Number":     {"what is certainly not true or false is refused", "1 + 1", "expression '1 + 1' yields int, not bool"},
		"Unknown":    {"so is what may be", "dep.status.ready", "expression 'dep.status.ready' yields dyn, not bool"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Compile(tc.text, "self", "dep"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
	if _, err := Parse("a =="); err == nil || !strings.HasPrefix(err.Error(), "expression 'a ==': ") {
		t.Errorf("what is no CEL cannot be parsed: %v", err)
	}
}

func TestCompiledExpressions(t *testing.T) {
	t.Parallel()
	e, err := Compile("dep.metadata.labels['v'] == self.metadata.labels['v'] && dep.status.conditions.exists(c, c.type == 'Ready')", "self", "dep")
	if err != nil {
		t.Fatal(err)
	}
	other := thing()
	for _, want := range []bool{true, false} {
		if got, err := e.Bool(map[string]any{"self": thing(), "dep": other}); got != want || err != nil {
			t.Errorf("got %t, %v", got, err)
		}
		other["metadata"].(map[string]any)["labels"] = map[string]any{"v": "2"}
	}
}
