// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"time"
)

// Spread is a distribution of durations in seconds. Unfinished ones count as slower than all
// finished ones, with the time waited so far.
type Spread struct {
	Count  int     `json:"count"`
	Left   int     `json:"left"`
	Median float64 `json:"medianSeconds"`
	P95    float64 `json:"p95Seconds"`
	Worst  float64 `json:"worstSeconds"`
}

// NewSpread returns the distribution of finished times and unfinished ones in left.
func NewSpread(times, left []time.Duration) Spread {
	times = slices.Concat(slices.Sorted(slices.Values(times)), slices.Sorted(slices.Values(left)))
	s := Spread{Count: len(times), Left: len(left)}
	of := func(percent int) float64 {
		if s.Count == 0 {
			return 0
		}
		return times[s.rank(percent)].Seconds()
	}
	s.Median, s.P95, s.Worst = of(50), of(95), of(100)
	return s
}

// rank is the nearest rank of a percentile.
func (s Spread) rank(percent int) int { return max(0, (percent*s.Count+99)/100-1) }

// Known reports whether a percentile is a finished time.
func (s Spread) Known(percent int) bool { return s.Count > 0 && s.rank(percent) < s.Count-s.Left }
