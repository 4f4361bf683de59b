// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"encoding/hex"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Helm accepts release names of at most 53 characters. As in helm-controller, a longer name is
// replaced by its first 40 characters and the start of its digest.
const (
	maxReleaseName  = 53
	shortenedPrefix = 40
	shortenedDigest = 12
)

// ReleaseName returns the name of the release of hr in Helm's storage.
func ReleaseName(hr *helmv2.HelmRelease) string {
	name := hr.GetReleaseName()
	if len(name) <= maxReleaseName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:shortenedPrefix] + "-" + hex.EncodeToString(sum[:])[:shortenedDigest]
}
