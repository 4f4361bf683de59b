// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"slices"
	"strings"

	releaseutil "helm.sh/helm/v3/pkg/releaseutil"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// holdsClaims reports whether a manifest has PersistentVolumeClaims, or StatefulSets with templates of
// claims. It parses only documents that can have either. One that cannot be parsed counts as one that has.
func holdsClaims(manifest string) bool {
	if !mentionsClaims(manifest) {
		return false
	}
	for _, text := range releaseutil.SplitManifests(manifest) {
		if !mentionsClaims(text) {
			continue
		}
		var o claimant
		if bounded.Manifest().Unmarshal([]byte(text), &o) != nil || o.holds() {
			return true
		}
	}
	return false
}

func mentionsClaims(text string) bool {
	return strings.Contains(text, "PersistentVolumeClaim") || strings.Contains(text, "volumeClaimTemplates")
}

// claimant has the fields of an object, or of a list, that state whether it has claims.
type claimant struct {
	Kind string `json:"kind"`
	Spec struct {
		VolumeClaimTemplates []any `json:"volumeClaimTemplates"`
	} `json:"spec"`
	Items []claimant `json:"items"`
}

func (c claimant) holds() bool {
	switch c.Kind {
	case "PersistentVolumeClaim":
		return true
	case "StatefulSet":
		return len(c.Spec.VolumeClaimTemplates) > 0
	}
	return slices.ContainsFunc(c.Items, claimant.holds)
}
