// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io"
	"testing"

	"github.com/pintle-dev/pintle/internal/options"
)

// TestFlagDefaults: the flags have the defaults of this package. The package options does not
// import it, since that would link Helm.
func TestFlagDefaults(t *testing.T) {
	o, err := options.Parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.ArtifactMaxBytes != DefaultArtifactBytes || o.ArtifactCacheBytes != DefaultCacheBytes {
		t.Errorf("--artifact-max-bytes=%d --artifact-cache-bytes=%d, want %d and %d",
			o.ArtifactMaxBytes, o.ArtifactCacheBytes, int64(DefaultArtifactBytes), int64(DefaultCacheBytes))
	}
}
