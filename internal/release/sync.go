// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Synced describes a reconciliation that found a release in sync.
type Synced struct {
	// Desired and Status are the desired state and the status at its end.
	Desired Desired
	Status  helmv2.HelmReleaseStatus
	// Until is the time of the next comparison with the cluster.
	Until time.Time
}

// CachedFor returns how long a release counts as in sync without another comparison with the
// cluster. It returns zero if something may have changed. A change of a ConfigMap in a key that is
// not used triggers the HelmReleases that use another key: Helm storage need not be read for them
// again. Nor need it for a new revision of the source that has the same chart, and for a new content that
// leaves the values as they are.
func CachedFor(in Input) time.Duration {
	have, want := in.Observed, in.Desired
	if have.Synced != nil {
		want.SourceRevision, want.ValuesFrom = have.Synced.Desired.SourceRevision, have.Synced.Desired.ValuesFrom
	}
	if have.Synced == nil || have.Running != nil || have.LockHolder != nil || have.WaitingOperation != nil ||
		want.Deleted || want.Suspension.Active ||
		!reflect.DeepEqual(have.Synced.Desired, want) || !equality.Semantic.DeepEqual(have.Synced.Status, in.Recorded) {
		return 0
	}
	return max(0, have.Synced.Until.Sub(in.Now))
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
	if why := inputChange(in); why != "" {
		return why
	}
	return renderedOtherwise(in)
}

// inputChange returns the difference in chart or values, or an empty string.
func inputChange(in Input) string {
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

// Pending returns the install, upgrade, or uninstall before an install, that makes the newest revision
// one of the desired inputs. It ignores what delays or replaces the action: waits, gates, remediation
// and exhausted retries. It returns nil if the release is in sync.
func Pending(in Input) *Decision {
	in.Observed.Target = &TargetCheck{}
	for _, found := range []func(Input) *Decision{targetMoved, reinstall, absent, unmanaged, failed, outOfSync} {
		d := found(in)
		if d == nil {
			continue
		}
		switch a := d.HelmAction().(type) {
		case Install, Upgrade:
			return d
		case Uninstall:
			if !a.Remediation {
				return d
			}
		case Test, Rollback, Unlock, Recheck, FailBake, CorrectDrift:
		}
		d.Action = Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}
		return d
	}
	return nil
}

// untested applies if the newest revision is in sync and its tests were not run.
func untested(in Input) *Decision {
	if !in.Desired.Policy.Tests || Tested(Latest(in.Recorded.History)) {
		return nil
	}
	if !testable(in) {
		return remake(in)
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
	if !proven(in, in.Observed.Newest()) {
		d.Why += ", which is not corrected: nothing proves what the record of the release was when it was made"
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
	d := decideGated(in)
	return d.State == StateInSync || d.State == StateRolledBack || isHeldDeployed(d)
}

// KeepInputs returns d with the inputs of the newest revision in place of those in the spec, whose
// chart or values a policy refuses. The release stays at that revision then. recorded is the status. While an
// action is running, no chart is desired, so that the action is not outdated.
func (d Desired) KeepInputs(recorded helmv2.HelmReleaseStatus, running *Running) Desired {
	d.Chart, d.ConfigDigest = Chart{}, ""
	d.Target = StoredTarget(d, recorded)
	d.Rendering = Rendering{PostRenderers: recorded.ObservedPostRenderersDigest, CommonMetadata: recorded.ObservedCommonMetadataDigest}
	if last := Latest(recorded.History); last != nil && running == nil {
		d.Chart = Chart{Name: last.ChartName, Version: last.ChartVersion, AppVersion: last.AppVersion, OCIDigest: last.OCIDigest}
		d.ConfigDigest = last.ConfigDigest
	}
	return d
}

// IsDesired reports whether the newest revision has the inputs in the spec. A release may be held at
// another one, by a request or a policy.
func IsDesired(in Input) bool { return decideGated(in).Rule == RuleInSync }

// inSync always applies.
func inSync(Input) *Decision {
	return &Decision{State: StateInSync, Action: Settle{}, Why: "release is in sync"}
}

const (
	// maxRenderUpgrades is how many upgrades in a row, each within renderUpgradesWithin of the one
	// before, a chart may cause because it renders differently. After more, the renderings count as
	// unstable.
	maxRenderUpgrades    = 3
	renderUpgradesWithin = time.Hour
)

// MustRender reports whether the chart of the newest revision may render differently than it did
// last. That is so if the capabilities of the API server have changed. Where only rendering can
// detect a change, it is so on request and after half an interval. A failed one is repeated. It is not so at the end of a
// rendering, so that an error is not followed by another rendering at once.
func MustRender(in Input, capabilities string) bool {
	last := in.Observed.Renderings
	waited := ReconcileRequested(in) || in.Now.Sub(last.At) >= in.Desired.Policy.Interval/2
	switch {
	case last.Over || last.Fresh:
		return false
	case last.Failure != nil:
		return true
	case last.Capabilities == "":
		return waited
	case last.Capabilities != capabilities:
		return true
	}
	return last.Result.Lookup && waited
}

// ReconcileRequested reports whether a user requests a reconciliation.
func ReconcileRequested(in Input) bool {
	return in.Desired.Requests.Reconcile != "" && in.Desired.Requests.Reconcile != in.Recorded.LastHandledReconcileAt
}

// Begin returns r for a revision. Changes of revisions with the same inputs are kept.
func (r Renderings) Begin(revision, inputs string, now time.Time) Renderings {
	if r.Inputs != inputs {
		r = Renderings{Inputs: inputs}
	}
	if r.Revision != revision {
		r = Renderings{Revision: revision, Inputs: inputs, At: now, Changes: r.Changes, Over: r.Over, Unstable: r.Unstable}
	}
	return r
}

// Add returns r with the result of a rendering. A change counts towards Unstable only if it causes
// an upgrade: without one, each rendering is a change.
func (r Renderings) Add(result RenderResult, upgrades bool, now time.Time) Renderings {
	r.Result, r.Capabilities, r.At = result, result.Capabilities, now
	if result.Changed && upgrades {
		recent := slices.DeleteFunc(slices.Clone(r.Changes), func(t time.Time) bool { return now.Sub(t) >= renderUpgradesWithin })
		r.Changes = append(recent, now)
	}
	r.Unstable = result.Unstable || len(r.Changes) > maxRenderUpgrades
	r.Over = r.Unstable || !result.Reads
	r.Failure = nil
	return r.end()
}

// WithError returns r with the error of a rendering.
func (r Renderings) WithError(why ObjectError) Renderings {
	r.Failure = &why
	return r.end()
}

// end returns r at the end of a rendering. After a request meanwhile, another one is due.
func (r Renderings) end() Renderings {
	r.Fresh = !r.Again
	if r.Again {
		r.Again, r.At = false, time.Time{}
	}
	return r
}

// Installed returns r for a revision that an action of this process has just rendered.
func (r Renderings) Installed(result RenderResult) Renderings {
	r.Result, r.Capabilities, r.Over = result, result.Capabilities, r.Unstable || !result.Reads
	r.Failure = nil
	return r
}

// Report adds the result of the last rendering to the result of a comparison.
func (r Renderings) Report(found Drift) Drift {
	switch {
	case r.Failure != nil:
		found.Errors = append(found.Errors, *r.Failure)
	case r.Unstable:
		found.Note = "The chart renders another manifest each time, so a change of what it reads from the cluster cannot be detected."
	case r.Result.Changed:
		found.Rendering = "the chart reads the cluster, and is rendered otherwise now"
	}
	return found
}
