// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// busy applies while an attempt runs in this process or an Operation has the lock. A deletion
// cancels the attempt, unless the attempt is the uninstall that the deletion needs. Outdated inputs
// cancel it too, since the result for old inputs is not needed. The hook of an Operation is never
// cancelled.
func busy(in Input) *Decision {
	running := in.Observed.Running
	if running == nil {
		return lockedByOperation(in)
	}
	w := Wait{}
	switch {
	case in.Desired.Deleted:
		w.Cancel = in.Desired.Deletion.obsolete(running)
	case outdated(in, running):
		w.Cancel, w.Outdated = true, true
	}
	return &Decision{Action: w, Why: fmt.Sprintf("the %s action is running", running.Action)}
}

// obsolete reports whether the running action is useless for a HelmRelease that is being deleted.
func (d Deletion) obsolete(running *Running) bool {
	return running.Action != helmv2.ActionUninstall || d.Orphan || d.NoHooks && !running.Desired.Deletion.NoHooks
}

// outdated reports whether an attempt runs with inputs that are no longer wanted. Inputs that are
// unknown or suspended do not make an attempt outdated. A hold makes all attempts outdated that do
// not lead to its revision.
func outdated(in Input, running *Running) bool {
	was, want := running.Desired, in.Desired
	switch running.Action {
	case helmv2.ActionInstall, helmv2.ActionUpgrade, helmv2.ActionRecheck:
		if want.Hold.To > 0 && !want.Suspension.Active {
			return true
		}
	case helmv2.ActionRollback:
		return was.Hold.Active && was.Hold.To != want.Hold.To && !want.Suspension.Active
	case helmv2.ActionTest, helmv2.ActionUninstall, helmv2.ActionUninstallRemediation, helmv2.ActionUnlock, helmv2.ActionCorrectDrift, helmv2.ActionBake:
		return false
	default:
		return false
	}
	if want.Suspension.Active || want.Chart.Version == "" || want.Demands.MayHold() {
		// A policy may hold the action that would replace it.
		return false
	}
	return was.Target != want.Target || was.Chart.Name != want.Chart.Name || was.Chart.Version != want.Chart.Version ||
		was.ConfigDigest != want.ConfigDigest || was.Rendering != want.Rendering
}

// operationInterval is the requeue interval of a release that an Operation locks, if no event comes
// earlier.
const operationInterval = 30 * time.Second

// lockedByOperation returns a Wait while an active Operation holds the lock, and nil otherwise.
func lockedByOperation(in Input) *Decision {
	if in.Observed.LockHolder == nil {
		return nil
	}
	return &Decision{
		Action: Wait{After: operationInterval, For: helmv2.ReasonOperationRunning},
		Why:    fmt.Sprintf("Operation %s has locked the release: Helm actions wait until it ends", in.Observed.LockHolder.Name),
	}
}

// awaitOperation applies while an Operation waits for the lock. The Operation runs between two
// actions, so that a release with endless retries does not block it. A pending revision is unlocked
// first, because the Operation waits for that.
func awaitOperation(in Input) *Decision {
	if in.Observed.WaitingOperation == nil {
		return nil
	}
	return &Decision{
		Action: Wait{After: operationInterval, For: helmv2.ReasonOperationWaiting},
		Why:    fmt.Sprintf("Operation %s waits for the release and runs next", in.Observed.WaitingOperation.Name),
	}
}

const (
	// dependentsGrace is how long a deletion waits for dependents that are not being deleted yet.
	// Objects that are deleted together arrive one by one.
	dependentsGrace = 3 * time.Second
	// dependentsLimit is how long a deletion waits for dependents that are being deleted. A
	// dependent that cannot be deleted must not block the deletion for ever.
	dependentsLimit = 10 * time.Minute
)

// Dependent is another HelmRelease that depends on a HelmRelease that is being deleted.
type Dependent struct {
	// Name is "<namespace>/<name>".
	Name string
	// Deleted is true if it is being deleted too.
	Deleted bool
	// Cycle is the path by which the deleted HelmRelease depends on this one in turn, from itself
	// to itself. It is empty if there is no cycle. Members of a cycle do not wait for each other.
	Cycle string
}

// awaitDependents delays an uninstall until the dependents are gone. Without it, an operator could
// be uninstalled before the custom resources whose finalizers it removes.
func awaitDependents(in Input) *Decision {
	if !in.Desired.Deleted {
		return nil
	}
	waited := in.Now.Sub(in.Desired.DeletedAt)
	var deleting, others []string
	for _, d := range in.Observed.Dependents {
		switch {
		case d.Cycle != "":
		case d.Deleted:
			deleting = append(deleting, d.Name)
		default:
			others = append(others, d.Name)
		}
	}
	switch {
	case len(deleting) > 0 && waited < dependentsLimit:
		return &Decision{
			Action: Wait{After: dependentsLimit - waited, Limit: dependentsLimit},
			Why:    "the release is uninstalled after its dependents, which are being deleted: HelmRelease " + strings.Join(deleting, ", "),
		}
	case len(others) > 0 && waited < dependentsGrace:
		return &Decision{Action: Wait{After: dependentsGrace - waited, Brief: true}, Why: "the dependents of the release may be deleted too"}
	}
	return nil
}

// MustFindDependents reports whether the decision depends on the HelmReleases that depend on this
// one.
func MustFindDependents(in Input) bool {
	return in.Desired.Deleted && in.Observed.Running == nil && !in.Desired.Suspension.Active
}

// DependentsMessage returns a message that lists the dependents of a release that is uninstalled
// before them. It is empty if there are none.
func DependentsMessage(in Input) string {
	var dependents []string
	for _, d := range in.Observed.Dependents {
		switch {
		case d.Cycle != "":
			dependents = append(dependents, fmt.Sprintf("HelmRelease %s, in the dependency cycle %s", d.Name, d.Cycle))
		case d.Deleted:
			dependents = append(dependents, fmt.Sprintf("HelmRelease %s, whose deletion has taken more than %s", d.Name, dependentsLimit))
		default:
			dependents = append(dependents, fmt.Sprintf("HelmRelease %s, which is not being deleted", d.Name))
		}
	}
	if len(dependents) == 0 {
		return ""
	}
	return "Uninstalled before its dependents: " + strings.Join(dependents, "; ")
}

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
	if !AppliesDesired(decideUngated(in).HelmAction()) {
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
	return AppliesDesired(decideUngated(in).HelmAction())
}

// AppliesDesired reports whether an action creates a revision from the desired inputs.
func AppliesDesired(a HelmAction) bool {
	switch a.(type) {
	case Install, Upgrade:
		return true
	case Test, Rollback, Uninstall, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return false
}
