// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"time"

	"github.com/pintle-dev/pintle/internal/release"
)

// interruption is the outage that ended the action; nil if none did.
func (e ending) interruption(since time.Time) *release.Outage {
	if e.outage == "" {
		return nil
	}
	return &release.Outage{Server: "the API server", Since: since, Cause: e.outage}
}

// interrupt ends the action for want of the API server, and returns of the record what the
// action knows.
func (a *action) interrupt(e ending, o release.Outcome, now time.Time) release.Outcome {
	known := seal(a.made)
	switch a.what.(type) {
	case release.Install, release.Upgrade, release.Rollback:
		switch {
		case e.unanswered:
			a.made.Modified = now
			a.endRelease(ending{})
		case !e.unstored:
			a.made.Modified = now
			a.endRelease(e)
			known = seal(a.made)
		}
	case release.Uninstall:
		if e.unanswered {
			a.endUninstall(now)
		}
	case release.Test, release.Unlock, release.Recheck:
		if e.unanswered {
			a.end(ending{}, now)
		}
	case release.CorrectDrift, release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	o.Revisions = append(o.Revisions, known)
	return o
}
