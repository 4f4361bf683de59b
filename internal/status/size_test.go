// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/release"
)

func sized(bytes int, parts ...release.RecordPart) release.Outcome {
	return release.Outcome{
		Action:    release.Upgrade{},
		Desired:   release.Desired{Target: release.Target{Namespace: "apps", Name: "web"}, Chart: release.Chart{Name: "web", Version: "2.0.0"}},
		Revisions: []release.Revision{{Namespace: "apps", Name: "web", Version: 2, ChartName: "web", ChartVersion: "2.0.0"}},
		Record:    &release.RecordSize{Bytes: bytes, Limit: 1000 * kib, Reserved: 8 * kib, Parts: parts},
	}
}

func part(kind release.RecordPartKind, size int) release.RecordPart {
	return release.RecordPart{Kind: kind, Bytes: size * kib}
}

// TestTooLargeMessage: the message has the size, the largest parts and hints for them.
func TestTooLargeMessage(t *testing.T) {
	t.Parallel()
	const split = "split the chart, or move large data to a ConfigMap or Secret that is no part of it"
	for name, tc := range map[string]struct {
		bytes int
		parts []release.RecordPart
		want  string
	}{
		"Over": {
			1100 * kib,
			[]release.RecordPart{{Kind: release.PartCRDs, Bytes: 1000 * kib, Largest: "crds/a.yaml"}, part(release.PartTemplates, 99), part(release.PartRest, 1), {Kind: release.PartFiles, Bytes: 511}},
			"takes 1100 KiB in Helm's storage, compressed, which is 110 % of what a Secret holds: CRDs 1000 KiB (largest: crds/a.yaml), templates 99 KiB, metadata and notes 1 KiB. " +
				"To make it smaller: move CustomResourceDefinitions to a chart of their own",
		},
		"ByAByte": {
			1000*kib + 1,
			[]release.RecordPart{part(release.PartManifest, 1000)},
			"takes 1001 KiB in Helm's storage, compressed, which is 101 % of what a Secret holds: manifest and hooks 1000 KiB. To make it smaller: " + split,
		},
		"Room": {
			993 * kib,
			[]release.RecordPart{part(release.PartManifest, 993)},
			"takes 993 KiB in Helm's storage, compressed, which is 100 % of what a Secret holds, of which 8 KiB are reserved for the final update: manifest and hooks 993 KiB. To make it smaller: " + split,
		},
		"Hints": {
			1200 * kib,
			[]release.RecordPart{part(release.PartRenderedCRDs, 400), part(release.PartCRDs, 400), part(release.PartFiles, 300), part(release.PartValues, 100)},
			"move CustomResourceDefinitions to a chart of their own; exclude files that the templates do not read by .helmignore, and move large files out of the chart",
		},
		"Values":   {1200 * kib, []release.RecordPart{part(release.PartValues, 1200)}, "ConfigMap or Secret that the chart's objects refer to; valuesFrom does not help, as Helm stores values of all sources"},
		"Defaults": {1200 * kib, []release.RecordPart{part(release.PartDefaults, 1200)}, "chart values 1200 KiB. To make it smaller: remove unused entries from the chart's values.yaml and values.schema.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tooLargeMessage(sized(tc.bytes, tc.parts...))
			if !strings.HasPrefix(got, "Helm upgrade refused for release apps/web with chart web@2.0.0: the revision takes ") || !strings.HasSuffix(got, tc.want) {
				t.Errorf("got  %s\nwant ...%s", got, tc.want)
			}
		})
	}
}

// TestNearlyTooLarge: a stored revision of at least 80 % of the limit has an event.
func TestNearlyTooLarge(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]string{800*kib - 1: "", 800 * kib: "takes 800 KiB in Helm's storage, compressed, which is 80 % of", 992 * kib: "which is 99 % of"} {
		got := nearlyTooLarge(sized(bytes, part(release.PartFiles, bytes/kib)))
		if (len(got) > 0) != (want != "") {
			t.Fatalf("%d bytes: events %v", bytes, got)
		}
		if want != "" && (!strings.HasPrefix(got[0].Message, "Helm release apps/web.v2 with chart web@2.0.0 takes ") || !strings.Contains(got[0].Message, want) ||
			!strings.Contains(got[0].Message, "more than 992 KiB are refused: files ")) {
			t.Errorf("%d bytes: message %s", bytes, got[0].Message)
		}
	}
	unstored := sized(900 * kib)
	if unstored.Revisions = nil; len(nearlyTooLarge(unstored)) != 0 {
		t.Error("an event without a stored revision")
	}
}
