// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// resume applies if the newest revision is pending because an action of this HelmRelease was
// interrupted, and the inputs of the action are still requested. The action continues under the
// same revision number. Helm needs an older revision to upgrade or to roll back. A release that
// should be held needs only the rollback of its hold.
func resume(in Input) *Decision {
	newest, policy := in.Observed.Newest(), in.Desired.Policy
	if !goesOn(in) {
		// The creator of the newest revision is the owner of the release.
		return nil
	}
	a := newest.Attempt
	if a == nil || !a.of(in.Desired.UID) || !a.requested(in.Desired) {
		return nil
	}
	d := &Decision{State: StateLocked, Why: fmt.Sprintf("the '%s' action of revision %d was interrupted", a.Action, newest.Version)}
	switch older := len(in.Observed.Revisions) > 1; {
	case newest.Status == helmv2.StatusPendingInstall && a.Action == helmv2.ActionInstall:
		d.Action = Install{Timeout: policy.Install.Timeout, Resume: newest.Version}
	case newest.Status == helmv2.StatusPendingUpgrade && a.Action == helmv2.ActionUpgrade && older:
		d.Action = Upgrade{Timeout: policy.Upgrade.Timeout, TakeOver: a.TakeOver, Resume: newest.Version}
	case newest.Status == helmv2.StatusPendingRollback && a.Action == helmv2.ActionRollback && in.Observed.stored(a.RollbackTo):
		d.Action = Rollback{Timeout: policy.RollbackTimeout, Version: a.RollbackTo, Resume: newest.Version, Hold: a.Hold}
	default:
		return nil
	}
	return d
}

