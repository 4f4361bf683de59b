// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Input is all a decision may depend on. Every field is plain data, so an Input
// can be written as JSON and replayed.
type Input struct {
	Desired  Desired
	Observed Observed
	// Recorded is the status as last written. Its conditions are never read:
	// they are output.
	Recorded helmv2.HelmReleaseStatus
	Now      time.Time
}

// Decision is the one thing to do next, and why.
type Decision struct {
	// Rule that applied: a row of the table in docs/spec and a metric label.
	Rule   string
	State  State
	Action Action
	// Why is one stable sentence for people: no times, no counters that change
	// while nothing happens.
	Why string
}

// Acts reports whether the decision changes the world, and so must be announced
// before it begins.
func (d Decision) Acts() bool {
	switch d.Action.(type) {
	case Install, Upgrade, Uninstall, Unlock:
		return true
	case Finalize, Adopt, Settle, Wait, Stall:
		return false
	}
	return false
}

// rule returns nil when it does not apply.
type rule struct {
	name  string
	apply func(Input) *Decision
}

// rules is the policy: the first rule that applies wins. The order is part of
// the contract and stands, with the same names, in docs/spec/helmreleases.md.
func rules() []rule {
	return []rule{
		{"Finalize", finalize},
		{"Held", held},
		{"Recover", recoverRevision},
		{"Delete", deleteRelease},
		{"Suspended", suspended},
		{"Unlock", unlock},
		{"Forced", forced},
		{"Absent", absent},
		{"Unmanaged", unmanaged},
		{"Failed", failed},
		{"OutOfSync", outOfSync},
		{"InSync", inSync},
	}
}

// RuleNames returns the names of the rules in the order they are tried.
func RuleNames() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Decide returns the one thing to do next.
func Decide(in Input) Decision {
	for _, r := range rules() {
		if d := r.apply(in); d != nil {
			d.Rule = r.name
			return *d
		}
	}
	// inSync applies always, so this is out of reach.
	return Decision{Action: Settle{}}
}

// finalize: being deleted, and nothing of ours is stored, or the object was
// suspended first, which is how people keep a release whose HelmRelease they
// remove. A running attempt is awaited: letting go under it would leave Helm
// writing for an object that no longer exists.
func finalize(in Input) *Decision {
	if !in.Desired.Deleted || in.Observed.Running != nil {
		return nil
	}
	switch {
	case in.Desired.Suspended:
		return &Decision{Action: Finalize{}, Why: "deleted while suspended: the release stays"}
	case !ours(in):
		return &Decision{State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"}
	}
	return nil
}

// ours reports whether Helm storage holds a release that this HelmRelease made
// or took over, and that is not uninstalled yet.
func ours(in Input) bool {
	newest := in.Observed.Newest()
	if newest == nil || newest.Status == helmv2.StatusUninstalled {
		return false
	}
	if len(in.Recorded.History) > 0 {
		return true
	}
	for i := range in.Observed.Revisions {
		if in.Observed.Revisions[i].Owner == in.Desired.UID {
			return true
		}
	}
	return false
}

// held: an attempt still runs here. Whatever is wanted now has to wait for it;
// a deletion no longer cares whether objects become ready, and cancels, unless
// what runs is the uninstall that it asked for.
func held(in Input) *Decision {
	running := in.Observed.Running
	if running == nil {
		return nil
	}
	return &Decision{
		Action: Wait{Cancel: in.Desired.Deleted && running.Action != helmv2.ActionUninstall},
		Why:    fmt.Sprintf("the %s action is running", running.Action),
	}
}

// recoverRevision: we made the newest revision and finished it, and died before
// writing it down. Doing the action again would make a second one.
func recoverRevision(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest == nil || newest.Owner != in.Desired.UID || in.Desired.UID == "" {
		return nil
	}
	if newest.Status != helmv2.StatusDeployed && newest.Status != helmv2.StatusFailed {
		return nil
	}
	if last := Latest(in.Recorded.History); last != nil && last.Version >= newest.Version {
		return nil
	}
	return &Decision{Action: Adopt{}, Why: fmt.Sprintf("revision %d was made but not recorded", newest.Version)}
}

// deleteRelease: being deleted, and finalize found something of ours.
func deleteRelease(in Input) *Decision {
	if !in.Desired.Deleted {
		return nil
	}
	return &Decision{
		Action: Uninstall{Timeout: in.Desired.Policy.UninstallTimeout, Target: StoredTarget(in.Desired, in.Recorded)},
		Why:    "deleted",
	}
}

// suspended stands before unlock on purpose: people suspend a release to run
// helm by hand, and their pending revision is none of our business.
func suspended(in Input) *Decision {
	if !in.Desired.Suspended {
		return nil
	}
	return &Decision{Action: Settle{}, Why: "suspended"}
}

// unlock: the newest revision is pending although nothing runs here. If we made
// it, the process that ran it is dead. If somebody else made it, it is left
// alone until it is older than any action may take.
func unlock(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest == nil || !newest.Pending() {
		return nil
	}
	if newest.Owner != in.Desired.UID || in.Desired.UID == "" {
		limit := max(in.Desired.Policy.Install.Timeout, in.Desired.Policy.Upgrade.Timeout)
		if left := newest.Touched().Add(limit).Sub(in.Now); left > 0 {
			return &Decision{
				State: StateLocked, Action: Wait{After: left},
				Why: fmt.Sprintf("revision %d is %s by somebody else", newest.Version, newest.Status),
			}
		}
	}
	return &Decision{
		State: StateLocked, Action: Unlock{Version: newest.Version, Status: newest.Status},
		Why: fmt.Sprintf("release with status '%s'", newest.Status),
	}
}

// forced: a user asks for an install or upgrade, whatever the state. It is made
// as the state wants it made: an install where nothing is, a take-over where the
// release is not ours, an upgrade in any other case, be it that the budget is
// spent or that there is nothing to do.
func forced(in Input) *Decision {
	if requests := in.Desired.Requests; !requests.ForceAsked(&in.Recorded) && !requests.ForceBegun(&in.Recorded) {
		return nil
	}
	for _, found := range []func(Input) *Decision{absent, unmanaged, failed, outOfSync, inSync} {
		d := found(in)
		if d == nil {
			continue
		}
		if !d.Acts() {
			d.Action = Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}
		}
		d.Why = "forced by request: " + d.Why
		return d
	}
	return nil
}

