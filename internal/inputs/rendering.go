// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// rendering returns the digests of the fields that change rendered manifests, empty for fields that
// are not set.
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

// digestJSON returns "sha256:<hex>" of v as json.Encoder writes it, with a newline at the end.
// helm-controller computes the same digest, so that a release changes between the controllers
// without an upgrade. The digest depends on the order of the fields in the types of the API.
func digestJSON(v any) string {
	digester := digest.SHA256.Digester()
	if err := json.NewEncoder(digester.Hash()).Encode(v); err != nil {
		// Strings and maps of strings can always be encoded.
		return ""
	}
	return digester.Digest().String()
}