// Resumed returns the number of the revision whose action a resumes; 0 if a starts anew.
func Resumed(a HelmAction) int {
	switch a := a.(type) {
	case Install:
		return a.Resume
	case Upgrade:
		return a.Resume
	case Rollback:
		return a.Resume
	case Test, Uninstall, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return 0
}

// stored reports whether a revision is stored.
func (o Observed) stored(version int) bool {
	return slices.ContainsFunc(o.Revisions, func(r Revision) bool { return r.Version == version })
}

// unlock applies if the newest revision is pending or uninstalling, no attempt runs, and the action
// is not resumed. A revision of this HelmRelease was interrupted, because its process no longer
// exists. A revision of another client is left alone until it is older than any action may take. An
// uninstall that this HelmRelease started is completed. All other revisions are marked as failed: a
// record alone is no reason to uninstall a release.
func unlock(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest == nil || owner(in) != nil {
		// The owner unlocks its own release.
		return nil
	}
	target := ObservedTarget(in)
	d := &Decision{State: StateLocked, Why: fmt.Sprintf("release with status '%s'", newest.Status)}
	limit := max(in.Desired.Policy.Install.Timeout, in.Desired.Policy.Upgrade.Timeout)
	interrupted := (newest.Owner == in.Desired.UID || newest.Claimed) && in.Desired.UID != ""
	switch newest.Status {
	case helmv2.StatusDeployed, helmv2.StatusFailed, helmv2.StatusSuperseded, helmv2.StatusUninstalled:
		return nil
	case helmv2.StatusUninstalling:
		limit = in.Desired.Policy.UninstallTimeout
		// The creator of a revision need not be the client that uninstalls it.
		if interrupted = startedUninstall(in); !interrupted {
			d.Action = Unlock{Version: newest.Version, Status: newest.Status, Target: target}
			break
		}
		// A counted failure shows that the uninstall was its remediation.
		remediation := in.Observed.Stray == nil && targetChange(in.Desired, in.Recorded) == "" && activePolicy(in).failures > 0
		d.Action = Uninstall{Timeout: limit, Target: target, Remediation: remediation, Reinstall: !remediation && reinstalls(in)}
	case helmv2.StatusPendingInstall, helmv2.StatusPendingUpgrade, helmv2.StatusPendingRollback, helmv2.StatusUnknown:
		d.Action = Unlock{Version: newest.Version, Status: newest.Status, Target: target}
	default:
		d.Action = Unlock{Version: newest.Version, Status: newest.Status, Target: target}
	}
	if left := newest.LastWritten().Add(limit).Sub(in.Now); !interrupted && left > 0 {
		d.Action = Wait{After: left, Limit: limit}
		d.Why = fmt.Sprintf("revision %d has status '%s', set by another client", newest.Version, newest.Status)
	}
	return d
}

// startedUninstall reports whether this HelmRelease started the uninstall of the newest revision.
// Either the record has the attempt, or status has recorded the revision as uninstalling.
func startedUninstall(in Input) bool {
	newest, last := in.Observed.Newest(), Latest(in.Recorded.History)
	if newest == nil || newest.Status != helmv2.StatusUninstalling ||
		last == nil || last.Version != newest.Version || last.Status == helmv2.StatusUninstalled {
		return false
	}
	a := newest.Attempt
	started := a != nil && a.Action == helmv2.ActionUninstall && a.of(in.Desired.UID)
	return started && sealedBy(newest, in.Desired.UID, in.Recorded.History) || Proves(in.Recorded.History, newest)
}

// reinstall applies if an install was interrupted or outdated and is not resumed, and some of its
// install hooks have not run. An upgrade would not run them. No revision was ever deployed, so the
// release is uninstalled and installed anew.
func reinstall(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest == nil || newest.Status != helmv2.StatusFailed || !newest.EndedEarly() || newest.Owner != in.Desired.UID || in.Desired.UID == "" {
		return nil
	}
	if a := newest.Attempt; a == nil || a.Action != helmv2.ActionInstall || unmanaged(in) != nil || !hooksMissed(in) || in.Desired.Policy.Install.ClaimsKept {
		return nil
	}
	return &Decision{
		State: StateFailed, Why: fmt.Sprintf("the install hooks of revision %d have not all run, and it was never deployed", newest.Version),
		Action: Uninstall{Timeout: in.Desired.Policy.UninstallTimeout, Target: StoredTarget(in.Desired, in.Recorded), Reinstall: true},
	}
}

// reinstalls reports whether the uninstall of the newest revision was started by reinstall.
func reinstalls(in Input) bool {
	last := Latest(in.Recorded.History)
	return in.Observed.Stray == nil && targetChange(in.Desired, in.Recorded) == "" &&
		last != nil && last.Version == in.Observed.Newest().Version && last.Action == helmv2.ActionInstall && hooksMissed(in)
}

// hooksMissed reports whether install hooks of the newest revision have not run, although the policy
// does not disable them, and no revision was deployed since the release was installed.
func hooksMissed(in Input) bool {
	if !in.Observed.Newest().InstallHooksLeft || in.Desired.Policy.Install.NoHooks {
		return false
	}
	for i := range in.Observed.Revisions {
		switch r := &in.Observed.Revisions[i]; {
		case i > 0 && !r.Deleted.IsZero():
			// Older revisions belong to a release that was uninstalled.
			return true
		case r.Status == helmv2.StatusDeployed, r.Status == helmv2.StatusSuperseded:
			return false
		}
	}
	return true
}

// Attempt describes the action that works on a revision: an install, upgrade or rollback that
// creates it, or its uninstall or tests. It is stored with the revision, so that another process
// can resume the action.
type Attempt struct {
	// ID identifies the attempt. It starts with the UID of the HelmRelease and a dot. The objects
	// of the hooks are annotated with it.
	ID string `json:"id"`
	// Run is the number of times that the attempt was started or resumed. A process that finds
	// another number than its own must no longer write.
	Run int `json:"run"`
	// Action is the action.
	Action helmv2.ReleaseAction `json:"action"`
	// Inputs identify what the action applies. They are zero for an uninstall and for tests.
	Inputs Inputs `json:"inputs,omitzero"`
	// Plan is the digest of the plan that the action carries out; empty if there is none.
	Plan string `json:"plan,omitempty"`
	// TakeOver is Upgrade.TakeOver.
	TakeOver bool `json:"takeOver,omitempty"`
	// RollbackTo is the target of a rollback; 0 for other actions. Hold is Rollback.Hold.
	RollbackTo int  `json:"rollbackTo,omitempty"`
	Hold       bool `json:"hold,omitempty"`
	// Request is Test.Request.
	Request string `json:"request,omitempty"`
	// Event is the event whose hooks run or have run last, such as "pre-upgrade"; empty if no hook
	// was started.
	Event string `json:"event,omitempty"`
	// Finished are the hooks of Event that have succeeded, as "Kind/name", in their order.
	Finished []string `json:"finished,omitempty"`
	// Running is the hook of Event that was started and has not ended, as "Kind/name"; empty if
	// there is none.
	Running string `json:"running,omitempty"`
	// Skipped is the hook that an upgrade leaves out; nil if there is none.
	Skipped *Skip `json:"skipped,omitempty"`
	// Replaced are the objects that an upgrade deletes and creates anew.
	Replaced []Replaced `json:"replaced,omitempty"`
}

// Skip is a pre-upgrade hook that an upgrade leaves out, because an Operation has run it.
type Skip struct {
	// Hook is the hook, as "Kind/name"; empty before the upgrade is rendered.
	Hook string `json:"hook"`
	// Digest is the digest of its manifest, as sha256:<hex>.
	Digest string `json:"digest"`
	// Operation is the name of the Operation, in the namespace of the HelmRelease.
	Operation string `json:"operation"`
	// ApprovedBy is the user who let the upgrade leave it out.
	ApprovedBy string `json:"approvedBy"`
}

// requested reports whether the result of the attempt is still requested. Neither the spec nor its
// inputs matter to a hold.
func (a *Attempt) requested(want Desired) bool {
	if want.Hold.Active || a.Hold {
		return want.Hold.To > 0 && a.Hold && a.RollbackTo == want.Hold.To
	}
	return a.Inputs == InputsOf(want)
}

// of reports whether the HelmRelease with the given UID started the attempt.
func (a *Attempt) of(uid string) bool { return uid != "" && strings.HasPrefix(a.ID, uid+".") }

// Inputs identify what an install, upgrade or rollback applies. An interrupted action is resumed
// only if its inputs are still requested.
type Inputs struct {
	// Chart is the name and the effective version of the chart, "name@version".
	Chart string `json:"chart"`
	// ChartDigest is the digest of the chart's artifact; empty if it is unknown.
	ChartDigest string `json:"chartDigest,omitempty"`
	// Values is the digest of the values of the HelmRelease.
	Values string `json:"values"`
	// PostRenderers and CommonMetadata are the digests of Rendering; empty if there are none.
	PostRenderers  string `json:"postRenderers,omitempty"`
	CommonMetadata string `json:"commonMetadata,omitempty"`
	// Target is the release.
	Target Target `json:"target"`
}

// InputsOf returns the inputs of an action that makes d.
func InputsOf(d Desired) Inputs {
	return Inputs{
		Chart: d.Chart.Name + "@" + d.Chart.Version, ChartDigest: d.Chart.Digest, Values: d.ConfigDigest,
		PostRenderers: d.Rendering.PostRenderers, CommonMetadata: d.Rendering.CommonMetadata, Target: d.Target,
	}
}
