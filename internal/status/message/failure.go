// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"
	"strings"

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
	case f.RolledBack:
		return RolledBack
	case f.Uninstalled:
		return Uninstalled
	case f.Policy.ClaimsKept && (!f.Policy.RemediateLast || f.Target == 0):
		return ClaimsKept
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
	case kind == Rejected && !f.Policy.Retry:
		return backoff
	case f.Policy.Retry:
		return "Retrying every " + Duration(f.Policy.RetryInterval)
	case f.exhausted() || kind == NoTarget:
		return noRetries
	case kind == RolledBackNext || kind == UninstalledNext:
		return "A retry follows"
	}
	return "Retrying now"
}

// EventParts returns the message of the event of the failure. Equal failures have equal messages,
// so the message does not contain which retry follows.
func (f Failure) EventParts(facts Facts) Parts {
	kind := f.Kind()
	if f.Policy.Retries == 0 || kind != RolledBackNext && kind != UninstalledNext && kind != NoRetries {
		return f.Parts(facts)
	}
	limit := "Retrying without limit"
	if f.Policy.Retries > 0 {
		limit = "Retries: at most " + strconv.Itoa(f.Policy.Retries)
	}
	return f.parts(Remediated, facts, limit)
}

// Parts returns the message of the failure, with its facts. A rejected action has the same message at each attempt.
func (f Failure) Parts(facts Facts) Parts {
	kind := f.Kind()
	return f.parts(kind, facts, f.again(kind))
}

func (f Failure) parts(kind Kind, facts Facts, again string) Parts {
	facts.Again, facts.Revision = again, strconv.Itoa(f.Target)
	return Of(kind, facts)
}

// SubjectOf returns an action on a chart as a noun phrase.
func SubjectOf(action helmv2.ReleaseAction, chart, version string) string {
	version = WithoutBuild(version)
	switch action {
	case helmv2.ActionInstall:
		return "Install of " + chart + " " + version
	case helmv2.ActionUninstall:
		return "Uninstall of " + chart + " " + version
	case helmv2.ActionTest:
		return "Test of " + chart + " " + version
	case helmv2.ActionUpgrade, helmv2.ActionRollback, helmv2.ActionUninstallRemediation, helmv2.ActionUnlock, helmv2.ActionCorrectDrift, helmv2.ActionRecheck, helmv2.ActionBake:
	}
	return "Upgrade to " + chart + " " + version
}

// WithoutBuild returns the version of a chart without build metadata, such as the digest of its artifact.
func WithoutBuild(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}
