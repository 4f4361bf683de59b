// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Assessment is the result of comparing a plan with the demands.
type Assessment struct {
	// Denied states which policy denies a change of which object; empty if none does.
	Denied string
	// Needs states why the plan needs approval; empty if it needs none.
	Needs string
}

// Assess compares the changes of an action with the demands. hidden is true if not all removals and
// replacements are among the changes: any protected object may be among them then.
func (d Demands) Assess(action v1alpha1.PlanAction, changes []v1alpha1.PlanChange, hidden bool) Assessment {
	var a Assessment
	if hidden {
		a = d.assessHidden()
	}
	for _, p := range d.Protections {
		a = a.protect(p, action, changes)
	}
	if a.Needs == "" {
		a.Needs = d.approval(changes)
	}
	return a
}

// protect returns a with what a protection demands. Of several changes, it names the first.
func (a Assessment) protect(p Protection, action v1alpha1.PlanAction, changes []v1alpha1.PlanChange) Assessment {
	i := slices.IndexFunc(changes, func(c v1alpha1.PlanChange) bool { return protects(p.Protection, action, &c) })
	if i < 0 {
		return a
	}
	object := fmt.Sprintf("%s/%s", changes[i].Kind, changes[i].Name)
	if p.Deny && a.Denied == "" {
		a.Denied = fmt.Sprintf("%s denies the %s of %s", p.Policy, nounOf(action, changes[i].Change), object)
	}
	if a.Needs == "" {
		a.Needs = fmt.Sprintf("%s protects %s", p.Policy, object)
	}
	return a
}

// approval returns why changes need approval that no protection covers; empty if they need none.
func (d Demands) approval(changes []v1alpha1.PlanChange) string {
	for _, by := range d.Approvals {
		if by.Of == v1alpha1.ApprovalAlways {
			return fmt.Sprintf("%s demands approval of all changes", by.Policy)
		}
		if i := slices.IndexFunc(changes, func(c v1alpha1.PlanChange) bool { return c.Destructive }); i >= 0 {
			return fmt.Sprintf("%s demands approval of destructive changes, such as that of %s/%s", by.Policy, changes[i].Kind, changes[i].Name)
		}
	}
	return ""
}

// assessHidden returns the assessment of a plan that does not list all removals.
func (d Demands) assessHidden() (a Assessment) {
	const more = "the plan removes more objects than it lists"
	for _, p := range d.Protections {
		a.Needs = fmt.Sprintf("%s protects objects, and %s", p.Policy, more)
		if p.Deny {
			a.Denied = fmt.Sprintf("%s denies removals, and %s", p.Policy, more)
		}
	}
	return a
}

// protects reports whether a protection is about a change.
func protects(p v1alpha1.Protection, action v1alpha1.PlanAction, c *v1alpha1.PlanChange) bool {
	if !slices.Contains(p.Kinds, c.Kind) {
		return false
	}
	switch {
	case action == v1alpha1.PlanReinstall:
		return c.Destructive && (slices.Contains(p.Operations, v1alpha1.ProtectReinstall) || slices.Contains(p.Operations, v1alpha1.ProtectDelete))
	case c.Change == v1alpha1.ChangeDelete:
		return slices.Contains(p.Operations, v1alpha1.ProtectDelete)
	case c.Change == v1alpha1.ChangeReplace:
		return slices.Contains(p.Operations, v1alpha1.ProtectReplace)
	}
	return false
}

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
