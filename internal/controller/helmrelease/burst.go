// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"time"

	"github.com/pintle-dev/pintle/internal/release"
)

// debounceState records when the inputs of one HelmRelease changed that its applier writes. Objects
// that exist at the start of the process are no change.
type debounceState struct {
	// tracked is true if another input of the HelmRelease has the same applier.
	tracked bool
	// generations are the generations of the HelmRelease and of its source. The second is zero if
	// the source has another applier.
	generations [2]int64
	burst       *release.Debounce
}

// RecordChange records that an input changes now.
func (s *debounceState) RecordChange(now time.Time) {
	if s.tracked {
		s.burst = extend(s.burst, now)
	}
}

// Observe records the generations that a reconciliation observes. The first ones are no change.
func (s *debounceState) Observe(generations [2]int64, now time.Time) {
	if s.tracked && s.generations == generations {
		return
	}
	if s.tracked {
		s.burst = extend(s.burst, now)
	}
	s.tracked, s.generations = true, generations
}

// Burst returns the latest burst; nil if there was none since the last action.
func (s *debounceState) Burst() *release.Debounce {
	if s.burst == nil {
		return nil
	}
	found := *s.burst
	return &found
}

// EndBurst ends the burst: later changes start another.
func (s *debounceState) EndBurst() { s.burst = nil }

func extend(b *release.Debounce, now time.Time) *release.Debounce {
	if b.Over(now) {
		return &release.Debounce{First: now, Last: now}
	}
	return &release.Debounce{First: b.First, Last: now}
}
