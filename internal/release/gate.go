// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// Plan is the plan of the next action: a ReleasePlan, as far as decisions read it. It is up to date.
type Plan struct {
	// Digest is the digest of the plan.
	Digest string
	Action v1alpha1.PlanAction
	// Failed is the error of computing the plan; empty if there was none.
	Failed string
	// Refused names the first change that the API server refuses, and that the approval does not carry
	// out as a replacement; empty if there is none.
	Refused string
	// Denied states which policy denies the plan; empty if none does. Needs states why the plan
	// needs approval; empty if it needs none.
	Denied, Needs string
	// Approved and Rejected are the digests in the spec. Approved may also come from an annotation
	// of the HelmRelease.
	Approved, Rejected string
	ApprovedBy         string
	// Rejection says who has rejected the plan, and why; empty if neither is known.
	Rejection string
	// Override is the override in the spec that was not used yet; nil if there is none.
	Override *Override
	// Replace are the objects that the approval names to be deleted and created anew; nil if there are
	// none.
	Replace *Replace
	// Summary is a text with the numbers of changes.
	Summary string
}

// gate holds actions because of policies. apply returns nil if the decision passes.
type gate struct {
	name  Rule
	apply func(Input, Decision) *Decision
	// overridable is true if an override of the plan passes the gate.
	overridable bool
}

// gates returns the gates in the order in which they are passed. The order is part of the contract
// and is documented in docs/spec/policies.md.
func gates() []gate {
	return []gate{
		{name: RulePolicyUnavailable, apply: policyUnavailable},
		{name: RulePolicyRefused, apply: policyRefused},
		{name: RuleFrozen, apply: frozen, overridable: true},
		{name: RuleAwaitingWindow, apply: awaitWindow, overridable: true},
		{name: RuleAwaitingApproval, apply: awaitApproval},
		{name: RuleAwaitingRollout, apply: awaitRollout, overridable: true},
	}
}

// Gates returns the names of the gates in the order in which they are passed.
func Gates() []Rule {
	var names []Rule
	for _, g := range gates() {
		names = append(names, g.name)
	}
	return names
}

// pass returns a decision that has passed the gates, or the one of the gate that holds it.
func pass(in Input, d Decision) Decision {
	if !isGated(in, d) {
		return refusedInSync(in, d)
	}
	in = facing(in, d)
	var passed []string
	for _, g := range gates() {
		held := g.apply(in, d)
		if held == nil {
			continue
		}
		held.Rule, held.State = g.name, d.State
		if g.overridable && in.Observed.Overridden {
			if held = override(in, d, *held); held == nil {
				passed = append(passed, string(g.name))
				continue
			}
		}
		return correctHeld(in, d, *held)
	}
	plan := in.Observed.Plan
	if len(passed) > 0 {
		d.Action = carryOut(d.HelmAction(), plan, strings.Join(passed, separator))
	} else if (in.Desired.Demands.NeedPlan() || in.Observed.Replaces && replaces(plan)) && plan.Failed == "" && plan.Refused == "" {
		d.Action = carryOut(d.HelmAction(), plan, "")
	}
	return d
}

// facing returns in with the demands that hold the action of a decision.
func facing(in Input, d Decision) Input {
	if _, back := d.Action.(Rollback); back {
		in.Desired.Demands = in.Desired.Demands.OnRollback()
	}
	return in
}

// refusedInSync returns the refusal of the chart in place of a decision that the release is in
// sync. A release whose chart is refused keeps the inputs of its newest revision.
func refusedInSync(in Input, d Decision) Decision {
	refusal := in.Desired.Demands.Refusal
	if refusal == nil || refusal.ChangesOnly || d.Rule != RuleInSync && d.Rule != RuleDrifted {
		return d
	}
	if correct, is := d.Action.(CorrectDrift); is {
		correct.Held = true
		d.Action = correct
		return d
	}
	held := refuse(*refusal)
	held.Rule, held.State = RulePolicyRefused, d.State
	return held
}

// correctHeld returns the correction of drift that precedes a held upgrade or rollback, or held. A
// policy holds that action alone: the release stays equal to its newest revision.
func correctHeld(in Input, d, held Decision) Decision {
	_, unplanned := held.Action.(ComputePlan)
	unknown := held.Rule == RuleAwaitingRollout && in.Observed.Turn == nil
	if unplanned || unknown || d.Rule != RuleOutOfSync && d.Rule != RuleRolledBack {
		return held
	}
	if d.Rule == RuleRolledBack {
		in = withoutRendering(in)
	}
	if found := drifted(in); found != nil {
		if correct, is := found.Action.(CorrectDrift); is {
			correct.Held = true
			found.Rule, found.Action = RuleDrifted, correct
			return *found
		}
	}
	return held
}

// isHeldDeployed reports whether a gate holds the upgrade or rollback of a release whose newest
// revision is deployed.
func isHeldDeployed(d Decision) bool {
	return d.State == StateOutOfSync && slices.Contains(Gates(), d.Rule)
}

