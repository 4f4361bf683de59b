// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// recordedNext returns the recorded state of the plan; zero if there is none.
func (in Input) recordedNext() opsv1alpha1.NextVersion {
	if in.Recorded.Next == nil {
		return opsv1alpha1.NextVersion{}
	}
	return *in.Recorded.Next
}

// planAnswered reports whether the plan answers the request of the Operation. A plan that was computed
// before may be out of date.
func (in Input) planAnswered() bool {
	request := in.recordedNext().Request
	return request != "" && in.Next.Answers == request && !in.Next.Open
}

// HasPlan reports whether the hook can be taken from the plan of the next upgrade: the recorded one, or
// else the one that answers the request.
func HasPlan(in Input) bool {
	n := in.Next
	if recorded := in.recordedNext().Plan; recorded != "" {
		return n.Digest == recorded && !n.Applied
	}
	return in.planAnswered() && n.Digest != "" && n.Failed == "" && n.Action == v1alpha1.PlanUpgrade && !n.Applied
}

// planProblem returns why the hook cannot be taken from the plan of the next upgrade for good; nil if it
// can, or may be.
func (in Input) planProblem() *Problem {
	n := in.Next
	switch recorded := in.recordedNext().Plan; {
	case in.Obstacle != nil || in.Target.HelmRelease == "":
		return nil
	case in.Spec.Parameters.Skips() && n.Unguarded != "":
		return &Problem{opsv1alpha1.ReasonSkipNotGuarded, "the upgrade may not leave out the hook: " + n.Unguarded}
	case recorded != "" && n.Applied:
		return &Problem{opsv1alpha1.ReasonPlanChanged, "the plan with the hook was applied before the hook ran"}
	case recorded != "" && n.Digest == "":
		return &Problem{opsv1alpha1.ReasonPlanChanged, "the plan with the hook no longer exists"}
	case recorded != "" && n.Digest != recorded:
		return &Problem{opsv1alpha1.ReasonPlanChanged, "the next upgrade has another plan than when the Operation was accepted"}
	case recorded != "" || !in.planAnswered():
		return nil
	case n.Failed != "":
		return &Problem{opsv1alpha1.ReasonPlanFailed, "the plan of the next upgrade cannot be computed: " + n.Failed}
	case n.Digest != "" && n.Action != v1alpha1.PlanUpgrade:
		return &Problem{opsv1alpha1.ReasonPlanFailed, fmt.Sprintf("the next action is %s: pre-upgrade hooks run in an upgrade", n.Action)}
	}
	return nil
}

// awaitPlan applies while the plan with the hook of the next version is not computed. It does not lock
// the release, which computes the plan. A request of another client that is not answered yet is as good
// as a new one.
func awaitPlan(in Input) *Decision {
	if !in.Spec.Parameters.IsNext() || in.prepared() || in.Obstacle != nil || in.Target.HelmRelease == "" || HasPlan(in) {
		return nil
	}
	n, request := in.Next, in.recordedNext().Request
	p := Problem{opsv1alpha1.ReasonAwaitingPlan, fmt.Sprintf("HelmRelease %s has not computed the plan of its next upgrade yet", in.Target.HelmRelease)}
	token := request
	switch {
	case in.expired(), n.Open && n.Requested == request:
		return in.await(p, pollInterval)
	case n.Open:
		token = n.Requested
	case request == "" || n.Requested == request:
		// The HelmRelease has answered a request of this name, and the plan is gone or has changed.
		token = fmt.Sprintf("operation/%s/%d", in.Object.UID, in.Now.Unix())
		if token == n.Requested {
			return in.await(p, pollInterval)
		}
	}
	return &Decision{Action: RequestPlan{HelmRelease: in.Target.HelmRelease, Token: token}, Reason: p.Reason, Why: p.Message}
}

// Skippable returns the hooks that an upgrade of a HelmRelease with the given inputs may leave out,
// because Operations have run them. It is only called for an upgrade that makes a new revision. The
// revisions are newest first.
func Skippable(all []opsv1alpha1.Operation, hr *helmv2.HelmRelease, inputs string, revisions []release.Revision) []release.Skip {
	var skips []release.Skip
	for i := range all {
		op := &all[i]
		n, o := op.Status.Next, op.Status.Outputs
		if !MaySkip(op, hr) || op.Status.Phase != opsv1alpha1.PhaseSucceeded || n == nil || o == nil || o.Release == nil || op.Status.StartedAt == nil {
			continue
		}
		if n.SkipApprovedBy == "" || n.UID != string(hr.UID) || n.Inputs != inputs || o.Release.HookDigest == "" || isSpent(op, revisions) {
			continue
		}
		skips = append(skips, release.Skip{Digest: o.Release.HookDigest, Operation: op.Name, ApprovedBy: n.SkipApprovedBy})
	}
	return skips
}

// MaySkip reports whether an Operation can make an upgrade of a HelmRelease leave out a hook.
func MaySkip(op *opsv1alpha1.Operation, hr *helmv2.HelmRelease) bool {
	ended := op.Status.Phase.Final() && op.Status.Phase != opsv1alpha1.PhaseSucceeded
	return op.Spec.Parameters.Skips() && !ended && op.Namespace == hr.Namespace && op.Spec.TargetRef.Name == hr.Name && IsHelmRelease(op.Spec.TargetRef)
}

// isSpent reports whether a revision has succeeded since an Operation has run its hook, or may have. A
// rollback as a remediation restores what was there before the failed upgrade.
func isSpent(op *opsv1alpha1.Operation, revisions []release.Revision) bool {
	since := op.Status.Next.Revision
	if len(revisions) == 0 || revisions[0].Version < since {
		return true
	}
	// Times of the API have no fractions of a second.
	if installed := revisions[0].FirstDeployed.Truncate(time.Second); installed.After(op.Status.StartedAt.Time) {
		return true
	}
	newer := 0
	for _, r := range revisions {
		if r.Version <= since {
			continue
		}
		newer++
		succeeded := (r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusSuperseded) && !r.Undeployed
		uninstalled := slices.Contains([]helmv2.ReleaseStatus{helmv2.StatusUninstalled, helmv2.StatusUninstalling}, r.Status)
		if succeeded && !r.Rollback || r.RolledBackTo != 0 || uninstalled || r.Altered {
			return true
		}
	}
	// Revisions that are no longer stored may have succeeded.
	return newer != revisions[0].Version-since
}
