// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	helmvalues "helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
)

// TestFlagsAreHelms: flags have the values that helm gives them.
func TestFlagsAreHelms(t *testing.T) {
	t.Parallel()
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("one.yaml", "a: {b: 1, c: [1, 2]}\nd: on\ne: '1'\nbig: 12345678\n")
	two := write("two.yaml", "a: {b: null, f: 1.5}\ne: {g: h}\n---\nignored: true\n")
	empty := write("empty.yaml", "# nothing\n")
	for name, f := range map[string]Flags{
		"Files":   {Files: []string{one, two, empty}},
		"Reverse": {Files: []string{two, one}},
		"Set":     {Files: []string{one}, Set: []string{"a.b=2,a.c[1]=x", "n=null,t=true,s=1.0,i=007,l={1,a}", `k\.l=m\,n`, "big=9007199254740993"}},
		"String":  {Set: []string{"a=1"}, SetString: []string{"b=1,c=true", "a=null"}},
		"JSON":    {SetJSON: []string{`a={"b":[1,null]}`, "c=1.50"}, Set: []string{"a.b[0]=2"}},
		"File":    {SetFile: []string{"a=" + one, "b.c=" + empty}},
		"Literal": {SetLiteral: []string{"a.b=1,c={}", "d=true"}},
		"Order":   {SetLiteral: []string{"a=5"}, SetFile: []string{"b=" + empty, "a=" + empty}, SetString: []string{"c=3", "b=3", "a=3"}, Set: []string{"d=2,c=2,b=2,a=2"}, SetJSON: []string{"e=1,d=1,c=1,b=1,a=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			helm := helmvalues.Options{ValueFiles: f.Files, Values: f.Set, StringValues: f.SetString, FileValues: f.SetFile, JSONValues: f.SetJSON, LiteralValues: f.SetLiteral}
			want, err := helm.MergeValues(getter.Providers{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Values(os.ReadFile)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := asJSON(t, got), asJSON(t, want); a != b {
				t.Errorf("%s, and of helm %s", a, b)
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestFlagErrors: errors name the file and the line, or the flag.
func TestFlagErrors(t *testing.T) {
	t.Parallel()
	files := map[string]string{"tab.yaml": "a: 1\nb:\n\tc: 2\n", "list.yaml": "[1]", "text.yaml": "text", "anchor.yaml": "a: *b"}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
	for _, tc := range []struct {
		flags Flags
		want  string
	}{
		{Flags{Files: []string{"tab.yaml"}}, "tab.yaml:3: found character that cannot start any token"},
		{Flags{Files: []string{"anchor.yaml"}}, "anchor.yaml: error converting YAML to JSON: yaml: unknown anchor 'b' referenced"},
		{Flags{Files: []string{"list.yaml"}}, "list.yaml: the values are not a map"},
		{Flags{Files: []string{"text.yaml"}}, "text.yaml: the values are not a map"},
		{Flags{Files: []string{"none.yaml"}}, "--values: file does not exist"},
		{Flags{Set: []string{"a"}}, `--set a: key "a" has no value`},
		{Flags{SetString: []string{"a[x]=1"}}, `--set-string a[x]=1: error parsing index: strconv.Atoi: parsing "x": invalid syntax`},
		{Flags{SetFile: []string{"a=none"}}, "--set-file a=none: file does not exist"},
	} {
		if _, err := tc.flags.Values(read); err == nil || err.Error() != tc.want {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
}
