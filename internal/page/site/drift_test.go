// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
)

// renderDrift renders the content of a page about drift.
func renderDrift(t *testing.T, p *driftPage) string {
	t.Helper()
	parsed, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := parsed.pages["drift"].ExecuteTemplate(&b, "content", &layout{Content: p}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDriftPage: the page shows objects with their fields, what is left out, and what comes next.
func TestDriftPage(t *testing.T) {
	found := driftDifferencesOf(access.Drift{Compared: 4, Hidden: 2, More: 3, Diff: view.Diff{
		Revision: 7, Problems: []string{"Service apps/one: it could not be compared"}, Warnings: []string{"Job apps/one is not compared: it is excluded"},
		Drifted: []view.ObjectDiff{
			{Object: view.Object{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "gone"}, Change: view.DiffCreated},
			{Object: view.Object{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "one"}, Change: view.DiffChanged, Fields: []view.FieldDiff{
				{Path: ".data.a", From: `"<b>live</b>"`, To: `"stored"`, By: "kubectl-edit"}, {Path: ".data.b", From: `"live"`},
			}},
		},
	}})
	p := &driftPage{Namespace: "apps", Name: "web", Next: "They stay.", Differences: section[driftDifferences]{Content: &found}}
	golden(t, "drift", renderDrift(t, p))

	nothing := driftDifferencesOf(access.Drift{})
	for name, tc := range map[string]struct {
		page driftPage
		want string
	}{
		"Elsewhere": {driftPage{Elsewhere: true}, "The objects are in another cluster"},
		"Missing":   {driftPage{Differences: section[driftDifferences]{Missing: "Not shown: it is gone."}}, "Not shown: it is gone."},
		"NoRelease": {driftPage{Differences: section[driftDifferences]{Content: &nothing}}, "There is nothing to compare with."},
	} {
		if html := renderDrift(t, &tc.page); !strings.Contains(html, tc.want) || strings.Contains(html, "They stay.") {
			t.Errorf("%s:\n%s", name, html)
		}
	}
}

// TestDriftLimits: the page has a bounded number of objects, fields and texts.
func TestDriftLimits(t *testing.T) {
	var d access.Drift
	for i := range 500 {
		d.Problems, d.Warnings = append(d.Problems, "problem"), append(d.Warnings, "warning")
		d.Drifted = append(d.Drifted, view.ObjectDiff{Change: view.DiffChanged, Object: view.Object{Name: fmt.Sprint(i)}, Fields: make([]view.FieldDiff, 500)})
	}
	all := driftDifferencesOf(d)
	if len(all.Objects.Entries) != maxChanges || all.Objects.More != 500-maxChanges || len(all.Problems.Entries) != maxEntries || len(all.Warnings.Entries) != maxEntries {
		t.Errorf("%d objects, %d problems, %d warnings", len(all.Objects.Entries), len(all.Problems.Entries), len(all.Warnings.Entries))
	}
	if fields := all.Objects.Entries[0].Fields; len(fields.Entries) != maxFields || fields.More != 500-maxFields {
		t.Errorf("%d fields and %d more", len(fields.Entries), fields.More)
	}
}
