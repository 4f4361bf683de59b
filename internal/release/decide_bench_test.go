// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// BenchmarkDecide measures one decision in three states.
func BenchmarkDecide(b *testing.B) {
	failed := inSyncInput()
	failed.Observed.Revisions = append([]Revision{testRevision(3, helmv2.StatusFailed)}, failed.Observed.Revisions...)
	changed := inSyncInput()
	changed.Desired.ConfigDigest = "sha256:other"
	for name, in := range map[string]Input{"in-sync": inSyncInput(), "out-of-sync": changed, "failed": failed} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Decide(in)
			}
		})
	}
}
