// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFollow: the events of test2json become numbers and names of top-level tests, and only the output
// of failed tests, and of none, is printed.
func TestFollow(t *testing.T) {
	const events = `{"Action":"start"}
{"Action":"output","Output":"preparing\n"}
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"run","Test":"TestB"}
{"Action":"output","Test":"TestB/inner","Output":"loud\n"}
{"Action":"fail","Test":"TestB/inner"}
{"Action":"fail","Test":"TestB"}
{"Action":"run","Test":"TestC"}
{"Action":"output","Test":"TestC","Output":"it hangs\n"}
{"Action":"output","Output":"FAIL\n"}
`
	var out strings.Builder
	got, err := follow(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	if got.passed != 1 || !slices.Equal(got.failed, []string{"TestB"}) {
		t.Errorf("got %+v", got)
	}
	if want := "preparing\nloud\nit hangs\n"; out.String() != want {
		t.Errorf("got output %q, want %q", out.String(), want)
	}
}

// TestChoose: the suites with the most changed files are chosen, up to two and a quarter of an hour.
func TestChoose(t *testing.T) {
	suites := map[string]suite{
		"a": {minutes: 5, paths: []string{"a"}}, "b": {minutes: 9, paths: []string{"b"}}, "c": {minutes: 4, paths: []string{"c"}},
		"long": {minutes: 60, paths: []string{"a", "b", "c"}}, "none": {minutes: 1},
	}
	for _, tc := range []struct{ files, want []string }{
		{nil, nil},
		{[]string{"a/x", "b/x", "b/y"}, []string{"b", "a"}},
		{[]string{"c/x", "b/x", "a/x", "a/y"}, []string{"a", "b"}},
		{[]string{"README.md"}, nil},
	} {
		if got := choose(suites, tc.files); !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.files, got, tc.want)
		}
	}
}

// TestQuarantine: entries are limited in number and, if strict, in age.
func TestQuarantine(t *testing.T) {
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		text   string
		strict bool
		want   string
	}{
		"Empty":    {text: "# nothing\n\n"},
		"Entry":    {text: "TestA 2026-11-10 it waits for a clock\n", strict: true},
		"Old":      {text: "TestA 2026-11-05 it waits for a clock\n"},
		"TooOld":   {text: "TestA 2026-11-05 it waits for a clock\n", strict: true, want: "TestA is in quarantine since 2026-11-05"},
		"NoReason": {text: "TestA 2026-11-10\n", want: "want a test, a date and a reason"},
		"NoDate":   {text: "TestA yesterday it waits for a clock\n", want: "yesterday"},
		"Many":     {text: "TestA 2026-11-10 x\nTestB 2026-11-10 x\nTestC 2026-11-10 x\nTestD 2026-11-10 x\nTestE 2026-11-10 x\nTestF 2026-11-10 x\n", want: "6 tests are in quarantine"},
	} {
		path := filepath.Join(t.TempDir(), "quarantine.txt")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch _, err := readQuarantine(path, now, tc.strict); {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestRecord: the results replace the results of the previous run.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+recordStart+"old\n"+recordEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := recordIn(path, "all 1 s\n"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(page); strings.Contains(s, "old") || !strings.Contains(s, ", commit ") || !strings.HasPrefix(s, "before\n") || !strings.HasSuffix(s, "after\n") {
		t.Errorf("got %s", page)
	}
}
