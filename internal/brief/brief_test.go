// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package brief

import (
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	for name, tc := range map[string]struct{ got, want string }{
		"whole":       {Cut("abcde", 5), "abcde"},
		"cut":         {Cut("abcdef", 5), "ab..."},
		"character":   {Cut("aéîöü", 6), "aé..."},
		"middle":      {Middle("abcdefghij", 7), "ab...ij"},
		"words":       {Middle("abc defg hi", 10), "abc...g hi"},
		"inside":      {Middle("aéîöü", 7), "a...ü"},
		"short":       {Middle("abc", 3), "abc"},
		"half":        {Cut("aéîöü", 5), "a..."},
		"line":        {Line(" a\tb\r\n\u0085c\x1b[31m d "), "a b c [31m d"},
		"no UTF-8":    {Line("a\xff\xfe b"), "a\uFFFD b"},
		"clauses":     {Clauses("2 errors:\n* a\n\n* b\n", func(l string) string { return strings.TrimPrefix(l, "* ") }), "2 errors: a; b"},
		"one clause":  {Clauses(" a ", nil), " a "},
		"list":        {List([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
		"short list":  {List([]string{"a", "b"}, 2), "a, b"},
		"empty list":  {List(nil, 2), ""},
		"account":     {Denial(`deployments.apps "a" is forbidden: User "system:serviceaccount:x:y" cannot get resource "deployments" in API group "apps" in the namespace "x"`), "ServiceAccount x/y cannot get deployments.apps"},
		"user":        {Denial(`pods "a" is forbidden: User "eve" cannot list resource "pods" in API group "" at the cluster scope`), "User eve cannot list pods"},
		"policy":      {Denial(`pods "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), "ValidatingAdmissionPolicy 'p' denied request: no"},
		"no denial":   {Denial("it broke"), "it broke"},
		"empty lines": {Clauses("\n \n", nil), ""},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}
