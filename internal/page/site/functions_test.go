// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"strings"
	"testing"
)

// TestProse: commands in sentences are found, in full, and digests are short.
func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"Fix the chart.": "Fix the chart.",
		"No controller answered. Is one running? kubectl pintle doctor": "No controller answered. Is one running? [kubectl pintle doctor]",
		"Approve it: kubectl pintle approve web -n apps.":               "Approve it: [kubectl pintle approve web -n apps].",
		"Run kubectl annotate hr web pintle.dev/hold-. Then wait.":      "Run [kubectl annotate hr web pintle.dev/hold-]. Then wait.",
		"a (kubectl get hr web), b; kubectl get events, c":              "a ([kubectl get hr web]), b; [kubectl get events], c",
		"by kubectl":             "by kubectl",
		"by kubectl-scale only.": "by kubectl-scale only.",
		"image app@sha256:" + strings.Repeat("0f", 32) + " is gone": "image app@sha256:0f0f0f0f0f0f… is gone",
		"sha256:0f0f": "sha256:0f0f",
	} {
		got := ""
		for _, p := range prose(text) {
			if p.Command {
				got += "[" + p.Text + "]"
			} else {
				got += p.Text
			}
		}
		if got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
