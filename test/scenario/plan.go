// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	planning "github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// findPlan returns the plan of the next action; nil if there is none, its inputs or its base have
// changed, it is void, or another one is requested.
func (o observation) findPlan(in release.Input) *release.Plan {
	action := release.PlannedAction(in)
	p, of := o.plan, release.PlanActionOf(in, action)
	_, requested := release.PlanRequested(in)
	reinstalled := p != nil && p.action == v1alpha1.PlanReinstall && of == v1alpha1.PlanInstall
	if p == nil || p.basis != basisOf(in, of) && !reinstalled || p.digest == o.void || requested {
		return nil
	}
	return p.found(in.Desired.Demands)
}

// computePlan computes the plan of an action, and returns in with it.
func (o observation) computePlan(in release.Input, do release.ComputePlan) release.Input {
	w, of := o.World, release.PlanActionOf(in, do.Of)
	w.plans++
	made := plan{digest: fmt.Sprintf("sha256:plan-%d", w.plans), basis: basisOf(in, of), action: of, changes: w.changes, dangers: w.dangers}
	if p := w.plan; p != nil {
		made.approved, made.approvedBy, made.rejected, made.rejection = p.approved, p.approvedBy, p.rejected, p.rejection
		made.override, made.overridden, made.replace, made.voidReplace = p.override, p.overridden, p.replace, p.voidReplace
	}
	w.plan, w.void = &made, ""
	w.out.line("plan %s %s", made.action, made.digest)
	if do.Request != "" {
		handle(w, v1alpha1.AnnotationPlan, do.Request)
	}
	in.Observed.Plan = made.found(in.Desired.Demands)
	return in
}

// basisOf returns what a plan is computed from.
func basisOf(in release.Input, action v1alpha1.PlanAction) string {
	base := 0
	if newest := in.Observed.Newest(); newest != nil {
		base = newest.Version
	}
	return fmt.Sprintf("%s %d %+v", action, base, release.InputsOf(in.Desired))
}

// found returns the plan as decisions read it.
func (p *plan) found(demands policy.Demands) *release.Plan {
	f := &release.Plan{
		Digest: p.digest, Action: p.action, Approved: p.approved, ApprovedBy: p.approvedBy, Rejected: p.rejected, Rejection: p.rejection,
		Summary: fmt.Sprintf("%d changes", len(p.changes)),
	}
	if o := p.override; o != nil {
		f.Override = new(*o)
		if p.overridden != p.digest {
			f.Override.Void = "it is for another plan"
		}
	}
	removals := planning.Removals(p.changes, nil)
	if f.Replace = release.ReplaceOf(p.object(), namespace); f.Replace != nil {
		removals = append(removals, f.Replace.Removals...)
		if f.Replace.Void == "" {
			f.Replace.Void = p.voidReplace
		}
	}
	f.Refused = release.RefusedOf(&p.object().Status, f.Replace)
	assessed := demands.Assess(p.action, removals, p.dangers)
	f.Denied, f.Needs = assessed.Denied, assessed.Needs
	return f
}

// useOverride forgets the override of a plan of which a revision was made.
func (w *World) useOverride(in release.Input) {
	p := w.plan
	if p != nil && p.override != nil && slices.ContainsFunc(in.Observed.Revisions, func(r release.Revision) bool {
		return r.Attempt != nil && r.Attempt.Plan == p.overridden && !r.Pending()
	}) {
		p.override, p.overridden = nil, ""
		w.out.line("override used")
	}
}

// setPlan performs lines about approvals.
func setPlan(w *World, verb string, args arguments) error {
	const by = "ReleasePolicy/production"
	demands := &w.demands
	switch verb {
	case "approval":
		demands.Approvals = nil
		if of := v1alpha1.Approval(args.at(0)); of != v1alpha1.ApprovalNever {
			demands.Approvals = []policy.Approval{{Policy: by, Of: of, RollbacksFree: args.has("free")}}
		}
		return nil
	case "approval-class":
		demands.Approvals = []policy.Approval{{Policy: by, Of: v1alpha1.ApprovalNever, Classes: []v1alpha1.DangerClass{v1alpha1.DangerClass(args.at(0))}}}
		return nil
	case "danger":
		w.dangers = []v1alpha1.PlanDanger{{Class: v1alpha1.DangerClass(args.at(0)), Kind: "Deployment", Name: "web", Reason: args.value("reason", "it is scaled to zero")}}
		return nil
	case "protect":
		kind, deny, _ := strings.Cut(args.at(0), ",")
		demands.Protections = append(demands.Protections, policy.Protection{Policy: by, Protection: v1alpha1.Protection{
			Kinds: []string{kind}, Deny: deny == "deny",
			Operations: []v1alpha1.ProtectedOperation{v1alpha1.ProtectDelete, v1alpha1.ProtectReplace, v1alpha1.ProtectReinstall},
		}})
		return nil
	case "changes":
		w.changes = nil
		for i := range args {
			kind, object, _ := strings.Cut(args.at(i), " ")
			of, name, _ := strings.Cut(object, "/")
			change := v1alpha1.PlanChange{
				Kind: of, Name: name, Change: v1alpha1.ChangeKind(kind), Destructive: kind == string(v1alpha1.ChangeDelete), Reason: "immutable",
			}
			if of == "StatefulSet" && change.Change == v1alpha1.ChangeRefused {
				change.Replacement = &v1alpha1.PlanReplacement{UID: "1"}
			}
			w.changes = append(w.changes, change)
		}
		return nil
	}
	if w.plan == nil {
		return fmt.Errorf("there is no plan to %s", verb)
	}
	if verb == "reject" {
		w.plan.rejected = w.plan.digest
		w.plan.rejection = release.RejectionOf(v1alpha1.ReleasePlanSpec{RejectedBy: args.value("by", ""), RejectionReason: args.value("reason", "")})
		return nil
	}
	if verb == "override" {
		w.plan.override = &release.Override{By: args.value("by", "jane"), Reason: args.value("reason", "incident"), Void: args.value("void", "")}
		w.plan.overridden = w.plan.digest
		return nil
	}
	w.plan.approved, w.plan.approvedBy = w.plan.digest, args.value("by", "jane")
	w.plan.replace, w.plan.voidReplace = nil, args.value("void", "")
	if object := args.value("replace", ""); object != "" {
		kind, name, _ := strings.Cut(object, "/")
		w.plan.replace = &v1alpha1.PlanReplace{Digest: w.plan.digest, Objects: []v1alpha1.PlanObject{{Kind: kind, Name: name}}}
	}
	if args.has("other") {
		w.plan.approved = "sha256:other"
	}
	return nil
}
