// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// active is the policy of the install or upgrade that was attempted last, with its failures.
type active struct {
	ActionPolicy
	// action is empty if there was no attempt.
	action   helmv2.ReleaseAction
	failures int64
}

// activePolicy returns the policy and the failures of the last attempt, after a due reset of the
// counters.
func activePolicy(in Input) active {
	status := ResetCounters(in.Recorded, in.Desired)
	if status.LastAttemptedReleaseAction == helmv2.ActionInstall {
		return active{in.Desired.Policy.Install, helmv2.ActionInstall, status.InstallFailures}
	}
	if status.LastAttemptedReleaseAction == helmv2.ActionUpgrade {
		return active{in.Desired.Policy.Upgrade, helmv2.ActionUpgrade, status.UpgradeFailures}
	}
	return active{}
}

// IgnoresTests reports whether a failed test leaves the release ready. The policy of the last
// attempt decides. Without one, the policy of tests decides.
func IgnoresTests(want Desired, recorded helmv2.HelmReleaseStatus) bool {
	if a := activePolicy(Input{Desired: want, Recorded: recorded}); a.action != "" {
		return a.IgnoreTests
	}
	return want.Policy.IgnoreTestFailures
}

// failure returns a message if the newest revision failed, and an empty string otherwise. Failed
// tests count unless they are ignored. The release must be managed, see unmanaged.
func failure(in Input) string {
	newest := in.Observed.Newest()
	if newest.Status == helmv2.StatusFailed {
		return fmt.Sprintf("revision %d failed", newest.Version)
	}
	a := activePolicy(in)
	if in.Desired.Policy.Tests && a.action != "" && !a.IgnoreTests &&
		testsFailed(Latest(in.Recorded.History)) && difference(in) == "" {
		return fmt.Sprintf("the tests of revision %d failed", newest.Version)
	}
	return ""
}

// becameReady applies if the newest revision failed only because its objects were not ready in
// time, and they are ready now.
func becameReady(in Input) *Decision {
	if in.Observed.Health == nil || !in.Observed.Health.Ready || !recheckable(in) {
		return nil
	}
	d := recheck(in)
	d.Why = fmt.Sprintf("the objects of revision %d have become ready", in.Observed.Newest().Version)
	return d
}

// MustInspect reports whether the decision depends on the readiness of the newest revision's
// objects. It saves the inspection otherwise.
func MustInspect(in Input) bool {
	if in.Observed.Running != nil || in.Desired.Deleted || in.Desired.Suspension.Active || in.Desired.Hold.Active {
		return false
	}
	return owner(in) == nil && targetChange(in.Desired, in.Recorded) == "" && recheckable(in)
}

// recheckable reports whether the newest revision can reach the desired state by waiting alone. It
// must have the desired inputs, all its objects must be applied, and no hook may remain that runs
// after they are ready.
func recheckable(in Input) bool {
	newest, last := in.Observed.Newest(), Latest(in.Recorded.History)
	if newest == nil || newest.Status != helmv2.StatusFailed || !newest.Applied || newest.Rollback || last == nil || unmanaged(in) != nil {
		return false
	}
	if deferred(in) || newest.Owner != in.Desired.UID || in.Recorded.LastAttemptedGeneration != in.Desired.Generation || inputChange(in) != "" {
		return false
	}
	if last.Action == helmv2.ActionInstall {
		return !newest.PostInstall || in.Desired.Policy.Install.NoHooks
	}
	return !newest.PostUpgrade || in.Desired.Policy.Upgrade.NoHooks
}

// recheck returns a decision to recheck the newest revision with the timeout of its action.
func recheck(in Input) *Decision {
	newest := in.Observed.Newest()
	timeout := in.Desired.Policy.Upgrade.Timeout
	if last := Latest(in.Recorded.History); last.Action == helmv2.ActionInstall {
		timeout = in.Desired.Policy.Install.Timeout
	}
	return &Decision{
		State: StateFailed, Action: Recheck{Timeout: timeout, Version: newest.Version},
		Why: fmt.Sprintf("revision %d failed, but all of it was applied", newest.Version),
	}
}

// Oversized is an action that did not start because the record of its revision exceeds the size
// limit.
type Oversized struct {
	// Action is the name of the action.
	Action string
	// Desired is the desired state at the announcement.
	Desired Desired
	// Message describes the size for users.
	Message string
}

// matches reports whether the same inputs are desired again. A chart may also read the cluster,
// which is not compared.
func (r *Oversized) matches(want Desired) bool {
	was := r.Desired
	// A source may package the same chart again, with another digest.
	was.Chart.Digest = want.Chart.Digest
	return was.UID == want.UID && was.Generation == want.Generation && was.Target == want.Target &&
		was.Chart == want.Chart && was.ConfigDigest == want.ConfigDigest && was.Rendering == want.Rendering
}

