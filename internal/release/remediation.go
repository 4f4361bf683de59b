// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// active is the policy that governs a failure: that of the install or upgrade
// that was attempted last, with its failures so far.
type active struct {
	ActionPolicy
	// action is empty if nothing was attempted.
	action   helmv2.ReleaseAction
	failures int64
}

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

// IgnoresTests reports whether a failed test leaves the release as good as it
// was: the policy of the attempt that made it says so or, without one, that of
// the tests.
func IgnoresTests(want Desired, recorded helmv2.HelmReleaseStatus) bool {
	if a := activePolicy(Input{Desired: want, Recorded: recorded}); a.action != "" {
		return a.IgnoreTests
	}
	return want.Policy.IgnoreTestFailures
}

// failure says what is wrong with the newest revision; empty if it did not fail.
// Failed tests are one if they are not to be ignored. It must be called only for
// a release that is ours.
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

// healed: the newest revision failed only because its objects were not ready in
// time, and now they are.
func becameReady(in Input) *Decision {
	if in.Observed.Health == nil || !in.Observed.Health.Ready || !recheckable(in) {
		return nil
	}
	d := recheck(in)
	d.Why = fmt.Sprintf("the objects of revision %d have become ready", in.Observed.Newest().Version)
	return d
}

// MustInspect reports whether the decision depends on the health of the newest
// revision's objects. It saves the look where it does not.
func MustInspect(in Input) bool {
	if in.Observed.Running != nil || in.Desired.Deleted || in.Desired.Suspended {
		return false
	}
	return owner(in) == nil && moved(in.Desired, in.Recorded) == "" && recheckable(in)
}

// healable reports whether the newest revision could still become what is wanted
// by nothing but patience: it is of the same inputs, all of it was applied, and
// no hook remains that should have run after its objects were ready.
func recheckable(in Input) bool {
	newest, last := in.Observed.Newest(), Latest(in.Recorded.History)
	if newest == nil || newest.Status != helmv2.StatusFailed || !newest.Applied || newest.Rollback || last == nil || unmanaged(in) != nil {
		return false
	}
	if newest.Owner != in.Desired.UID || in.Recorded.LastAttemptedGeneration != in.Desired.Generation || inputChanged(in) != "" {
		return false
	}
	if last.Action == helmv2.ActionInstall {
		return !newest.PostInstall || in.Desired.Policy.Install.NoHooks
	}
	return !newest.PostUpgrade || in.Desired.Policy.Upgrade.NoHooks
}

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

// retriesExhausted: what would be tried has failed too often already. What is
// wanted, or a request, has to change before it is tried again. An attempt that was rejected is
// repeated all the same, with back-off: it changes nothing while it is rejected, and there is no
// other way to see that the obstacle has gone.
func retriesExhausted(in Input) *Decision {
	newest := in.Observed.Newest()
	if Rejected(in.Recorded) {
		return nil
	}
	if absent(in) != nil {
		status := ResetCounters(in.Recorded, in.Desired)
		if p := in.Desired.Policy.Install; !p.Retry && p.Exhausted(status.InstallFailures) {
			return exceeded(StateAbsent, helmv2.ActionInstall, status.InstallFailures)
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
		// A rollback that failed is a remedy that was tried.
		if a.RemediateLast && !newest.Rollback {
			return nil
		}
		return exceeded(StateFailed, a.action, a.failures)
	}
	status := ResetCounters(in.Recorded, in.Desired)
	if p := in.Desired.Policy.Upgrade; difference(in) != "" && !p.Retry && p.Exhausted(status.UpgradeFailures) {
		return exceeded(StateOutOfSync, helmv2.ActionUpgrade, status.UpgradeFailures)
	}
	return nil
}

func exceeded(state State, action helmv2.ReleaseAction, failures int64) *Decision {
	return &Decision{
		State: state, Action: Stall{Reason: helmv2.ReasonRetriesExceeded},
		Why: RetriesExceededMessage(action, failures),
	}
}

// WhyExceeded says that an install or upgrade has failed more often than its retries allow.
func RetriesExceededMessage(action helmv2.ReleaseAction, failures int64) string {
	return fmt.Sprintf("Failed to %s after %d attempt(s)", action, failures)
}

// awaitRetry: a failure that is only ever tried again is not tried again yet.
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

// failed: the newest revision failed, and is remediated, or tried again where
// there is nothing to remediate.
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
		// The newest revision failed before that, and not for what was attempted last.
		return &Decision{State: StateFailed, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, Why: why}
	}
	if a.Uninstall {
		return &Decision{State: StateFailed, Why: why, Action: Uninstall{
			Timeout: in.Desired.Policy.UninstallTimeout, Target: StoredTarget(in.Desired, in.Recorded), Remediation: true,
		}}
	}
	target := Previous(in.Recorded.History, in.Desired.Policy.Upgrade.IgnoreTests)
	if target == nil {
		return &Decision{
			State: StateFailed, Action: Stall{Reason: helmv2.ReasonMissingRollbackTarget},
			Why: "Failed to perform remediation: missing target release for rollback: cannot remediate failed release",
		}
	}
	if !returnable(in, target) && a.Exhausted(a.failures) {
		// To try again instead would be to try for ever.
		return &Decision{
			State: StateFailed, Action: Stall{Reason: helmv2.ReasonMissingRollbackTarget},
			Why: fmt.Sprintf("Failed to perform remediation: revision %d, the target for rollback, is gone or not what it was", target.Version),
		}
	}
	if !returnable(in, target) {
		return retryFailed(in, fmt.Sprintf("%s, and revision %d is not what it was", why, target.Version))
	}
	return &Decision{State: StateFailed, Why: why, Action: Rollback{
		Timeout: in.Desired.Policy.RollbackTimeout, Version: target.Version,
	}}
}

// again tries once more: if all of the revision was applied, by another look at
// its objects, otherwise by another revision.
func retryFailed(in Input, why string) *Decision {
	if recheckable(in) {
		return recheck(in)
	}
	return &Decision{State: StateFailed, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, Why: why}
}

// returnable reports whether a recorded revision is still there, unchanged, to
// be returned to.
func returnable(in Input, target *helmv2.Snapshot) bool {
	for i := range in.Observed.Revisions {
		r := &in.Observed.Revisions[i]
		if r.Version != target.Version {
			continue
		}
		worked := r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusSuperseded
		return worked && r.Name == target.Name && r.Namespace == target.Namespace && Verified(target, r)
	}
	return false
}
