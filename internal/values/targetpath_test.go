// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// TestPathLimits: a path is rejected before anything is set if it exceeds a limit, and so is content
// that contains further assignments.
func TestPathLimits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, path, content, want string }{
		"Index":            {"an index has a limit", "a[10000]", "x", ""},
		"TooHigh":          {"which is below that of Helm", "a[10001]", "x", "a list index is greater than 10000"},
		"Huge":             {"any index is read", "a[2147483648]", "x", "a list index is greater than 10000"},
		"NestedIndex":      {"in a list of lists too", "a[1][10001]", "x", "a list index is greater than 10000"},
		"BelowIndex":       {"below an element too", "a[1].b[10001].c", "x", "a list index is greater than 10000"},
		"EscapedBracket":   {"an escaped bracket is part of a key", `a\[10001]`, "x", ""},
		"InContent":        {"content may contain an assignment", "a", "x,b[10001]=y", "a list index is greater than 10000"},
		"AfterList":        {"after a list too", "a", "{x,y},b[10001]=y", "a list index is greater than 10000"},
		"AfterListNoComma": {"without a comma too", "a", "{x,y}b[10001]=y", "a list index is greater than 10000"},
		"Quoted":           {"in quotes too", "a", "'x,b[10001]=y'", "a list index is greater than 10000"},
		"InList":           {"an element of a list is no assignment", "a", "{x,b[10001]=y}", ""},
		"Elements":         {"all lists together have a limit", "a[9999]", strings.TrimSuffix(strings.Repeat("x,a[9999]=", 8), "=") + "=x,b[9989]=x", ""},
		"TooMany":          {"which a repeated path exceeds", "a[9999]", strings.Repeat("x,a[9999]=", 10) + "x", "more than 100000 list elements"},
		"List":             {"a list of values counts", "a", "{" + strings.Repeat("x,", 99_998) + "}", ""},
		"TooLongList":      {"one more value is too many", "a", "{" + strings.Repeat("x,", 99_999) + "}", "more than 100000 list elements"},
		"Assignments":      {"assignments count", "a", "x" + strings.Repeat(",b=y", 100_000), "more than 100000 list elements"},
		"Depth":            {"lists may be nested", "a" + strings.Repeat("[0]", 59), "x", ""},
		"TooDeep":          {"up to a limit", "a" + strings.Repeat("[0]", 60), "x", "there are more than 60 levels"},
		"Mixed":            {"maps count too", "a" + strings.Repeat("[0].b", 30), "x", "there are more than 60 levels"},
		"Negative":         {"an error of Helm stays", "a[-1]", "x", "negative -1 index not allowed"},
		"NoIndex":          {"an error of Helm stays", "a[b]", "x", "error parsing index"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := map[string]any{}
			err := new(Budget).SetPath(values, tc.path, tc.content)
			if (err != nil) != (tc.want != "") || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("%s: %.300v", tc.reason, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "the target path \""+strings.ReplaceAll(tc.path, `\`, `\\`)+"\" cannot be set: ") {
				t.Errorf("%s: %.300v", tc.reason, err)
			}
			if errors.As(err, new(*bounded.Error)) && len(values) > 0 {
				t.Errorf("%s: %d values are set", tc.reason, len(values))
			}
		})
	}
}

// TestLiteralLimits: literal content contains no assignments, and its path has limits.
func TestLiteralLimits(t *testing.T) {
	t.Parallel()
	if err := new(Budget).SetLiteral(map[string]any{}, "a", "x,b[10001]=y"); err != nil {
		t.Error(err)
	}
	if err := new(Budget).SetLiteral(map[string]any{}, "b[10001]", "x"); !errors.As(err, new(*bounded.Error)) {
		t.Error(err)
	}
}

// TestPathsTogether: the paths of a release have one limit.
func TestPathsTogether(t *testing.T) {
	t.Parallel()
	var b Budget
	for i := range 11 {
		err := b.SetPath(map[string]any{}, fmt.Sprintf("a%d[9998]", i), "x")
		if (err != nil) != (i == 10) {
			t.Errorf("path %d: %v", i, err)
		}
	}
	err := new(Budget).SetPath(map[string]any{}, "a", strings.Repeat("x", 16<<20))
	if err == nil || !strings.HasSuffix(err.Error(), "all values of the release together have more than 16777216 bytes") {
		t.Errorf("long content: %.300v", err)
	}
}

// FuzzPathLimits: Helm sets no more list elements and levels than were counted.
func FuzzPathLimits(f *testing.F) {
	for _, seed := range []string{"a.b[2].c", `a\[1]=x,b[3]`, "a[1][2][3]", "{x,y},a[1]", "a=x,b.c={1,{2}},d[1].e", "a={,,}b[5]", "a[1]]=x", "a[\\1]", "[3]=x,.=y", "a[ 1]=,b"} {
		f.Add(seed, "x")
		f.Add("a", seed+"=x")
	}
	f.Fuzz(func(t *testing.T, path, content string) {
		var b Budget
		if b.checkPath(path, content) != nil || b.elements > 10_000 {
			return
		}
		for _, parse := range []func(string, map[string]any) error{strvals.ParseInto, strvals.ParseIntoString} {
			values := map[string]any{}
			_ = parse(path+"="+content, values)
			if n, depth := elements(values); n > b.elements || depth > maxPathDepth+2 {
				t.Fatalf("%d elements in %d levels, counted %d", n, depth, b.elements)
			}
		}
	})
}

// elements returns the number of list elements in a value, and its depth.
func elements(v any) (n, depth int) {
	var inner []any
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			inner = append(inner, one)
		}
	case []any:
		inner, n = v, len(v)
	default:
		return 0, 0
	}
	for _, one := range inner {
		more, below := elements(one)
		n, depth = n+more, max(depth, below)
	}
	return n, depth + 1
}