// whyTooLarge has no numbers. Other conditions have them.
const whyTooLarge = "the revision is too large for Helm's storage"

// tooLarge applies if the next action was rejected for the size of its record and would be rejected
// again. Status has no field for it, so a new process makes one more attempt.
func tooLarge(in Input) *Decision {
	was := in.Observed.Oversized
	if was == nil || !was.matches(in.Desired) || in.Desired.Requests.ResetRequested(&in.Recorded) {
		return nil
	}
	for _, found := range []func(Input) *Decision{absent, unmanaged, failed, outOfSync} {
		d := found(in)
		if d == nil {
			continue
		}
		if Name(d.Action) != was.Action {
			return nil
		}
		d.Action, d.Why = Stall{Reason: helmv2.ReasonReleaseTooLarge}, whyTooLarge
		return d
	}
	return nil
}

// TooLargeMessage returns the message while an oversized revision is still desired.
func TooLargeMessage() string { return whyTooLarge }

// retriesExhausted applies if the next action has failed too often. It is retried after a change of
// the inputs or a request. A rejected attempt is retried regardless, with back-off: it changes
// nothing, and an attempt is the only way to find out that the obstacle is gone.
func retriesExhausted(in Input) *Decision {
	newest := in.Observed.Newest()
	if Rejected(in.Recorded) {
		return nil
	}
	if absent(in) != nil {
		status := ResetCounters(in.Recorded, in.Desired)
		if p := in.Desired.Policy.Install; !p.Retry && p.Exhausted(status.InstallFailures) {
			return stallAfterRetries(StateAbsent, helmv2.ActionInstall, status.InstallFailures, false)
		}
		return nil
	}
	if unmanaged(in) != nil {
		return nil
	}
	if failure(in) != "" {
		a := activePolicy(in)
		if a.Retry || a.action == "" || a.failures <= 0 || newest.EndedEarly() || !a.Exhausted(a.failures) {
			return nil
		}
		// A failed rollback counts as the remediation.
		if a.RemediateLast && !newest.Rollback {
			return nil
		}
		return stallAfterRetries(StateFailed, a.action, a.failures, a.ClaimsKept)
	}
	status := ResetCounters(in.Recorded, in.Desired)
	if p := in.Desired.Policy.Upgrade; difference(in) != "" && !p.Retry && p.Exhausted(status.UpgradeFailures) {
		return stallAfterRetries(StateOutOfSync, helmv2.ActionUpgrade, status.UpgradeFailures, p.ClaimsKept)
	}
	return nil
}

// stallAfterRetries returns a decision to stall. claimsKept is true if the release is not uninstalled
// because it holds claims.
func stallAfterRetries(state State, action helmv2.ReleaseAction, failures int64, claimsKept bool) *Decision {
	d := &Decision{
		State: state, Action: Stall{Reason: helmv2.ReasonRetriesExceeded},
		Why: RetriesExceededMessage(action, failures),
	}
	if claimsKept {
		d.Action, d.Why = Stall{Reason: helmv2.ReasonClaimsKept}, d.Why+": "+whyClaimsKept
	}
	return d
}

// whyClaimsKept states why a failed release is not uninstalled.
const whyClaimsKept = "the release is not uninstalled, because it holds PersistentVolumeClaims"

// RetriesExceededMessage returns the message for an install or upgrade that exceeded its retries.
func RetriesExceededMessage(action helmv2.ReleaseAction, failures int64) string {
	return fmt.Sprintf("Failed to %s after %d attempt(s)", action, failures)
}

// awaitRetry delays the retry of a failure that is not remediated until its retry interval is over.
func awaitRetry(in Input) *Decision {
	if absent(in) != nil || unmanaged(in) != nil || failure(in) == "" {
		return nil
	}
	newest, a := in.Observed.Newest(), activePolicy(in)
	if !a.Retry || a.failures <= 0 || newest.EndedEarly() {
		return nil
	}
	left := newest.LastWritten().Add(a.RetryInterval).Sub(in.Now)
	if left <= 0 {
		return nil
	}
	return &Decision{
		State: StateFailed, Action: Wait{After: left, Retrying: true},
		Why: fmt.Sprintf("retrying after %s", a.RetryInterval),
	}
}

