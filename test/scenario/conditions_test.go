// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions/check"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestConditions: after each line of each scenario, the conditions follow the rules for objects of
// Flux. In three states Ready is Unknown without Reconciling, which the rules do not know: before the
// tests of a revision, while suspended, and while held at a revision that the spec does not request.
func TestConditions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := check.NewInProgressChecker(nil)
	rules.DisableFetch = true
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w := New()
		for block := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
			script, _, _ := strings.Cut(block+"\n", dashes)
			for line := range strings.Lines(script) {
				if err := w.Do(strings.TrimSpace(line)); err != nil {
					t.Fatalf("%s: %q: %v", file, line, err)
				}
				all := w.hr.Status.Conditions
				ready := apimeta.FindStatusCondition(all, helmv2.ConditionReady)
				if ready == nil || ready.Reason == helmv2.ReasonAwaitingTests || ready.Reason == helmv2.ReasonRolledBack || ready.Reason == helmv2.ReasonSuspended || w.suspended != nil && *w.suspended {
					continue
				}
				if failed, warned := rules.Check(t.Context(), w.hr); failed != nil || warned != nil {
					t.Errorf("%s: after %q: %v, %v", file, line, failed, warned)
				}
			}
		}
	}
}
