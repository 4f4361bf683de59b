// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
)

const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\n"

// TestCompareSecrets: a changed value of a Secret is visible as a change, and no value is.
func TestCompareSecrets(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to string
		want     string
	}{
		{"equal", "data: {a: c2VjcmV0}", "data: {a: c2VjcmV0}", ""},
		{"changed", "data: {a: c2VjcmV0}", "data: {a: b3RoZXI=}", "changed"},
		{"added key", "data: {}", "data: {a: c2VjcmV0}", "changed"},
		{"removed key", "stringData: {a: secret}", "stringData: {}", "changed"},
		{"no map", "data: secret", "data: {a: b3RoZXI=}", "changed"},
	} {
		all := Compare(Side{Manifest: secret + tc.from}, Side{Manifest: secret + tc.to})
		got := ""
		for _, d := range all {
			got += d.Change
			if text := strings.Join(d.Lines, "\n"); strings.Contains(text, "c2VjcmV0") || strings.Contains(text, "b3RoZXI") || strings.Contains(text, ": secret") {
				t.Errorf("%s: the difference is\n%s", tc.name, text)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}

// TestCompareUnparsed: a document that cannot be parsed is not shown, because it could be a Secret.
func TestCompareUnparsed(t *testing.T) {
	all := Compare(Side{Manifest: "kind: Secret\nstringData: {a: hunter2\n"}, Side{})
	for _, d := range all {
		if strings.Contains(strings.Join(d.Lines, "\n"), "hunter2") {
			t.Errorf("%+v", d)
		}
	}
	if len(all) != 1 {
		t.Errorf("%d differences", len(all))
	}
}

func TestObjects(t *testing.T) {
	all := Objects("# Source: a\n---\nkind: A\n---\n{broken\n---\n# nothing\n---\nkind: B\n")
	if len(all) != 2 || all[0]["kind"] != "A" || all[1]["kind"] != "B" {
		t.Errorf("the objects are %v", all)
	}
}
