// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestUnsupportedMatchesDocument holds the list that users read against the one
// that refuses them.
func TestUnsupportedMatchesDocument(t *testing.T) {
	raw, err := os.ReadFile("../../docs/spec/helmreleases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "\n## Not supported yet\n")
	if !found {
		t.Fatal("the document has no section Not supported yet")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	var documented, refused []string
	for line := range strings.SplitSeq(section, "\n") {
		if item, ok := strings.CutPrefix(line, "- `"); ok {
			path, _, _ := strings.Cut(item, "`")
			documented = append(documented, path)
		}
	}
	for _, f := range unsupported(&helmv2.HelmReleaseSpec{Install: &helmv2.Install{}, Upgrade: &helmv2.Upgrade{}}, Settings{}) {
		refused = append(refused, f.path)
	}
	slices.Sort(documented)
	slices.Sort(refused)
	if diff := cmp.Diff(refused, documented); diff != "" {
		t.Errorf("docs/spec/helmreleases.md lists other fields (-code +document):\n%s", diff)
	}
}
