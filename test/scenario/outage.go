// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"errors"
	"fmt"
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

// interrupt ends the action because the API server does not answer, the process ends, or another
// process has resumed it. Its revision stays pending. The outcome has the record as known to the
// action.
func (a *action) interrupt(e ending, o release.Outcome, now time.Time) release.Outcome {
	defer a.wrote()
	known := a.store.read(a.made)
	switch a.kind.(type) {
	case release.Install, release.Upgrade, release.Rollback:
		if e.unanswered {
			a.made.Modified = now
			a.endRelease(ending{})
		}
	case release.Uninstall:
		if e.unanswered {
			a.endUninstall(now)
		}
	case release.Test, release.Unlock, release.Recheck:
		if e.unanswered {
			a.end(ending{}, now)
		}
	case release.FailBake, release.CorrectDrift:
	}
	o.Revisions = append(o.Revisions, known)
	return o
}

// reached brings the running action to a stage.
func (w script) reached(word string) error {
	to := stageOf(word)
	if to == 0 {
		return fmt.Errorf("unknown stage %q", word)
	}
	w.running.reach(to)
	w.out.hooks(w.running.store)
	w.out.stored(w.running.store.observed())
	return nil
}

// other lets another process resume the running action, which then stops, or ends that action.
func (w script) other(word string) error {
	switch {
	case word == "resumes" && w.running != nil && w.running.made != nil && w.running.made.Attempt != nil && isRevision(w.running.kind):
		o := *w.running
		o.made.Attempt.Run++
		o.run = o.made.Attempt.Run
		o.wrote()
		w.elsewhere = &o
		w.out.line("resumed by another process")
		w.finish(ending{cause: fmt.Errorf("revision %d: %w", o.made.Version, release.ErrResumedElsewhere), elsewhere: true})
	case word == "resumes":
		w.out.line("nothing to resume")
	case word == "ends" && w.elsewhere != nil:
		o := w.elsewhere
		w.elsewhere = nil
		if newest := o.store.newest(); newest != o.made || !newest.Pending() || newest.Attempt == nil || newest.Attempt.Run != o.run {
			w.out.line("the other process has stopped")
			return nil
		}
		o.end(ending{}, w.now)
		w.out.hooks(o.store)
		w.out.stored(o.store.observed())
	case word == "ends":
	default:
		return errors.New("no such event of another process")
	}
	return nil
}

// shutdown ends the process and its action. The outcome is recorded if there is time.
func (w script) shutdown(recorded bool) error {
	w.out.line("shutdown")
	w.finish(ending{cause: release.ErrShutdown, cancelled: true, shutdown: true})
	if recorded {
		if err := w.record(""); err != nil {
			return err
		}
	}
	w.die()
	return nil
}
