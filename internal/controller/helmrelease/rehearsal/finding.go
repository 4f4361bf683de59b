// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// Result is what would be done to a HelmRelease. It is the value of a metric label, and the reason
// of events. The set is documented in docs/operating.md.
type Result string

// Results without an event.
const (
	// NothingToDo: the release is in sync, or held as users want it.
	NothingToDo Result = "NothingToDo"
	// Suspended: the HelmRelease is suspended.
	Suspended Result = "Suspended"
	// InProgress: the controller that leads works on the release, or an input is being read.
	InProgress Result = "InProgress"
)

// Results with an event.
const (
	WouldInstall      Result = "WouldInstall"
	WouldUpgrade      Result = "WouldUpgrade"
	WouldTest         Result = "WouldTest"
	WouldRollBack     Result = "WouldRollBack"
	WouldUninstall    Result = "WouldUninstall"
	WouldUnlock       Result = "WouldUnlock"
	WouldRecheck      Result = "WouldRecheck"
	WouldFailBake     Result = "WouldFailBake"
	WouldCorrectDrift Result = "WouldCorrectDrift"
	// WouldRecord: status would be brought up to date with the stored revisions.
	WouldRecord Result = "WouldRecord"
	// WouldFinalize: the HelmRelease is deleted, and would go without an uninstall.
	WouldFinalize Result = "WouldFinalize"
	// WouldWait: an action waits for another event, such as a retry or a dependency.
	WouldWait Result = "WouldWait"
	// WouldHold: a policy holds the action.
	WouldHold Result = "WouldHold"
	// WouldRefuse: a policy refuses the chart.
	WouldRefuse Result = "WouldRefuse"
	// WouldStall: nothing is done until a user changes an input.
	WouldStall Result = "WouldStall"
	// WouldBlock: the inputs or the release cannot be read.
	WouldBlock Result = "WouldBlock"
)

// Finding is the result of observing one HelmRelease.
type Finding struct {
	Result Result
	// Rule is the rule that applied; empty for an obstacle. Reason is the reason of the condition
	// that would be set; empty for an action.
	Rule   release.Rule
	Reason string
	// Inputs identifies the chart and values of an install or upgrade; empty for others.
	Inputs string
	// Why is a text for users.
	Why string
}

// isNews reports whether a finding needs an event after another one. The message does not count: it
// may contain times.
func (f Finding) isNews(before Finding) bool {
	f.Why, before.Why = "", ""
	return f.isReported() && f != before
}

// isReported reports whether a finding has an event.
func (f Finding) isReported() bool {
	return f.Result != NothingToDo && f.Result != Suspended && f.Result != InProgress
}

// isProblem reports whether the release would not follow its spec.
func (f Finding) isProblem() bool {
	return f.Result == WouldStall || f.Result == WouldRefuse || f.Result == WouldBlock
}

// DecisionFinding returns the finding of a decision.
func DecisionFinding(in release.Input, d release.Decision) Finding {
	f := Finding{Rule: d.Rule, Why: d.Why}
	switch a := d.Action.(type) {
	case release.Install:
		f.Result, f.Inputs = WouldInstall, inputsOf(in.Desired)
	case release.Upgrade:
		f.Result, f.Inputs = WouldUpgrade, inputsOf(in.Desired)
	case release.Test:
		f.Result = WouldTest
	case release.Rollback:
		f.Result = WouldRollBack
	case release.Uninstall:
		f.Result = WouldUninstall
	case release.Unlock:
		f.Result = WouldUnlock
	case release.Recheck:
		f.Result = WouldRecheck
	case release.FailBake:
		f.Result = WouldFailBake
	case release.CorrectDrift:
		f.Result = WouldCorrectDrift
	case release.Finalize:
		f.Result = WouldFinalize
	case release.Adopt, release.Forget:
		f.Result = WouldRecord
	case release.Settle:
		f.Result = NothingToDo
		if d.Rule == release.RuleSuspended {
			f.Result = Suspended
		}
	case release.Wait:
		f.Result, f.Reason = waits(a)
	case release.ComputePlan:
		f.Result, f.Reason = WouldHold, helmv2.ReasonAwaitingApproval
		f.Why = "a policy requires a plan of the action, and a rehearsal computes none"
	case release.Stall:
		f.Result, f.Reason = WouldStall, a.Reason
		switch a.Reason {
		case helmv2.ReasonPolicyRefused:
			f.Result = WouldRefuse
		case helmv2.ReasonRejected:
			f.Result = WouldHold
		}
	}
	return f
}

// inputsOf returns the chart and the digest of the values of a release.
func inputsOf(want release.Desired) string {
	return fmt.Sprintf("%s@%s %s", want.Chart.Name, want.Chart.Version, want.ConfigDigest)
}

// waits returns the result of a wait and the reason of its condition.
func waits(w release.Wait) (result Result, reason string) {
	switch {
	case w.Gate != "":
		return WouldHold, w.Gate
	case w.Brief:
		return InProgress, ""
	}
	return WouldWait, w.Obstacle
}

// ObstacleFinding returns the finding of an obstacle.
func ObstacleFinding(b *release.Blocked) Finding {
	f := Finding{Result: WouldBlock, Reason: b.Reason, Why: b.Message}
	switch {
	case b.Progressing, b.Brief:
		f.Result = InProgress
	case b.Quiet:
		f.Result = WouldWait
	case b.Terminal:
		f.Result = WouldStall
	}
	return f
}

// event returns the event of a finding.
func (f Finding) event() status.Event {
	return status.Observed(string(f.Result), f.message(), f.isProblem())
}

// message returns the message of the event of a finding.
func (f Finding) message() string {
	next := "After a switch, this happens at once"
	switch f.Result {
	case WouldInstall, WouldUpgrade, WouldTest, WouldRollBack, WouldUninstall, WouldUnlock, WouldRecheck, WouldFailBake, WouldCorrectDrift:
	case WouldRecord, WouldFinalize:
	case WouldWait:
		next = "After a switch, the release stays as it is while it waits"
	case WouldHold:
		next = "After a switch, the release stays as it is until the policy lets the action pass"
	case WouldStall, WouldRefuse:
		next = "After a switch, the release stays as it is until its spec or another input changes"
	case WouldBlock:
		next = "After a switch, the release stays as it is until the cause is gone"
	case NothingToDo, Suspended, InProgress:
		next = "After a switch, the release stays as it is"
	}
	why := f.Why
	if f.Rule != "" {
		why += " (rule " + string(f.Rule) + ")"
	}
	return why + ". Nothing was changed, since this process only observes. " + next
}

// patience is the time in which the leading controller should start to work on a new generation.
const patience = 2 * time.Minute

// work is a state in which the controller that leads is about to change a release. Equal values are
// the same work.
type work struct {
	generation int64
	reason     string
	deleted    bool
}

// workOn returns the work of the controller that leads on hr, and how long to wait for its end at
// most; zero if it does not work.
func workOn(hr *helmv2.HelmRelease) (w work, limit time.Duration) {
	timeout := hr.GetTimeout()
	w = work{generation: hr.Generation, deleted: !hr.DeletionTimestamp.IsZero()}
	reconciling := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReconciling)
	if reconciling != nil && reconciling.Status == metav1.ConditionTrue && reconciling.Reason == helmv2.ReasonProgressing {
		w.reason = reconciling.Message
		return w, timeout + patience
	}
	switch {
	case w.deleted:
		return w, timeout + patience
	case hr.Status.ObservedGeneration != hr.Generation:
		return w, patience
	}
	return work{}, 0
}
