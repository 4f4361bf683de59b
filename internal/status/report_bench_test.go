// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func BenchmarkSettled(b *testing.B) {
	hr := testObject()
	in := release.Input{
		Desired: testDesired(), Observed: release.Observed{Revisions: []release.Revision{testRevision(1, helmv2.StatusDeployed)}}, Now: testNow,
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = Settled(hr, release.Decision{Action: release.Settle{}, State: release.StateInSync}, in)
	}
}

func BenchmarkFinished(b *testing.B) {
	hr := testObject()
	o := release.Outcome{
		Action: release.Upgrade{}, Desired: testDesired(), Revisions: []release.Revision{testRevision(2, helmv2.StatusDeployed)},
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = Finished(hr, o, testNow)
	}
}
