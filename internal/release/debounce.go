// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

const (
	// settlingQuiet is how long none of the inputs may have changed. What one commit
	// changes is applied object by object, and rarely with longer pauses.
	debounceQuiet = 1500 * time.Millisecond
	// settlingLook is how often is asked whether an applier is through.
	debouncePoll = 500 * time.Millisecond
	// settlingBound is how long a burst of changes is waited out at most: something
	// that changes all the time is not to keep a release from ever being upgraded.
	debounceLimit = 6 * time.Second
)

// Burst is a number of changes, in short order, of objects that one applier writes:
// the HelmRelease, its source, and what its values come from.
type Debounce struct {
	// First and Last are when the first and the last of the changes were seen.
	First, Last time.Time
	// Applying is true if the applier is known to be still at work.
	Applying bool
}

// Left returns how much longer to wait for the rest of a burst; zero or less if it
// is over, or has been waited for long enough.
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

// Over reports whether a change at now would begin a new burst.
func (b *Debounce) Over(now time.Time) bool { return b == nil || now.Sub(b.Last) >= debounceQuiet }

// settling: a commit has changed one of the inputs, and the others may be about to
// follow. Whoever acted now would run new values on the old chart, or the reverse,
// and act once more a moment later.
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

// MustSettle reports whether the decision depends on the applier's being through,
// as far as is known without asking it.
func MustCheckApplier(in Input) bool {
	if b := in.Observed.Debounce; b == nil || !b.Over(in.Now) || !in.Now.Before(b.First.Add(debounceLimit)) {
		return false
	}
	in.Observed.Debounce = nil
	return AppliesDesired(Decide(in).Action)
}

// Anew reports whether an action makes a revision of what is wanted by now.
func AppliesDesired(a Action) bool {
	switch a.(type) {
	case Install, Upgrade:
		return true
	case Test, Rollback, Uninstall, Unlock, Recheck, CorrectDrift, Finalize, Adopt, Forget, Settle, Wait, Stall:
	}
	return false
}
