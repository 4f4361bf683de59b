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

// TestParsedExpressions: expressions over top-level fields are evaluated with the functions of
// helm-controller, and within the cost limit.
func TestParsedExpressions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		want         bool
		err          string
	}{
		"Field":      {reason: "top-level fields are variables", text: "status.replicas == 3", want: true},
		"False":      {reason: "an expression may be false", text: "status.replicas > 3"},
		"Loop":       {reason: "lists can be searched", text: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", want: true},
		"Has":        {reason: "has returns whether a field exists", text: "has(status.missing)"},
		"Numbers":    {reason: "numbers of different types are comparable", text: "status.replicas > status.load", want: true},
		"Optional":   {reason: "optional fields are enabled", text: "status.?missing.orValue(true)", want: true},
		"Strings":    {reason: "functions of strings are enabled", text: "metadata.labels['v'].split('.')[0] == '1'", want: true},
		"Sets":       {reason: "functions of sets are enabled", text: "sets.contains([1, 2], [2])", want: true},
		"Encoders":   {reason: "base64 is enabled", text: "string(base64.decode('aGk=')) == 'hi'", want: true},
		"Missing":    {reason: "a missing field is an error, not false", text: "status.missing == 1", err: "no such key: missing"},
		"NoVariable": {reason: "a missing top-level field is an error", text: "spec.replicas == 1", err: "expression 'spec.replicas == 1': "},
		"NotBool":    {reason: "the result has to be a bool", text: "status.replicas", err: "yields int, not bool"},
		"Endless": {
			reason: "nested loops exceed the cost limit",
			text:   "[" + strings.Repeat("1,", 299) + "1].all(a, [" + strings.Repeat("1,", 299) + "1].all(b, [" + strings.Repeat("1,", 299) + "1].all(c, a + b + c == 3)))",
			err:    "cost limit exceeded",
		},
		"Growing": {
			reason: "the length of strings counts",
			text:   "'xxxxxxxxxx'" + strings.Repeat(".replace('x', 'xxxxxxxxxx')", 9) + ".size() > 0",
			err:    "cost limit exceeded",
		},
		"GrowingList": {
			reason: "the length of lists counts",
			text:   "('" + strings.Repeat("x", 5000) + "'.split('').map(a, '" + strings.Repeat("y", 5000) + "').join('" + strings.Repeat("z", 5000) + "') + 'a').size() > 0",
			err:    "cost limit exceeded",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := new(Compiler).Parse(tc.text)
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

// TestRejectedExpressions: invalid expressions do not compile.
func TestRejectedExpressions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text, want string }{
		"Deep":       {"deep nesting is an error", strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000), "expression recursion limit exceeded"},
		"Calls":      {"a long chain of operators is an error", "dep" + strings.Repeat(".a", 50_000) + "[" + strings.Repeat("-", 5000) + "1]", "expression"},
		"Long":       {"a long text is an error", "dep.x == '" + strings.Repeat("x", 200_000) + "'", "it has 200011 bytes, more than 16384"},
		"Syntax":     {"a syntax error is an error", "dep.status ==", "expression 'dep.status ==': "},
		"NoVariable": {"an undeclared variable is an error", "other.status == 1", "undeclared reference to 'other'"},
		"NoFunction": {"an unknown function is an error", "nonsense(dep)", "undeclared reference to 'nonsense'"},
		"Number":     {"a type other than bool is an error", "1 + 1", "expression '1 + 1' yields int, not bool"},
		"Unknown":    {"a dynamic type is an error", "dep.status.ready", "expression 'dep.status.ready' yields dyn, not bool"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := new(Compiler).Compile(tc.text, "self", "dep"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
	if _, err := new(Compiler).Parse("a =="); err == nil || !strings.HasPrefix(err.Error(), "expression 'a ==': ") {
		t.Errorf("Parse accepts a syntax error: %v", err)
	}
}

// TestExpressionLimits: an expression is rejected before it is parsed if it is long, and before its
// regular expressions are compiled if they exceed a limit.
func TestExpressionLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "'" + strings.Repeat("x", n-7) + "'!='a'" }
	cases := map[string]struct{ reason, text, want string }{
		"Long":      {"a long text", long(maxExpression), ""},
		"TooLong":   {"a longer text", long(maxExpression + 1), "it has 16385 bytes, more than 16384"},
		"Pattern":   {"a pattern", "'x'.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')", ""},
		"TooCostly": {"a costly pattern", "'x'.matches('(abcdefghij){1000}')", "the regular expression costs more than 10000"},
		"Function":  {"in a call of a function", "matches('x', '(abcdefghij){1000}')", "the regular expression costs more than 10000"},
		"InLoop":    {"in a loop", "['x'].exists(a, a.matches('(abcdefghij){1000}'))", "the regular expression costs more than 10000"},
		"InRaw":     {"in a raw string", "'x'.matches(r'(abcdefghij){1000}')", "the regular expression costs more than 10000"},
		"Together":  {"many costly patterns", "'x'.matches('(?:abcdefgh){1000}')" + strings.Repeat(" || 'x'.matches('(?:abcdefgh){1000}')", 5), "the regular expressions together cost "},
		"Invalid":   {"an invalid pattern", "'x'.matches('(')", "error parsing regexp"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, parsed := new(Compiler).Parse(tc.text)
			_, compiled := new(Compiler).Compile(tc.text, "self")
			for _, err := range []error{parsed, compiled} {
				if (err != nil) != (tc.want != "") || !strings.Contains(fmt.Sprint(err), tc.want) {
					t.Errorf("%s: %v", tc.reason, err)
				}
			}
		})
	}
	var c Compiler
	for i := range 9 {
		if _, err := c.Parse(long(maxExpression)); (err != nil) != (i == 8) || err != nil && !strings.HasSuffix(err.Error(), "all expressions together have more than 131072 bytes") {
			t.Errorf("expression %d: %v", i, err)
		}
	}
}

