// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// digestLength is the number of characters of a digest that become build metadata.
const digestLength = 12

// EffectiveVersion returns the version of a release whose chart comes from an artifact with the
// given revision, and the digest to record. A revision is "<tag>@<algorithm>:<hex>" or
// "<algorithm>:<hex>". The start of the digest becomes the build metadata of the version, so that a
// moved tag is a change. For a tag that is not a version, the recorded digest is the whole
// revision. These are the rules of helm-controller.
func EffectiveVersion(version, revision string) (effective, ociDigest string, err error) {
	v, err := semver.NewVersion(version)
	if err != nil {
		return "", "", fmt.Errorf("invalid chart version %s", version)
	}
	ociDigest = revision
	tag, digest, tagged := strings.Cut(revision, "@")
	if tagged {
		// A tag cannot contain "+". Helm writes "_" instead.
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
