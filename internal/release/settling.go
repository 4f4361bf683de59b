// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

const (
	// settlingQuiet is how long none of the inputs may have changed. What one commit
	// changes is applied object by object, and rarely with longer pauses.
	settlingQuiet = 1500 * time.Millisecond
	// settlingLook is how often is asked whether an applier is through.
	settlingLook = 500 * time.Millisecond
	// settlingBound is how long a burst of changes is waited out at most: something
	// that changes all the time is not to keep a release from ever being upgraded.
	settlingBound = 6 * time.Second
)

// Burst is a number of changes, in short order, of objects that one applier writes:
// the HelmRelease, its source, and what its values come from.
type Burst struct {
	// First and Last are when the first and the last of the changes were seen.
	First, Last time.Time
	// Applying is true if the applier is known to be still at work.
	Applying bool
}

// Left returns how much longer to wait for the rest of a burst; zero or less if it
// is over, or has been waited for long enough.
func (b *Burst) Left(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	left := b.Last.Add(settlingQuiet).Sub(now)
	if left <= 0 && b.Applying {
		left = settlingLook
	}
	return min(left, b.First.Add(settlingBound).Sub(now))
}

// Over reports whether a change at now would begin a new burst.
func (b *Burst) Over(now time.Time) bool { return b == nil || now.Sub(b.Last) >= settlingQuiet }

// settling: a commit has changed one of the inputs, and the others may be about to
// follow. Whoever acted now would run new values on the old chart, or the reverse,
// and act once more a moment later.
func settling(in Input) *Decision {
	left := in.Observed.Burst.Left(in.Now)
	if left <= 0 {
		return nil
	}
	in.Observed.Burst = nil
	if !Anew(Decide(in).Action) {
		return nil
	}
	return &Decision{Action: Wait{After: left, Brief: true}, Why: "objects that are applied together are still changing"}
}

// MustSettle reports whether the decision depends on the applier's being through,
// as far as is known without asking it.
func MustSettle(in Input) bool {
	if b := in.Observed.Burst; b == nil || !b.Over(in.Now) || !in.Now.Before(b.First.Add(settlingBound)) {
		return false
	}
	in.Observed.Burst = nil
	return Anew(Decide(in).Action)
}

// Anew reports whether an action makes a revision of what is wanted by now.
func Anew(a Action) bool {
	switch a.(type) {
	case Install, Upgrade:
		return true
	case Test, Rollback, Uninstall, Unlock, Heal, CorrectDrift, Finalize, Adopt, Forget, Settle, Wait, Stall:
	}
	return false
}
