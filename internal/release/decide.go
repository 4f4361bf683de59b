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
	case Install, Upgrade, Test, Rollback, Uninstall, Unlock, Recheck, CorrectDrift:
		return true
	case Finalize, Adopt, Forget, Settle, Wait, Stall:
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
		{"Busy", busy},
		{"Recover", recoverRevision},
		{"AwaitDependents", awaitDependents},
		{"Delete", deleteRelease},
		{"Suspended", suspended},
		{"OwnershipConflict", ownershipConflict},
		{"Unlock", unlock},
		{"AwaitOperation", awaitOperation},
		{"TargetMoved", targetMoved},
		{"Forced", forced},
		{"Debounce", debounce},
		{"BecameReady", becameReady},
		{"TooLarge", tooLarge},
		{"RetriesExhausted", retriesExhausted},
		{"AwaitRetry", awaitRetry},
		{"Absent", absent},
		{"Unmanaged", unmanaged},
		{"Failed", failed},
		{"OutOfSync", outOfSync},
		{"Untested", untested},
		{"Drifted", drifted},
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

// finalize: being deleted, and nothing of ours is stored, or there is no way to
// it any more, or the object was suspended first, which is how people keep a
// release whose HelmRelease they remove. A running attempt is awaited: letting go
// under it would leave Helm writing for an object that no longer exists.
func finalize(in Input) *Decision {
	if !in.Desired.Deleted || in.Observed.Running != nil {
		return nil
	}
	switch {
	case in.Desired.Suspended:
		return &Decision{Action: Finalize{}, Why: "deleted while suspended: the release stays"}
	case in.Desired.Deletion.Orphan:
		return &Decision{Action: Finalize{}, Why: "deleted with annotation " + helmv2.AnnotationOrphan + ": the release stays"}
	case in.Observed.Unreachable != "":
		return &Decision{Action: Finalize{}, Why: "deleted, and the release cannot be reached: " + in.Observed.Unreachable}
	case !ours(in):
		return &Decision{State: StateAbsent, Action: Finalize{}, Why: "deleted, and no release of this object is stored"}
	}
	return nil
}

// held: an attempt still runs here, or a living Operation has the release. Whatever
// is wanted now has to wait for it. A deletion no longer cares whether objects
// become ready, and cancels, unless what runs is the uninstall that it asked for.
// So do newer inputs: nobody needs to know any more how the older ones would have
// ended. The hook of an Operation is not ours to cancel.
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

// outdated reports whether an attempt works towards something that is no longer
// wanted. What cannot be known at the moment, or is suspended, changes nothing.
func outdated(in Input, running *Running) bool {
	if a := running.Action; a != helmv2.ActionInstall && a != helmv2.ActionUpgrade && a != helmv2.ActionRecheck {
		return false
	}
	was, want := running.Desired, in.Desired
	if want.Suspended || want.Chart.Version == "" {
		return false
	}
	return was.Target != want.Target || was.Chart.Name != want.Chart.Name || was.Chart.Version != want.Chart.Version ||
		was.ConfigDigest != want.ConfigDigest || was.Rendering != want.Rendering
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
	last := Latest(in.Recorded.History)
	if last == nil || last.Version < newest.Version {
		return &Decision{Action: Adopt{}, Why: fmt.Sprintf("revision %d was made but not recorded", newest.Version)}
	}
	if rechecked(last, newest) {
		return &Decision{Action: Adopt{}, Why: fmt.Sprintf("another look at revision %d was not recorded", newest.Version)}
	}
	return nil
}

// lookedAt reports whether a failed revision, as it was recorded, has been looked
// at again since: nothing else writes into the record of a failed revision.
func rechecked(last *helmv2.Snapshot, newest *Revision) bool {
	return last.Version == newest.Version && last.Name == newest.Name && last.Namespace == newest.Namespace &&
		last.Status == helmv2.StatusFailed && newest.Applied && last.APIVersion == SnapshotScheme && !Verified(last, newest)
}

