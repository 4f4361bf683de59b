// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/diagnosis"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected findings in testdata")

const below = "=====\n"

// TestGolden: each file of testdata has facts above the separator, and the finding below it. The
// flag -rewrite replaces the findings, to be reviewed as a diff.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			above, want, _ := strings.Cut(string(raw), below)
			var facts diagnosis.Facts
			if err := yaml.UnmarshalStrict([]byte(above), &facts); err != nil {
				t.Fatal(err)
			}
			got := format(diagnosis.Find(facts))
			if strings.Contains(got, "hunter2") {
				t.Errorf("the finding contains a secret:\n%s", got)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(above+below+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func format(f diagnosis.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Summary)
	if !f.Sure {
		b.WriteString("(not sure)\n")
	}
	if f.Hopeless {
		fmt.Fprintf(&b, "hopeless after %s\n", f.Patience)
	}
	fmt.Fprintf(&b, "mark %s\n\n%s\n", f.Mark, strings.Join(f.Details, "\n"))
	for _, l := range f.Logs {
		fmt.Fprintf(&b, "\nlog of %s:\n%s\n", l.Container, l.Text)
	}
	return b.String()
}