// TestDynamicPatterns: a regular expression that is not constant is limited at evaluation, and its
// compilation counts toward the cost.
func TestDynamicPatterns(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("'x',", 199) + "'x']"
	cases := map[string]struct {
		reason, text string
		want         bool
		err          string
	}{
		"Match":     {reason: "a pattern from a field", text: "'1.2.3'.matches('^' + metadata.labels.v + '$')", want: true},
		"Function":  {reason: "in a call of a function", text: "matches('x', metadata.name)"},
		"TooCostly": {reason: "a costly pattern", text: "'x'.matches('(abcdefghij){1000}' + metadata.name)", err: "the regular expression costs more than 10000"},
		"Repeated":  {reason: "many patterns", text: many + ".exists(x, x.matches('(?:abcdefgh){1000}' + metadata.name))", err: "cost limit exceeded"},
		"Few":       {reason: "many cheap patterns", text: many + ".exists(x, x.matches('^[a-z]{1,63}' + metadata.name))"},
		"NoText":    {reason: "a number is no pattern", text: "'x'.matches(metadata.generation)", err: "no such overload"},
		"Invalid":   {reason: "an invalid pattern", text: "'x'.matches('(' + metadata.name)", err: "error parsing regexp"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := new(Compiler).Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Bool(thing())
			if got != tc.want || (err != nil) != (tc.err != "") || !strings.Contains(fmt.Sprint(err), tc.err) {
				t.Errorf("%s: got %t, %v", tc.reason, got, err)
			}
		})
	}
}

// TestCompiledExpressions: one expression may be evaluated with different objects.
func TestCompiledExpressions(t *testing.T) {
	t.Parallel()
	e, err := new(Compiler).Compile("dep.metadata.labels['v'] == self.metadata.labels['v'] && dep.status.conditions.exists(c, c.type == 'Ready')", "self", "dep")
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