// failed applies if the newest revision failed. The revision is remediated, or the action is
// retried if remediation is not configured or not needed.
func failed(in Input) *Decision {
	why := failure(in)
	if why == "" {
		return nil
	}
	newest, a := in.Observed.Newest(), activePolicy(in)
	if a.action == "" || a.failures <= 0 || a.Retry || (newest.EndedEarly() && !newest.Rollback) {
		return retryFailed(in, why)
	}
	if Rejected(in.Recorded) {
		// The newest revision belongs to an earlier attempt than the rejected one.
		return &Decision{State: StateFailed, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, Why: why}
	}
	if a.Uninstall {
		return &Decision{State: StateFailed, Why: why, Action: Uninstall{
			Timeout: in.Desired.Policy.UninstallTimeout, Target: StoredTarget(in.Desired, in.Recorded), Remediation: true,
		}}
	}
	target := Previous(in.Recorded.History, in.Desired.Policy.Upgrade.IgnoreTests)
	if target == nil && a.ClaimsKept {
		return stallAfterRetries(StateFailed, a.action, a.failures, true)
	}
	if target == nil {
		return &Decision{
			State: StateFailed, Action: Stall{Reason: helmv2.ReasonMissingRollbackTarget},
			Why: "Failed to perform remediation: missing target release for rollback: cannot remediate failed release",
		}
	}
	if !returnable(in, target) && a.Exhausted(a.failures) {
		// A retry instead would be repeated for ever.
		return &Decision{
			State: StateFailed, Action: Stall{Reason: helmv2.ReasonMissingRollbackTarget},
			Why: fmt.Sprintf("Failed to perform remediation: revision %d, the target for rollback, is gone or has changed", target.Version),
		}
	}
	if !returnable(in, target) {
		return retryFailed(in, fmt.Sprintf("%s, and revision %d has changed", why, target.Version))
	}
	return &Decision{State: StateFailed, Why: why, Action: Rollback{
		Timeout: in.Desired.Policy.RollbackTimeout, Version: target.Version,
	}}
}

// retryFailed rechecks the revision if all of it was applied, and upgrades otherwise.
func retryFailed(in Input, why string) *Decision {
	if recheckable(in) {
		return recheck(in)
	}
	return &Decision{State: StateFailed, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, Why: why}
}

// returnable reports whether a recorded revision is still stored, unchanged, as a rollback target.
func returnable(in Input, target *helmv2.Snapshot) bool {
	for i := range in.Observed.Revisions {
		r := &in.Observed.Revisions[i]
		if r.Version != target.Version {
			continue
		}
		return r.Worked() && r.Name == target.Name && r.Namespace == target.Namespace && Verified(target, r) && proven(in, r)
	}
	return false
}

// insist returns a decision whose install or upgrade goes ahead if dry runs deny objects for reasons
// that may depend on other objects of the action. The first attempt of inputs never does.
func insist(in Input, d Decision) Decision {
	if in.Desired.RefusesDenials() || !attempted(in) {
		return d
	}
	switch a := d.HelmAction().(type) {
	case Install:
		a.Insist = a.Resume == 0
		d.Action = a
	case Upgrade:
		a.Insist = a.Resume == 0
		d.Action = a
	case Test, Rollback, Uninstall, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return d
}

// attempted reports whether the desired inputs were attempted: the dry runs denied them, or objects
// were applied and the attempt failed.
func attempted(in Input) bool {
	return deferred(in) || activePolicy(in).failures > 0 && !Rejected(in.Recorded)
}

// deferred reports whether the last attempt had the desired inputs, and dry runs denied them.
func deferred(in Input) bool { return in.Observed.Denied && sameInputs(in.Recorded, in.Desired) }

// RefusesDenials reports whether attempts are refused whose dry runs deny objects for reasons that may
// depend on other objects. Otherwise only the first attempt of inputs is.
func (d Desired) RefusesDenials() bool { return d.Policy.RefuseDenials || d.Demands.RefuseDenials }

// minDuration is the shortest recorded duration of an install or upgrade that Helm has started.
const minDuration = time.Millisecond

// AttemptDuration returns the duration of an install or upgrade for status. It is zero for a
// rejected attempt, of which Helm has stored no revision. All other attempts have at least a
// millisecond, so a new process can detect that the last attempt was rejected.
func AttemptDuration(took time.Duration, rejected bool) *metav1.Duration {
	if rejected {
		return &metav1.Duration{}
	}
	return &metav1.Duration{Duration: max(took, minDuration)}
}

// Rejected reports whether the last install or upgrade failed before Helm stored a revision. The
// newest stored revision belongs to an earlier attempt then.
func Rejected(recorded helmv2.HelmReleaseStatus) bool {
	took := recorded.LastAttemptedReleaseActionDuration
	return recorded.Failures > 0 && took != nil && took.Duration == 0
}

// Failures returns the failures that count against the retries of an install or upgrade.
func Failures(recorded helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) int64 {
	if action == helmv2.ActionInstall {
		return recorded.InstallFailures
	}
	return recorded.UpgradeFailures
}

// RetriesExhausted reports whether the failures of an install or upgrade exceed its retries. It is
// always false with RetryOnFailure.
func (p Policy) RetriesExhausted(recorded helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) bool {
	of := p.Upgrade
	if action == helmv2.ActionInstall {
		of = p.Install
	}
	return !of.Retry && of.Exhausted(Failures(recorded, action))
}