// deleteRelease: being deleted, and finalize found something of ours.
func deleteRelease(in Input) *Decision {
	if !in.Desired.Deleted {
		return nil
	}
	return &Decision{
		Action: Uninstall{Timeout: in.Desired.Policy.UninstallTimeout, Target: ObservedTarget(in)},
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

// forced: a user asks for an install or upgrade, whatever the state. It is made
// as the state wants it made: an install where nothing is, a take-over where the
// release is not ours, an upgrade in any other case, be it that the budget is
// spent, that a remedy is due, or that there is nothing to do.
func forced(in Input) *Decision {
	if requests := in.Desired.Requests; !requests.ForceRequested(&in.Recorded) && !requests.ForceBegun(&in.Recorded) {
		return nil
	}
	for _, found := range []func(Input) *Decision{absent, unmanaged, failed, outOfSync, inSync} {
		d := found(in)
		if d == nil {
			continue
		}
		switch d.Action.(type) {
		case Install, Upgrade:
		case Test, Rollback, Uninstall, Unlock, Recheck, CorrectDrift, Finalize, Adopt, Forget, Settle, Wait, Stall:
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
	case newest.Status == helmv2.StatusSuperseded:
		// An upgrade that was undone by hand, or by halves. What is in the cluster is
		// anybody's guess.
		why = "the newest release in storage is superseded"
	default:
		return nil
	}
	return &Decision{
		State: StateUnmanaged, Why: why,
		Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout, TakeOver: true},
	}
}

// outOfSync: what is deployed is not what is wanted.
func outOfSync(in Input) *Decision {
	why := difference(in)
	if why == "" {
		return nil
	}
	return &Decision{State: StateOutOfSync, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, Why: why}
}

// difference names the first input that differs from what the newest revision
// was made of; empty if none does.
func difference(in Input) string {
	if why := inputChanged(in); why != "" {
		return why
	}
	return renderedOtherwise(in)
}

// inputChanged names what of chart and values differs.
func inputChanged(in Input) string {
	newest, want := in.Observed.Newest(), in.Desired
	switch {
	case newest.ChartName != want.Chart.Name || newest.ChartVersion != want.Chart.Version:
		return "release chart changed"
	case newest.ConfigDigest != configDigest(in):
		return "release config values changed"
	}
	return ""
}

// renderedOtherwise names what is to be changed in manifests and is not in those
// of the newest revision that worked. No revision says what was changed in it:
// status does, for the last success. Once a generation was dealt with it is as it
// should be, unless a rollback has undone it, it was rejected, or the chart reads the cluster.
func renderedOtherwise(in Input) string {
	want := in.Desired
	if found := in.Observed.Drift; found != nil && found.Rendering != "" && want.Policy.Drift == helmv2.DriftDetectionEnabled {
		return found.Rendering
	}
	switch {
	case in.Recorded.ObservedGeneration == want.Generation && !in.Observed.Newest().Rollback && !Rejected(in.Recorded):
		return ""
	case in.Recorded.ObservedPostRenderersDigest != want.Rendering.PostRenderers:
		return "postRenderers digest changed"
	case in.Recorded.ObservedCommonMetadataDigest != want.Rendering.CommonMetadata:
		return "commonMetadata digest changed"
	}
	return ""
}

// configDigest is of the values a revision in sync has.
func configDigest(in Input) string {
	if in.Observed.PreservedDigest != "" {
		return in.Observed.PreservedDigest
	}
	return in.Desired.ConfigDigest
}

// untested: the newest revision is as it should be, and its tests were not run.
func untested(in Input) *Decision {
	if !in.Desired.Policy.Tests || Tested(Latest(in.Recorded.History)) {
		return nil
	}
	return &Decision{
		State: StateUntested, Action: Test{Timeout: in.Desired.Policy.TestTimeout},
		Why: "the tests of the newest revision were not run",
	}
}

// drifted: what is stored is what is wanted, but the objects in the cluster are
// not what is stored. What was removed is put back in any case; what was changed
// only while that does not happen again and again.
func drifted(in Input) *Decision {
	found := in.Observed.Drift
	if found == nil || len(found.Objects) == 0 && found.Rendering == "" {
		return nil
	}
	d := &Decision{State: StateDrifted, Action: Settle{}, Why: "live objects differ from the release"}
	if in.Desired.Policy.Drift != helmv2.DriftDetectionEnabled {
		return d
	}
	if found.Pause > 0 && !found.Removed() {
		d.Why += ", and are changed again as soon as they are corrected"
		return d
	}
	d.Action = CorrectDrift{Timeout: in.Desired.Policy.DriftTimeout, Drift: *found, OnlyRemoved: found.Pause > 0}
	return d
}

// MustCompare reports whether the decision depends on live objects' being as the
// newest revision has them. It saves the comparison where it does not.
func MustCompare(in Input) bool {
	if in.Desired.Policy.Drift != helmv2.DriftDetectionEnabled && in.Desired.Policy.Drift != helmv2.DriftDetectionWarn {
		return false
	}
	return Decide(in).State == StateInSync
}

// inSync: nothing to do until something changes.
func inSync(Input) *Decision {
	return &Decision{State: StateInSync, Action: Settle{}, Why: "release is in sync"}
}
