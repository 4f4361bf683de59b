// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestPatterns: a regular expression is rejected before it is compiled if it is long or expands to
// many instructions.
func TestPatterns(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, pattern, want string }{
		"Empty":          {"an empty pattern", "", ""},
		"Name":           {"a name of Kubernetes", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`, ""},
		"Names":          {"a list of names", "^(?:" + strings.Repeat("web-frontend-0|", 200) + "x)$", ""},
		"Repeated":       {"a long repetition", "^.{1,1000}$", ""},
		"Length":         {"the longest pattern", strings.Repeat("a", MaxPattern), ""},
		"TooLong":        {"one byte more", strings.Repeat("a", MaxPattern+1), "has 4097 bytes, more than 4096"},
		"Nested":         {"nested repetitions", "((a{9}){9}){9}", ""},
		"TooManyNested":  {"a long text, repeated", "(abcdefghij){1000}", "costs more than 10000"},
		"Optional":       {"optional repetitions", "(abcdefghij){0,1000}", "costs more than 10000"},
		"Groups":         {"of groups", "((((((((a)))))))){1,500}", "costs more than 10000"},
		"IgnoredCase":    {"case may be ignored", "(?i)[a-z]+-deployment", ""},
		"WideRange":      {"but each range is looked up then", "(?i)" + strings.Repeat("[B-\U0001E900]", 50), "costs more than 10000"},
		"WideRangeGroup": {"in groups too", "(?s)(?m-s:a)(?i:" + strings.Repeat("[B-\U0001E900]", 50) + ")", "costs more than 10000"},
		"CasedRanges":    {"other ranges are cheap", "(?s:x)" + strings.Repeat("[B-\U0001E900]", 50), ""},
		"Classes":        {"some Unicode classes", strings.Repeat(`\pL`, 20), ""},
		"TooManyClasses": {"many of them", strings.Repeat(`\pL`, 60), "costs more than 10000"},
		"InOneClass":     {"in one class", "[" + strings.Repeat(`\pL`, 100) + "]", "costs more than 10000"},
		"Invalid":        {"an invalid pattern", "(", "error parsing regexp: missing closing ): `(`"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			re, err := new(Patterns).Compile(tc.pattern)
			if (err != nil) != (tc.want != "") || !strings.Contains(fmt.Sprint(err), tc.want) || (re != nil) != (err == nil) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			var limit *Error
			if err != nil && errors.As(err, &limit) == strings.Contains(tc.want, "parsing") {
				t.Errorf("%s: %T", tc.reason, err)
			}
		})
	}
}

// TestPatternsTogether: all patterns of a list have one limit.
func TestPatternsTogether(t *testing.T) {
	t.Parallel()
	var all Patterns
	for i := range 50 {
		_, err := all.Compile(".{1,400}")
		switch {
		case err == nil:
		case i < 20:
			t.Fatalf("pattern %d: %v", i, err)
		case strings.Contains(err.Error(), "the regular expressions together cost 5") && strings.HasSuffix(err.Error(), "more than 50000"):
			return
		default:
			t.Fatal(err)
		}
	}
	t.Error("fifty patterns have no limit")
}

// FuzzPatternCost: the cost is an upper bound of the instructions of a compiled pattern.
func FuzzPatternCost(f *testing.F) {
	for _, seed := range []string{"((a{9}){9}){9}", "(?i)[a-z]*x+?|y{2,}|z{0}|(b|c)??$", `\pL{3,5}\b[^[:word:]]*(?:)(?P<n>a)*`, "(a*)*(b?)+(|c)*{3}", "(?:a{0,1000}){0,9}", ".*.+?.{2,}", "(a|b|c|abc|abd){2,7}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		cost, err := PatternCost(pattern)
		if err != nil {
			if _, plain := syntax.Parse(pattern, syntax.Perl); !errors.As(err, new(*Error)) && fmt.Sprint(err) != fmt.Sprint(plain) {
				t.Fatalf("%v instead of %v", err, plain)
			}
			return
		}
		if _, err := regexp.Compile(pattern); err != nil {
			t.Fatalf("an invalid pattern has cost %d: %v", cost, err)
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil || len(prog.Inst) > cost || cost > MaxPatternCost {
			t.Fatalf("%d instructions at cost %d: %v", len(prog.Inst), cost, err)
		}
	})
}
