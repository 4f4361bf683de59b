// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// digestLength is how many characters of a digest become build metadata.
const digestLength = 12

// EffectiveVersion returns the version a chart is released as when it comes from an
// artifact with the given revision, and the digest to record with it. Revisions
// are "<tag>@<algorithm>:<hex>" or "<algorithm>:<hex>". The start of the digest
// becomes the version's build metadata, so that a tag that was moved is seen as
// a change.
func EffectiveVersion(version, revision string) (effective, ociDigest string, err error) {
	v, err := semver.NewVersion(version)
	if err != nil {
		return "", "", fmt.Errorf("invalid chart version %s", version)
	}
	ociDigest = revision
	tag, digest, tagged := strings.Cut(revision, "@")
	if tagged {
		// A registry cannot hold a "+" in a tag; Helm writes "_" for it.
		t, err := semver.NewVersion(strings.ReplaceAll(tag, "_", "+"))
		if err == nil {
			if !t.Equal(v) {
				return "", "", fmt.Errorf("artifact revision %s does not match chart version %s", tag, version)
			}
			ociDigest = digest
		}
	} else {
		digest = revision
	}
	_, hex, ok := strings.Cut(digest, ":")
	if !ok || strings.Contains(hex, ":") || len(hex) < digestLength {
		return "", "", fmt.Errorf("invalid artifact revision %s", revision)
	}
	mutated, err := v.SetMetadata(hex[:digestLength])
	if err != nil {
		return "", "", fmt.Errorf("invalid artifact revision %s", revision)
	}
	return mutated.String(), ociDigest, nil
}
