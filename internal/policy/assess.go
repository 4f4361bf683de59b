// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Assessment is the result of comparing a plan with the demands.
type Assessment struct {
	// Denied states which policy denies a change of which object; empty if none does.
	Denied string
	// Needs states why the plan needs approval; empty if it needs none.
	Needs string
}

// Assess compares the removals and the dangers of an action with the demands. The kinds of removals and
// the classes of dangers must be complete and true: names and reasons are for messages only. A rollback keeps protected objects, so that protections demand
// nothing of it.
func (d Demands) Assess(action v1alpha1.PlanAction, removals []v1alpha1.PlanRemoval, dangers []v1alpha1.PlanDanger) Assessment {
	var a Assessment
	if action != v1alpha1.PlanRollback {
		for _, p := range d.Protections {
			a = a.protect(p, action, removals)
		}
	}
	if a.Needs == "" {
		a.Needs = d.approval(removals, dangers)
	}
	return a
}

// protect returns a with what a protection demands. Of several removals, it names the first.
func (a Assessment) protect(p Protection, action v1alpha1.PlanAction, removals []v1alpha1.PlanRemoval) Assessment {
	i := slices.IndexFunc(removals, func(r v1alpha1.PlanRemoval) bool { return p.protects(action, r) })
	if i < 0 {
		return a
	}
	object := objectOf(removals[i])
	if p.Deny && a.Denied == "" {
		a.Denied = fmt.Sprintf("%s denies the %s of %s", p.Policy, nounOf(action, removals[i].Change), object)
	}
	if a.Needs == "" {
		a.Needs = fmt.Sprintf("%s protects %s", p.Policy, object)
	}
	return a
}

// approval returns why changes need approval that no protection covers; empty if they need none.
func (d Demands) approval(removals []v1alpha1.PlanRemoval, dangers []v1alpha1.PlanDanger) string {
	for _, by := range d.Approvals {
		if by.Of == v1alpha1.ApprovalAlways {
			return by.Policy + ": all changes"
		}
		i := slices.IndexFunc(removals, func(r v1alpha1.PlanRemoval) bool { return r.Destructive })
		if i >= 0 && by.Of == v1alpha1.ApprovalDestructive {
			return fmt.Sprintf("%s: destructive changes, such as that of %s", by.Policy, objectOf(removals[i]))
		}
		if i := slices.IndexFunc(dangers, func(d v1alpha1.PlanDanger) bool { return slices.Contains(by.Classes, d.Class) }); i >= 0 {
			return fmt.Sprintf("%s: %s, %s/%s: %s", by.Policy, dangers[i].Class, dangers[i].Kind, dangers[i].Name, dangers[i].Reason)
		}
	}
	return ""
}

// Protector returns the policy that protects an object against its removal by a rollback; empty if
// none does. While the policies are not known, any may.
func (d Demands) Protector(r v1alpha1.PlanRemoval) string {
	if d.Unavailable != "" {
		return "a policy that cannot be read"
	}
	i := slices.IndexFunc(d.Protections, func(p Protection) bool { return p.protects(v1alpha1.PlanRollback, r) })
	if i < 0 {
		return ""
	}
	return d.Protections[i].Policy
}

// protects reports whether a protection is about a removal.
func (p Protection) protects(action v1alpha1.PlanAction, r v1alpha1.PlanRemoval) bool {
	has := func(o v1alpha1.ProtectedOperation) bool { return slices.Contains(p.Operations, o) }
	switch {
	case !slices.ContainsFunc(p.Kinds, func(kind string) bool { return isKind(kind, r) }):
		return false
	case action == v1alpha1.PlanReinstall:
		return r.Destructive && (has(v1alpha1.ProtectReinstall) || has(v1alpha1.ProtectDelete))
	case r.Change == v1alpha1.ChangeReplace:
		// A hook deletes the object that it replaces.
		return has(v1alpha1.ProtectReplace) || r.Destructive && has(v1alpha1.ProtectDelete)
	case r.Change == v1alpha1.ChangeDelete:
		return has(v1alpha1.ProtectDelete)
	}
	return false
}

// isKind reports whether "Kind", in any group, or "Kind.group" is the kind of removed objects.
func isKind(name string, r v1alpha1.PlanRemoval) bool {
	kind, group, qualified := strings.Cut(name, ".")
	return kind == r.Kind && (!qualified || group == r.Group)
}

func objectOf(r v1alpha1.PlanRemoval) string { return fmt.Sprintf("%s/%s", r.Kind, r.Name) }

// nounOf returns the noun for a change.
func nounOf(action v1alpha1.PlanAction, kind v1alpha1.ChangeKind) string {
	switch {
	case action == v1alpha1.PlanReinstall:
		return "reinstall"
	case kind == v1alpha1.ChangeReplace:
		return "replacement"
	}
	return "deletion"
}
