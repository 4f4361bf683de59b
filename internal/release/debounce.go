// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

const (
	// debounceQuiet is the time without a change after which the inputs of one commit are complete.
	// Appliers write the objects of a commit one by one, rarely with longer pauses.
	debounceQuiet = 1500 * time.Millisecond
	// debouncePoll is the interval of checks whether the applier has finished.
	debouncePoll = 500 * time.Millisecond
	// debounceLimit is the longest wait after the first change. An input that changes all the time
	// must not block upgrades.
	debounceLimit = 6 * time.Second
)

// Debounce describes recent changes of objects that one applier writes: the HelmRelease, its
// source, and the objects that its values come from.
type Debounce struct {
	// First and Last are the times at which the first and the last change were observed.
	First, Last time.Time
	// Applying is true if the applier is known to be still running.
	Applying bool
}

// Remaining returns the time left to wait for further changes. It is zero or negative if the wait
// is over. A nil Debounce has no wait.
func (b *Debounce) Remaining(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	left := b.Last.Add(debounceQuiet).Sub(now)
	if left <= 0 && b.Applying {
		left = debouncePoll
	}
	return min(left, b.First.Add(debounceLimit).Sub(now))
}

// Over reports whether a change at now would start a new Debounce.
func (b *Debounce) Over(now time.Time) bool { return b == nil || now.Sub(b.Last) >= debounceQuiet }

// debounce delays an install or upgrade while objects of the same commit may still arrive. Without
// it, new values would be installed with the old chart or the reverse, followed by a second
// upgrade.
func debounce(in Input) *Decision {
	left := in.Observed.Debounce.Remaining(in.Now)
	if left <= 0 {
		return nil
	}
	in.Observed.Debounce = nil
	if !AppliesDesired(Decide(in).Action) {
		return nil
	}
	return &Decision{Action: Wait{After: left, Brief: true}, Why: "objects that are applied together are still changing"}
}

// MustCheckApplier reports whether the decision depends on whether the applier has finished.
func MustCheckApplier(in Input) bool {
	if b := in.Observed.Debounce; b == nil || !b.Over(in.Now) || !in.Now.Before(b.First.Add(debounceLimit)) {
		return false
	}
	in.Observed.Debounce = nil
	return AppliesDesired(Decide(in).Action)
}

// AppliesDesired reports whether an action creates a revision from the desired inputs.
func AppliesDesired(a Action) bool {
	switch a.(type) {
	case Install, Upgrade:
		return true
	case Test, Rollback, Uninstall, Unlock, Recheck, CorrectDrift, Finalize, Adopt, Forget, Settle, Wait, Stall:
	}
	return false
}
