// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"time"

	"github.com/pintle-dev/pintle/internal/release"
)

// interruption returns the outage that ended the action; nil if there was none.
func (e ending) interruption(since time.Time) *release.Outage {
	if e.outage == "" {
		return nil
	}
	return &release.Outage{Server: cmp.Or(e.server, "the API server"), Since: since, Cause: e.outage}
}

// interrupt ends the action because the API server does not answer. The outcome has the record as
// known to the action.
func (a *action) interrupt(e ending, o release.Outcome, now time.Time) release.Outcome {
	known := seal(a.made)
	switch a.kind.(type) {
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
