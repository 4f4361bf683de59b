// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Rule is the name of a rule: a row of the table in docs/spec/helmreleases.md and a metric label.
type Rule string

// The rules, in the order in which they are tried.
const (
	RuleFinalize          Rule = "Finalize"
	RuleBusy              Rule = "Busy"
	RuleRecover           Rule = "Recover"
	RuleAwaitDependents   Rule = "AwaitDependents"
	RuleDelete            Rule = "Delete"
	RuleSuspended         Rule = "Suspended"
	RuleOwnershipConflict Rule = "OwnershipConflict"
	RuleResume            Rule = "Resume"
	RuleUnlock            Rule = "Unlock"
	RuleAwaitOperation    Rule = "AwaitOperation"
	RuleTestRequested     Rule = "TestRequested"
	RuleRolledBack        Rule = "RolledBack"
	RuleTargetMoved       Rule = "TargetMoved"
	RuleReinstall         Rule = "Reinstall"
	RuleForced            Rule = "Forced"
	RuleDebounce          Rule = "Debounce"
	RuleBecameReady       Rule = "BecameReady"
	RuleTooLarge          Rule = "TooLarge"
	RuleRetriesExhausted  Rule = "RetriesExhausted"
	RuleAwaitRetry        Rule = "AwaitRetry"
	RuleAbsent            Rule = "Absent"
	RuleUnmanaged         Rule = "Unmanaged"
	RuleFailed            Rule = "Failed"
	RuleOutOfSync         Rule = "OutOfSync"
	RuleUntested          Rule = "Untested"
	RuleBaking            Rule = "Baking"
	RuleDrifted           Rule = "Drifted"
	RuleInSync            Rule = "InSync"
)

// The gates, in the order in which they are passed.
const (
	RulePolicyUnavailable Rule = "PolicyUnavailable"
	RulePolicyRefused     Rule = "PolicyRefused"
	RuleFrozen            Rule = "Frozen"
	RuleAwaitingWindow    Rule = "AwaitingWindow"
	RuleAwaitingApproval  Rule = "AwaitingApproval"
	RuleAwaitingRollout   Rule = "AwaitingRollout"
)

// RulePlanRequested precedes the rules. The decision after it, with the plan, is made by one of them.
const RulePlanRequested Rule = "PlanRequested"

// rule is one entry of the policy. apply returns nil if the rule does not apply.
type rule struct {
	name  Rule
	apply func(Input) *Decision
}

// rules returns the policy. The first rule that applies wins. The order is part of the contract and
// is documented in docs/spec/helmreleases.md.
func rules() []rule {
	return []rule{
		{RuleFinalize, finalize},
		{RuleBusy, busy},
		{RuleRecover, recoverRevision},
		{RuleAwaitDependents, awaitDependents},
		{RuleDelete, deleteRelease},
		{RuleSuspended, suspended},
		{RuleOwnershipConflict, ownershipConflict},
		{RuleResume, resume},
		{RuleUnlock, unlock},
		{RuleAwaitOperation, awaitOperation},
		{RuleTestRequested, testRequested},
		{RuleRolledBack, rolledBack},
		{RuleTargetMoved, targetMoved},
		{RuleReinstall, reinstall},
		{RuleForced, forced},
		{RuleDebounce, debounce},
		{RuleBecameReady, becameReady},
		{RuleTooLarge, tooLarge},
		{RuleRetriesExhausted, retriesExhausted},
		{RuleAwaitRetry, awaitRetry},
		{RuleAbsent, absent},
		{RuleUnmanaged, unmanaged},
		{RuleFailed, failed},
		{RuleOutOfSync, outOfSync},
		{RuleUntested, untested},
		{RuleBaking, baking},
		{RuleDrifted, drifted},
		{RuleInSync, inSync},
	}
}

// Rules returns the names of the rules in the order in which they are tried.
func Rules() []Rule {
	var names []Rule
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Decide returns the next action. A plan that a user requests is computed first.
func Decide(in Input) Decision {
	if a, asked := PlanRequested(in); asked && in.Observed.Plan == nil {
		return Decision{
			Rule: RulePlanRequested, Action: ComputePlan{Of: a, Request: in.Desired.Requests.Plan},
			Why: fmt.Sprintf("a plan of the '%s' action is requested", Name(a)),
		}
	}
	return decideGated(in)
}

// decideGated returns the next action without regard to requests for plans. Installs, upgrades,
// rollbacks on request and uninstalls pass the gates of policies.
func decideGated(in Input) Decision { return insist(in, pass(in, decideUngated(in))) }

// decideUngated returns the next action if there were no policies.
func decideUngated(in Input) Decision {
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
// no longer exists. The state is StateAbsent only if no release stays behind.
func finalize(in Input) *Decision {
	if !in.Desired.Deleted || in.Observed.Running != nil {
		return nil
	}
	switch {
	case in.Desired.Suspension.Active:
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

// recoverRevision adopts the newest revision if this HelmRelease finished it and the process died
// before recording it. Repeating the action would create a second revision.
func recoverRevision(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest == nil || !sealedBy(newest, in.Desired.UID, in.Recorded.History) {
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
	if failedBake(in, last, newest) {
		return &Decision{Action: Adopt{}, Why: fmt.Sprintf("the failure of revision %d was not recorded", newest.Version)}
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
	if !in.Desired.Suspension.Active {
		return nil
	}
	return &Decision{Action: Settle{}, Why: "suspended"}
}

// forced makes the install or upgrade that a user requests, in any state. It installs if
// no release is stored and takes over a release of another owner. In all other states it upgrades,
// even with exhausted retries, a due remediation, or no difference.
func forced(in Input) *Decision {
	if requests := in.Desired.Requests; !requests.ForceRequested(&in.Recorded) && !requests.ForceStarted(&in.Recorded) {
		return nil
	}
	for _, found := range []func(Input) *Decision{absent, unmanaged, failed, outOfSync, inSync} {
		d := found(in)
		if d == nil {
			continue
		}
		if !AppliesDesired(d.HelmAction()) {
			d.Action = Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}
		}
		d.Why = "forced by request: " + d.Why
		return d
	}
	return nil
}