// isGated reports whether policies can hold an action. They never hold an action that has started,
// a rollback that remediates, a correction of drift, or the uninstall of a namespace that is being
// deleted.
func isGated(in Input, d Decision) bool {
	switch a := d.HelmAction().(type) {
	case Install:
		return a.Resume == 0
	case Upgrade:
		return a.Resume == 0
	case Uninstall:
		return !startedUninstall(in) && !in.Observed.Terminating
	case Rollback:
		return a.Hold && a.Resume == 0
	case Test, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return false
}

// PlanOf returns the plan that an action carries out.
func PlanOf(a HelmAction) PlanRef {
	switch a := a.(type) {
	case Install:
		return a.Plan
	case Upgrade:
		return a.Plan
	case Uninstall:
		return a.Plan
	case Rollback:
		return a.Plan
	case Test, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return PlanRef{}
}

// carryOut returns an action that carries out a plan. overrode names the gates that it passes by the
// override of the plan; empty if it needs none.
func carryOut(a HelmAction, plan *Plan, overrode string) HelmAction {
	ref := PlanRef{Digest: plan.Digest}
	if plan.Approved == plan.Digest {
		ref.ApprovedBy = plan.ApprovedBy
	}
	if replaces(plan) {
		ref.Replace = plan.Replace.Names
	}
	if overrode != "" {
		ref.Overrode, ref.OverriddenBy, ref.OverrideReason = overrode, plan.Override.By, plan.Override.Reason
	}
	switch a := a.(type) {
	case Install:
		a.Plan = ref
		return a
	case Upgrade:
		a.Plan = ref
		return a
	case Uninstall:
		a.Plan = ref
		return a
	case Rollback:
		a.Plan = ref
		return a
	case Test, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return a
}

// policyRetry is the pause before policies that could not be read are read again.
const policyRetry = 15 * time.Second

// policyUnavailable holds actions while policies cannot be read.
func policyUnavailable(in Input, _ Decision) *Decision {
	why := in.Desired.Demands.Unavailable
	if why == "" {
		return nil
	}
	return &Decision{Action: Wait{After: policyRetry, Gate: helmv2.ReasonPolicyUnavailable}, Why: "the policies of the release cannot be read: " + why}
}

// policyRefused holds installs and upgrades of charts that a policy does not allow.
func policyRefused(in Input, d Decision) *Decision {
	refusal := in.Desired.Demands.Refusal
	if refusal == nil || !AppliesDesired(d.HelmAction()) {
		return nil
	}
	held := refuse(*refusal)
	return &held
}

func refuse(r policy.Refusal) Decision {
	return Decision{
		Action: Stall{Reason: helmv2.ReasonPolicyRefused},
		Why:    fmt.Sprintf("%s refuses %s: %s", r.Policy, r.Field, r.Why),
	}
}

// frozen holds actions while a policy freezes the release.
func frozen(in Input, d Decision) *Decision {
	if len(in.Desired.Demands.Freezes) == 0 {
		return nil
	}
	first, others := in.Desired.Demands.Freezes[0], ""
	if n := len(in.Desired.Demands.Freezes) - 1; n > 0 {
		others = fmt.Sprintf(" (and %d other policies)", n)
	}
	// Without the reason of the action: another one is no news.
	return &Decision{
		Action: Wait{After: in.Desired.Policy.Interval, Gate: helmv2.ReasonFrozen},
		Why:    fmt.Sprintf("%s freezes the release: %s%s; the '%s' action waits", first.Policy, first.Why, others, Name(d.Action)),
	}
}

// awaitWindow holds actions while the windows of a policy are closed. Meanwhile there is a plan, so that
// people see what comes.
func awaitWindow(in Input, d Decision) *Decision {
	closures := in.Desired.Demands.Closures
	if len(closures) == 0 {
		return nil
	}
	plan := in.Observed.Plan
	if plan == nil {
		return &Decision{Action: ComputePlan{Of: d.HelmAction()}, Why: fmt.Sprintf("the '%s' action waits for a window", Name(d.Action))}
	}
	if isRejected(plan) {
		return nil // awaitApproval holds it, also when the window opens
	}
	// The last one that opens decides.
	last := closures[0]
	for _, c := range closures[1:] {
		if !last.Opens.IsZero() && (c.Opens.IsZero() || c.Opens.After(last.Opens)) {
			last = c
		}
	}
	if last.Opens.IsZero() {
		return &Decision{
			Action: Wait{After: in.Desired.Policy.Interval, Gate: helmv2.ReasonAwaitingWindow},
			Why:    fmt.Sprintf("%s has no window that opens; the '%s' action waits", last.Policy, Name(d.Action)),
		}
	}
	// Clocks may be set: look at least as often as without a window.
	after := min(last.Opens.Sub(in.Now), in.Desired.Policy.Interval)
	return &Decision{
		Action: Wait{After: after, Gate: helmv2.ReasonAwaitingWindow},
		Why:    fmt.Sprintf("%s opens its window at %s; the '%s' action waits", last.Policy, last.Opens.UTC().Format(time.RFC3339), Name(d.Action)),
	}
}

// awaitApproval holds actions whose plans need approval, or cannot be carried out.
func awaitApproval(in Input, d Decision) *Decision {
	if !in.Desired.Demands.NeedPlan() {
		return planReplacement(in, d)
	}
	plan := in.Observed.Plan
	wait := func(why string) *Decision {
		return &Decision{Action: Wait{After: in.Desired.Policy.Interval, Gate: helmv2.ReasonAwaitingApproval}, Why: why}
	}
	switch judged := in.Desired.Demands.JudgePlan(); {
	case plan == nil:
		return &Decision{Action: ComputePlan{Of: d.HelmAction()}, Why: fmt.Sprintf("a policy demands a plan of the '%s' action", Name(d.Action))}
	case isRejected(plan):
		return &Decision{
			Action: Stall{Reason: helmv2.ReasonRejected},
			Why:    fmt.Sprintf("The plan of the '%s' action was rejected%s (%s)", Name(d.Action), plan.Rejection, plan.Summary),
		}
	case !judged:
		return nil
	case plan.Failed != "":
		return &Decision{Action: Wait{Obstacle: helmv2.ReasonPlanFailed}, Why: fmt.Sprintf("the plan of the '%s' action cannot be computed: %s", Name(d.Action), plan.Failed)}
	case plan.Denied != "":
		return &Decision{Action: Stall{Reason: helmv2.ReasonPolicyRefused}, Why: plan.Denied}
	case plan.Refused != "":
		return wait("the plan cannot be approved, since the API server refuses " + plan.Refused)
	case plan.Needs == "":
		return nil
	case plan.Approved == plan.Digest:
		return nil
	}
	return wait(fmt.Sprintf("Waiting for approval of the '%s' action (%s): %s", Name(d.Action), plan.Needs, plan.Summary))
}

// isRejected reports whether a person has rejected a plan, also one that needs no approval.
func isRejected(p *Plan) bool { return p.Failed == "" && p.Digest != "" && p.Rejected == p.Digest }

// RejectionOf returns who has rejected a plan, and why, as the end of a sentence; empty if neither is
// known.
func RejectionOf(spec v1alpha1.ReleasePlanSpec) string {
	var text string
	if by := note(spec.RejectedBy); by != "" {
		text = " by " + by
	}
	if reason := note(spec.RejectionReason); reason != "" {
		text += ": " + reason
	}
	return text
}

// MustFindNamespace reports whether the decision depends on whether the namespace of a deleted
// HelmRelease is being deleted, too.
func MustFindNamespace(in Input) bool {
	if !in.Desired.Deleted || in.Observed.Terminating {
		return false
	}
	demands := in.Desired.Demands
	return (demands.NeedPlan() || len(demands.Freezes) > 0 || demands.Unavailable != "") && isGated(in, decideUngated(in))
}

// PlanRequested returns the action whose plan a user requests by annotation, and false if none is
// requested, or the request was handled. It is the action that would be taken now if nothing held
// it, or an upgrade.
func PlanRequested(in Input) (HelmAction, bool) {
	if !in.Desired.Requests.PlanRequested() || in.Observed.Running != nil || in.Observed.Unresolved != "" {
		return nil, false
	}
	in.Desired.Suspension, in.Observed.Debounce = Suspension{}, nil
	switch a := decideUngated(in).HelmAction().(type) {
	case Install, Upgrade, Uninstall, Rollback:
		return a, true
	case Test, Unlock, Recheck, FailBake, CorrectDrift:
	}
	if newest := in.Observed.Newest(); newest == nil || in.Desired.Deleted {
		return nil, false
	}
	return Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout}, true
}

// PlanActionOf returns the name of an action in a plan. An uninstall of a release that is not to be
// removed precedes an install.
func PlanActionOf(in Input, a HelmAction) v1alpha1.PlanAction {
	switch a := a.(type) {
	case Install:
		return v1alpha1.PlanInstall
	case Upgrade:
		return v1alpha1.PlanUpgrade
	case Rollback:
		return v1alpha1.PlanRollback
	case Uninstall:
		if in.Desired.Deleted || a.Remediation {
			return v1alpha1.PlanUninstall
		}
		return v1alpha1.PlanReinstall
	case Test, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return ""
}

// SummaryOf returns the numbers of changes as text.
func SummaryOf(s v1alpha1.PlanSummary) string {
	var text string
	for _, part := range []struct {
		count int64
		word  string
	}{
		{s.Create, "created"},
		{s.Update, "updated"},
		{s.Replace, "replaced"},
		{s.Delete, "deleted"},
		{s.Refused, "refused"},
	} {
		if part.count > 0 {
			text += fmt.Sprintf(", %d %s", part.count, part.word)
		}
	}
	if text == "" {
		return "no object changes"
	}
	return fmt.Sprintf("%s, %d unchanged", text[2:], s.Unchanged)
}
