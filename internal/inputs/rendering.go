// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// rendering identifies what the spec changes in rendered manifests.
func rendering(spec *helmv2.HelmReleaseSpec) release.Rendering {
	var r release.Rendering
	if spec.PostRenderers != nil {
		r.PostRenderers = digestJSON(spec.PostRenderers)
	}
	if spec.CommonMetadata != nil {
		r.CommonMetadata = digestJSON(spec.CommonMetadata)
	}
	return r
}

// digestJSON is computed as the reference does, so that a release changes hands
// without an upgrade: over what an encoder of encoding/json writes, which depends
// on the order of the fields of our types and ends in a line break.
func digestJSON(v any) string {
	digester := digest.SHA256.Digester()
	if err := json.NewEncoder(digester.Hash()).Encode(v); err != nil {
		// Strings, and maps of them, can always be encoded.
		return ""
	}
	return digester.Digest().String()
}