// absent: nothing is stored, or what is stored was uninstalled.
func absent(in Input) *Decision {
	newest := in.Observed.Newest()
	switch {
	case newest == nil:
		return &Decision{State: StateAbsent, Action: Install{Timeout: in.Desired.Policy.Install.Timeout}, Why: "no release in storage for object"}
	case newest.Status == helmv2.StatusUninstalled:
		return &Decision{State: StateAbsent, Action: Install{Timeout: in.Desired.Policy.Install.Timeout}, Why: "found uninstalled release in storage"}
	}
	return nil
}

// unmanaged: the newest stored revision is not the one we recorded. Somebody ran
// helm by hand, or the release is older than the HelmRelease: either way the
// desired state is brought about by taking it over.
func unmanaged(in Input) *Decision {
	newest, last := in.Observed.Newest(), Latest(in.Recorded.History)
	var why string
	switch {
	case last == nil:
		why = "found existing release in storage"
	case last.Name != newest.Name || last.Namespace != newest.Namespace || last.Version != newest.Version:
		why = "release not observed to be made for object"
	case !Verified(last, newest):
		why = "release digest verification error"
	default:
		return nil
	}
	return &Decision{
		State: StateUnmanaged, Why: why,
		Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout, TakeOver: true},
	}
}

// failed: the newest revision failed. It is tried again as long as its budget
// lasts; the budget starts anew when what is wanted changes, or on request.
func failed(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest.Status == helmv2.StatusDeployed {
		return nil
	}
	if newest.Status != helmv2.StatusFailed {
		return &Decision{
			State: StateUnknown, Action: Stall{Reason: helmv2.ReasonStateError},
			Why: fmt.Sprintf("revision %d has status '%s', which no action starts from", newest.Version, newest.Status),
		}
	}
	action, failures, retries := budget(in)
	if retries >= 0 && failures > int64(retries) {
		return &Decision{
			State: StateFailed, Action: Stall{Reason: helmv2.ReasonRetriesExceeded},
			Why: fmt.Sprintf("Failed to %s after %d attempt(s)", action, failures),
		}
	}
	return &Decision{
		State: StateFailed, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout},
		Why: fmt.Sprintf("revision %d failed", newest.Version),
	}
}

// budget returns the action whose failures count, how often it has failed and
// how many failures are forgiven.
func budget(in Input) (action helmv2.ReleaseAction, failures int64, retries int) {
	status := ResetCounters(in.Recorded, in.Desired)
	if status.LastAttemptedReleaseAction == helmv2.ActionInstall {
		return helmv2.ActionInstall, status.InstallFailures, in.Desired.Policy.Install.Retries
	}
	if status.LastAttemptedReleaseAction == helmv2.ActionUpgrade {
		return helmv2.ActionUpgrade, status.UpgradeFailures, in.Desired.Policy.Upgrade.Retries
	}
	return "", 0, -1
}

// outOfSync: what is deployed is not what is wanted.
func outOfSync(in Input) *Decision {
	newest, want := in.Observed.Newest(), in.Desired
	var why string
	switch {
	case newest.ChartName != want.Chart.Name || newest.ChartVersion != want.Chart.Version:
		why = "release chart changed"
	case newest.ConfigDigest != want.ConfigDigest:
		why = "release config values changed"
	default:
		return nil
	}
	return &Decision{State: StateOutOfSync, Action: Upgrade{Timeout: want.Policy.Upgrade.Timeout}, Why: why}
}

// inSync: nothing to do until something changes.
func inSync(Input) *Decision {
	return &Decision{State: StateInSync, Action: Settle{}, Why: "release is in sync"}
}
