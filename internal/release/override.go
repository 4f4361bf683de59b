// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Override is an override of a plan that was not used yet. It lets the action of the plan pass the gates
// that are overridable.
type Override struct {
	// By is the user, and Reason why, in one line.
	By, Reason string
	// Void states why the override has no effect; empty if it has one.
	Void string
}

// OverrideOf returns the override in a ReleasePlan that was not used yet; nil if there is none. Only its
// digest is compared here: whether users were allowed to write it depends on the cluster.
func OverrideOf(plan *v1alpha1.ReleasePlan) *Override {
	if !Overridden(plan) {
		return nil
	}
	spec := plan.Spec.Override
	o := &Override{By: note(spec.By), Reason: note(spec.Reason)}
	switch {
	case o.By == "":
		o.Void = "it names no user"
	case plan.Status.Digest == "" || spec.Digest != plan.Status.Digest:
		o.Void = "it is for another plan"
	}
	return o
}

// Overridden reports whether a ReleasePlan has an override that was not used yet. nil has none.
func Overridden(plan *v1alpha1.ReleasePlan) bool {
	if plan == nil || plan.Spec.Override == nil {
		return false
	}
	have, used := plan.Spec.Override, plan.Status.Overridden
	return used == nil || have.Digest != used.Digest || have.By != used.By || have.Reason != used.Reason || !have.At.Equal(used.At)
}

// separator separates names of gates in PlanRef.Overrode, and of objects in PlanRef.Replace.
const separator = ", "

// OverriddenGates returns the names of the gates that an action passes by an override.
func (r PlanRef) OverriddenGates() []string {
	if r.Overrode == "" {
		return nil
	}
	return strings.Split(r.Overrode, separator)
}

// override returns the decision of an overridable gate that holds d if the plan has an override: nil if
// the override lets the action pass.
func override(in Input, d, held Decision) *Decision {
	plan := in.Observed.Plan
	switch {
	case plan == nil:
		held.Action = ComputePlan{Of: d.HelmAction()}
		held.Why = fmt.Sprintf("the plan of the '%s' action has an override", Name(d.Action))
	case plan.Override == nil:
	case plan.Override.Void != "":
		held.Why += fmt.Sprintf("; the override by %s has no effect: %s", plan.Override.By, plan.Override.Void)
	case plan.Refused != "":
		held.Why += fmt.Sprintf("; the override by %s has no effect: the API server refuses %s", plan.Override.By, plan.Refused)
	case plan.Failed == "" && !isRejected(plan):
		return nil
	}
	return &held
}
