// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var rewrite = flag.Bool("rewrite", false, "write docs/flags.md")

const documentPath = "../../docs/flags.md"

// TestDocument: docs/flags.md lists the flags of the code. With -rewrite it writes the list.
func TestDocument(t *testing.T) {
	before, _, found := strings.Cut(read(t), "<!-- generated -->")
	if !found {
		t.Fatalf("%s has no marker before the generated part", documentPath)
	}
	want := before + "<!-- generated -->\n\n" + table()
	if *rewrite {
		if err := os.WriteFile(documentPath, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, read(t)); diff != "" {
		t.Errorf("`make generate` writes it (-want +got):\n%s", diff)
	}
}

func read(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// table returns a table of helm-controller's flags, and one of Pintle's own.
func table() string {
	fs := new(Options).flags()
	var theirs, own []string
	fs.VisitAll(func(f *pflag.Flag) {
		kind, usage := pflag.UnquoteUsage(f)
		if kind == "" {
			kind = "bool"
		}
		usage, isOwn := strings.CutSuffix(usage, ownFlag)
		value := "none"
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		line := fmt.Sprintf("| `--%s` | %s | %s | %s |\n", f.Name, kind, value, strings.ReplaceAll(usage, "|", `\|`))
		if isOwn {
			own = append(own, line)
		} else {
			theirs = append(theirs, line)
		}
	})
	const head = "| flag | takes | default | meaning |\n|---|---|---|---|\n"
	return "## Flags of helm-controller\n\n" + head + strings.Join(slices.Sorted(slices.Values(theirs)), "") +
		"\n## Flags of Pintle\n\nhelm-controller does not have these flags.\n\n" + head + strings.Join(slices.Sorted(slices.Values(own)), "")
}
