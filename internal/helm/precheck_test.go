// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestTooLargeWritesNothing: neither objects nor what Helm does to older revisions
// before it stores a new one.
func TestTooLargeWritesNothing(t *testing.T) {
	for name, disabled := range map[string]bool{"Checked": false, "Unchecked": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one := 1
			files := note()
			act := func(a release.Action, files map[string]string, version string) release.Outcome {
				j := job(a, w.chart(version, files), version, nil)
				j.Spec.MaxHistory = &one
				j.Spec.Upgrade = &helmv2.Upgrade{DisableOpenAPIValidation: disabled}
				return w.runner.Run(t.Context(), w.conn, j)
			}
			if out := act(release.Install{Timeout: time.Minute}, files, "1.0.0"); out.Err != nil || out.Record != nil {
				t.Fatalf("record %+v, %v", out.Record, out.Err)
			}
			if out := act(release.Upgrade{Timeout: time.Minute}, files, "1.0.1"); out.Err != nil {
				t.Fatal(out.Err)
			}
			before := len(w.Requests)
			files["files/blob"] = string(blob(800<<10, 1))
			out := act(release.Upgrade{Timeout: time.Minute}, files, "2.0.0")
			if !out.Oversized() || out.Record.Parts[0].Kind != release.PartFiles || out.Record.Parts[0].Largest != "files/blob" || out.Inventory != nil {
				t.Errorf("refused %t: %v, record %+v", out.Oversized(), out.Err, out.Record)
			}
			if wrote := w.Requests[before:]; len(wrote) > 0 {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

func TestServedAPIs(t *testing.T) {
	t.Parallel()
	file := "kind: ConfigMap\n---\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n  names: {kind: Thing}\n  versions:\n" +
		"  - {name: v2, served: true}\n  - {name: v1, served: false}\n---\n{\n"
	if diff := cmp.Diff([]string{"example.com/v2", "example.com/v2/Thing"}, servedAPIs(file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
