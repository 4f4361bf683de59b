// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"
)

// TestStale: the pauses double, from StaleRetry to a second, and begin anew with another version.
func TestStale(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var s Stale
	if s.Is("") {
		t.Error("the zero value is a version")
	}
	begin := now
	for _, want := range []time.Duration{20, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		s.Found("1", now)
		if got := s.Pause(now); got != want*time.Millisecond {
			t.Errorf("after %s the pause is %s, want %s", now.Sub(begin), got, want*time.Millisecond)
		}
		now = now.Add(s.Pause(now))
	}
	s.Found("2", now)
	if s.Is("1") || !s.Is("2") || s.Pause(now) != StaleRetry {
		t.Errorf("another version: %+v, pause %s", s, s.Pause(now))
	}
}
