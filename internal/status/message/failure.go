// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Failure is a failed install or upgrade, or its failed tests, with what decides about the next
// action.
type Failure struct {
	// Action is the install or upgrade; empty if there was none.
	Action helmv2.ReleaseAction
	// Policy is the policy of the action, and Failures counts against its retries.
	Policy   release.ActionPolicy
	Failures int64
	// Rejected is true if the action stored no revision.
	Rejected bool
	// RolledBack or Uninstalled is true if the failure was remediated in this way, and RemedyFailed
	// if that failed.
	RolledBack, Uninstalled, RemedyFailed bool
	// Target is the number of the revision to roll back to; 0 if there is none.
	Target int
	// What is the first part of the message.
	What string
}

// FailureOf returns the failure of the last attempt in a status.
func FailureOf(status *helmv2.HelmReleaseStatus, want release.Desired) Failure {
	f := Failure{Action: status.LastAttemptedReleaseAction, Rejected: release.Rejected(*status)}
	f.Policy = want.Policy.Upgrade
	if f.Action == helmv2.ActionInstall {
		f.Policy = want.Policy.Install
	}
	f.Failures = release.Failures(*status, f.Action)
	if target := release.Previous(status.History, want.Policy.Upgrade.IgnoreTests); target != nil {
		f.Target = target.Version
	}
	return f
}

// Kind returns the row of the failure. The order of the cases must equal the order of the decisions
// in package release.
func (f Failure) Kind() Kind {
	exhausted := f.exhausted()
	switch {
	case f.RemedyFailed:
		return RollbackFailed
	case f.Rejected && !f.RolledBack && !f.Uninstalled:
		return Rejected
	case f.Action == "":
		return TestOnly
	case f.Policy.Retry:
		return RetriedRegularly
	case f.RolledBack && exhausted:
		return RolledBackLast
	case f.RolledBack:
		return RolledBack
	case f.Uninstalled && exhausted:
		return UninstalledLast
	case f.Uninstalled:
		return Uninstalled
	case exhausted && !f.Policy.RemediateLast:
		return NoRetries
	case f.Policy.Uninstall || f.Action == helmv2.ActionInstall:
		return UninstalledNext
	case f.Target == 0:
		return NoTarget
	}
	return RolledBackNext
}

func (f Failure) exhausted() bool { return !f.Policy.Retry && f.Policy.Exhausted(f.Failures) }

// again returns when the action is tried again.
func (f Failure) again(kind Kind) string {
	switch {
	case kind == RolledBackNext || kind == UninstalledNext:
		if f.exhausted() {
			return "and no retries are left"
		}
		return "and a retry of the " + string(f.Action) + " follows"
	case f.Policy.Retry:
		return "Retries follow every " + Duration(f.Policy.RetryInterval) + " (spec." + string(f.Action) + ".strategy.retryInterval)" + atOnce
	}
	return "Retries follow with back-off" + atOnce
}

// EventParts returns the message of the event of the failure. Equal failures have equal messages,
// so the message does not contain which retry follows.
func (f Failure) EventParts() Parts {
	kind := f.Kind()
	if f.Policy.Retries == 0 || kind != RolledBackNext && kind != UninstalledNext && kind != NoRetries {
		return f.Parts()
	}
	limit := "without limit"
	if f.Policy.Retries > 0 {
		limit = "at most " + strconv.Itoa(f.Policy.Retries)
	}
	return Of(Remediated, Facts{What: f.What, Again: limit + " (spec." + string(f.Action) + ".remediation.retries)"})
}

// Parts returns the message of the failure. A rejected action has the same message at each attempt.
func (f Failure) Parts() Parts {
	kind := f.Kind()
	return Of(kind, Facts{What: f.What, Action: string(f.Action), Again: f.again(kind), Revision: strconv.Itoa(f.Target)})
}
