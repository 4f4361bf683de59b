// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"encoding/hex"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Helm takes release names of at most 53 characters. A longer one keeps its
// first 40 and ends in the start of the digest of the whole.
const (
	maxReleaseName  = 53
	shortenedPrefix = 40
	shortenedDigest = 12
)

// ReleaseName returns the name Helm knows the release by.
func ReleaseName(hr *helmv2.HelmRelease) string {
	name := hr.GetReleaseName()
	if len(name) <= maxReleaseName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:shortenedPrefix] + "-" + hex.EncodeToString(sum[:])[:shortenedDigest]
}
