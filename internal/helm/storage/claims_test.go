// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// TestHoldsClaims: claims in a manifest count, and StatefulSets that create some.
func TestHoldsClaims(t *testing.T) {
	const (
		note  = "---\n# Source: web/note.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n"
		set   = "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  serviceName: a\n"
	)
	for name, tc := range map[string]struct {
		manifest string
		want     bool
	}{
		"None":           {"", false},
		"OtherKinds":     {note, false},
		"Claim":          {note + claim, true},
		"ClaimAsJSON":    {note + `---` + "\n" + `{"apiVersion": "v1", "kind": "PersistentVolumeClaim"}`, true},
		"Set":            {note + set, false},
		"SetEmpty":       {set + "  volumeClaimTemplates: []\n", false},
		"SetNull":        {set + "  volumeClaimTemplates:\n", false},
		"SetWithClaims":  {set + "  volumeClaimTemplates:\n  - metadata: {name: data}\n", true},
		"SetAfterOthers": {note + set + set + "  volumeClaimTemplates: [{metadata: {name: data}}]\n", true},
		"List":           {"kind: List\nitems:\n- kind: ConfigMap\n- kind: PersistentVolumeClaim\n", true},
		"ListWithout":    {"kind: List\nitems:\n- kind: ConfigMap\n  data: {a: PersistentVolumeClaim}\n", false},
		"InText":         {note + "data: {a: PersistentVolumeClaim, b: volumeClaimTemplates}\n", false},
		"OfOtherKind":    {"kind: Postgres\nspec: {volumeClaimTemplates: [{a: b}]}\n", false},
		"Unreadable":     {note + "---\nkind: PersistentVolumeClaim\n  a: {\n", true},
	} {
		if got := holdsClaims(tc.manifest); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
		if got := toRevision(&helmrelease.Release{Manifest: tc.manifest}, nil).HoldsClaims; got != tc.want {
			t.Errorf("%s: the revision has %t", name, got)
		}
	}
}
