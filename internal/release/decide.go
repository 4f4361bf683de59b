// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Input holds everything that a decision may depend on. Every field is plain data, so that an Input
// can be written as JSON and replayed.
type Input struct {
	Desired  Desired
	Observed Observed
	// Recorded is the status as last written. Its conditions are output and are never read.
	Recorded helmv2.HelmReleaseStatus
	Now      time.Time
}

// Decision is the next action and its reason.
type Decision struct {
	// Rule is the name of the rule that applied: a row of the table in docs/spec/helmreleases.md
	// and a metric label.
	Rule   string
	State  State
	Action Action
	// Why is one stable sentence for users. It has no times and no counters that change while the
	// state does not.
	Why string
}

// Acts reports whether the decision changes the cluster and must be announced in status first.
func (d Decision) Acts() bool {
	switch d.Action.(type) {
	case Install, Upgrade, Test, Rollback, Uninstall, Unlock, Recheck, CorrectDrift:
		return true
	case Finalize, Adopt, Forget, Settle, Wait, Stall:
		return false
	}
	return false
}

// rule is one entry of the policy. apply returns nil if the rule does not apply.
type rule struct {
	name  string
	apply func(Input) *Decision
}

// rules returns the policy. The first rule that applies wins. The order is part of the contract and
// is documented, with the same names, in docs/spec/helmreleases.md.
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

// RuleNames returns the names of the rules in the order in which they are tried.
func RuleNames() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Decide returns the next action.
func Decide(in Input) Decision {
	for _, r := range rules() {
		if d := r.apply(in); d != nil {
			d.Rule = r.name
			return *d
		}
	}
	// Unreachable, because inSync always applies.
	return Decision{Action: Settle{}}
}

// finalize applies to a deleted HelmRelease without a stored release of its own, without access to
// its cluster, or with a release that users want to keep. Suspending before the deletion is how
// users keep a release. A running attempt is awaited first: Helm must not write for an object that
// no longer exists.
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

// outdated reports whether an attempt runs with inputs that are no longer wanted. Inputs that are
// unknown or suspended do not make an attempt outdated.
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

// recoverRevision adopts the newest revision if this HelmRelease finished it and the process died
// before recording it. Repeating the action would create a second revision.
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
		return &Decision{Action: Adopt{}, Why: fmt.Sprintf("the recheck of revision %d was not recorded", newest.Version)}
	}
	return nil
}

// rechecked reports whether a recorded failed revision was rechecked since. Only a recheck writes
// into the record of a failed revision.
func rechecked(last *helmv2.Snapshot, newest *Revision) bool {
	return last.Version == newest.Version && last.Name == newest.Name && last.Namespace == newest.Namespace &&
		last.Status == helmv2.StatusFailed && newest.Applied && last.APIVersion == SnapshotScheme && !Verified(last, newest)
}

// deleteRelease uninstalls the release of a deleted HelmRelease.
func deleteRelease(in Input) *Decision {
	if !in.Desired.Deleted {
		return nil
	}
	return &Decision{
		Action: Uninstall{Timeout: in.Desired.Policy.UninstallTimeout, Target: ObservedTarget(in)},
		Why:    "deleted",
	}
}

// suspended comes before unlock: users suspend a release to run helm manually, and their pending
// revision must not be unlocked.
func suspended(in Input) *Decision {
	if !in.Desired.Suspended {
		return nil
	}
	return &Decision{Action: Settle{}, Why: "suspended"}
}

// forced makes the install or upgrade that a user requests, whatever the state is. It installs if
// no release is stored and takes over a release of another owner. In all other states it upgrades,
// also with exhausted retries, a due remediation, or no difference.
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

// absent applies if no revision is stored or the newest one is uninstalled.
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

// unmanaged applies if the newest stored revision is not the recorded one: a user ran helm
// manually, or the release is older than the HelmRelease. An upgrade takes the release over.
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
		// An upgrade was undone manually or in part. The state of the cluster is unknown.
		why = "the newest release in storage is superseded"
	default:
		return nil
	}
	return &Decision{
		State: StateUnmanaged, Why: why,
		Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout, TakeOver: true},
	}
}

// outOfSync applies if the deployed revision differs from the desired inputs.
func outOfSync(in Input) *Decision {
	why := difference(in)
	if why == "" {
		return nil
	}
	return &Decision{State: StateOutOfSync, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, Why: why}
}

// difference returns the first input that differs from the newest revision, or an empty string.
func difference(in Input) string {
	if why := inputChanged(in); why != "" {
		return why
	}
	return renderedOtherwise(in)
}

// inputChanged returns the difference in chart or values, or an empty string.
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

// renderedOtherwise returns the difference in post-renderers, common metadata, or the cluster state
// that the chart reads. Revisions do not record the first two, so they are compared with the
// digests of the last success in status. They are not compared again for an observed generation,
// unless a rollback has undone the revision or the last attempt was rejected.
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

// configDigest returns the digest of the values that a revision in sync has.
func configDigest(in Input) string {
	if in.Observed.PreservedDigest != "" {
		return in.Observed.PreservedDigest
	}
	return in.Desired.ConfigDigest
}

// untested applies if the newest revision is in sync and its tests were not run.
func untested(in Input) *Decision {
	if !in.Desired.Policy.Tests || Tested(Latest(in.Recorded.History)) {
		return nil
	}
	return &Decision{
		State: StateUntested, Action: Test{Timeout: in.Desired.Policy.TestTimeout},
		Why: "the tests of the newest revision were not run",
	}
}

// drifted applies if live objects differ from the stored revision. Removed objects are always
// restored. Changed objects are not corrected while Drift.Pause is set.
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

// MustCompare reports whether the decision depends on a comparison of live objects with the newest
// revision.
func MustCompare(in Input) bool {
	if in.Desired.Policy.Drift != helmv2.DriftDetectionEnabled && in.Desired.Policy.Drift != helmv2.DriftDetectionWarn {
		return false
	}
	return Decide(in).State == StateInSync
}

// inSync always applies.
func inSync(Input) *Decision {
	return &Decision{State: StateInSync, Action: Settle{}, Why: "release is in sync"}
}
