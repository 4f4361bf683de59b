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
)

var rewrite = flag.Bool("rewrite", false, "write docs/flags.md")

const documentPath = "../../docs/flags.md"

// TestDocument holds docs/flags.md to the code; with -rewrite it is written.
func TestDocument(t *testing.T) {
	before, _, found := strings.Cut(read(t), "<!-- generated -->")
	if !found {
		t.Fatalf("%s does not say where it is generated from", documentPath)
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

// table lists all flags; those that are ours come last.
func table() string {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	new(Options).bind(fs)
	var theirs, ours []string
	fs.VisitAll(func(f *flag.Flag) {
		kind, usage := flag.UnquoteUsage(f)
		if kind == "" {
			kind = "bool"
		}
		usage, isOurs := strings.CutSuffix(usage, own)
		value := "none"
		if f.DefValue != "" {
			value = "`" + f.DefValue + "`"
		}
		line := fmt.Sprintf("| `--%s` | %s | %s | %s |\n", f.Name, kind, value, strings.ReplaceAll(usage, "|", `\|`))
		if isOurs {
			ours = append(ours, line)
		} else {
			theirs = append(theirs, line)
		}
	})
	const head = "| flag | takes | default | meaning |\n|---|---|---|---|\n"
	return "## Those of helm-controller\n\n" + head + strings.Join(slices.Sorted(slices.Values(theirs)), "") +
		"\n## Those of Pintle\n\nhelm-controller does not know them.\n\n" + head + strings.Join(slices.Sorted(slices.Values(ours)), "")
}
