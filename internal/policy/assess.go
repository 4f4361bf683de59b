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
		for i := range changes {
			c := &changes[i]
			if !protects(p.Protection, action, c) {
				continue
			}
			object := fmt.Sprintf("%s/%s", c.Kind, c.Name)
			if p.Deny && a.Denied == "" {
				a.Denied = fmt.Sprintf("%s denies the %s of %s", p.Policy, nounOf(action, c.Change), object)
			}
			if a.Needs == "" {
				a.Needs = fmt.Sprintf("%s protects %s", p.Policy, object)
			}
		}
	}
	for _, by := range d.Approvals {
		if a.Needs != "" {
			break
		}
		if by.Of == v1alpha1.ApprovalAlways {
			a.Needs = fmt.Sprintf("%s demands approval of all changes", by.Policy)
			continue
		}
		if i := slices.IndexFunc(changes, func(c v1alpha1.PlanChange) bool { return c.Destructive }); i >= 0 {
			a.Needs = fmt.Sprintf("%s demands approval of destructive changes, such as that of %s/%s", by.Policy, changes[i].Kind, changes[i].Name)
		}
	}
	return a
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
