// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	planning "github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// findPlan returns the plan of the next action. It computes the plan if there is none, if its inputs or
// its base have changed, if it is void, or on request.
func (o observation) findPlan(in release.Input) *release.Plan {
	w, action := o.World, release.PlanActionOf(in, release.PlannedAction(in))
	base := 0
	if newest := in.Observed.Newest(); newest != nil {
		base = newest.Version
	}
	_, requested := release.PlanRequested(in)
	basis := fmt.Sprintf("%s %d %+v", action, base, release.InputsOf(in.Desired))
	reinstalled := w.plan != nil && w.plan.action == v1alpha1.PlanReinstall && action == v1alpha1.PlanInstall
	if p := w.plan; p == nil || p.basis != basis && !reinstalled || p.digest == w.void || requested {
		w.plans++
		made := plan{digest: fmt.Sprintf("sha256:plan-%d", w.plans), basis: basis, action: action, changes: w.changes}
		if p != nil {
			made.approved, made.approvedBy, made.rejected = p.approved, p.approvedBy, p.rejected
		}
		w.plan, w.void = &made, ""
		w.out.line("plan %s %s", made.action, made.digest)
	}
	if requested {
		handle(w, v1alpha1.AnnotationPlan, in.Desired.Requests.Plan)
	}
	return w.plan.found(in.Desired.Demands)
}

// found returns the plan as decisions read it.
func (p *plan) found(demands policy.Demands) *release.Plan {
	f := &release.Plan{
		Digest: p.digest, Action: p.action, Approved: p.approved, ApprovedBy: p.approvedBy, Rejected: p.rejected,
		Summary: fmt.Sprintf("%d changes", len(p.changes)),
	}
	for _, c := range p.changes {
		if c.Change == v1alpha1.ChangeRefused {
			f.Refused = fmt.Sprintf("%s/%s: %s", c.Kind, c.Name, c.Reason)
		}
	}
	assessed := demands.Assess(p.action, planning.Removals(p.changes, nil))
	f.Denied, f.Needs = assessed.Denied, assessed.Needs
	return f
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
			w.changes = append(w.changes, v1alpha1.PlanChange{
				Kind: of, Name: name, Change: v1alpha1.ChangeKind(kind), Destructive: kind == string(v1alpha1.ChangeDelete), Reason: "immutable",
			})
		}
		return nil
	}
	if w.plan == nil {
		return fmt.Errorf("there is no plan to %s", verb)
	}
	if verb == "reject" {
		w.plan.rejected = w.plan.digest
		return nil
	}
	w.plan.approved, w.plan.approvedBy = w.plan.digest, args.value("by", "jane")
	if args.has("other") {
		w.plan.approved = "sha256:other"
	}
	return nil
}
