// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Replace are the objects that an approval names to be deleted and created anew.
type Replace struct {
	// Names are the objects as ReplacedName returns them, separated by commas.
	Names string
	// Removals are the objects for policies.
	Removals []v1alpha1.PlanRemoval
	// Void states why no object is replaced; empty if all are.
	Void string
	// Refused is the number of objects whose change is refused.
	Refused int64
}

// Replaces reports whether the approval of a ReleasePlan that was not applied names objects to replace.
// nil has no approval.
func Replaces(plan *v1alpha1.ReleasePlan) bool {
	return plan != nil && plan.Spec.Replace != nil && plan.Status.AppliedAt == nil &&
		plan.Status.Digest != "" && plan.Spec.Replace.Digest == plan.Status.Digest && plan.Spec.Approved == plan.Status.Digest && plan.Spec.Rejected != plan.Status.Digest
}

// ReplaceOf returns the objects that the approval of a ReleasePlan names; nil if it names none. Objects
// without a namespace are in the given one. Whether users were allowed to write the names depends on the
// cluster.
func ReplaceOf(plan *v1alpha1.ReleasePlan, namespace string) *Replace {
	if !Replaces(plan) {
		return nil
	}
	r := &Replace{}
	if note(plan.Spec.ApprovedBy) == "" {
		r.Void = "the approval names no user"
	}
	if plan.Status.Action != v1alpha1.PlanUpgrade {
		r.Void = "the action is no upgrade"
	}
	var names []string
	for _, o := range plan.Spec.Replace.Objects {
		change, err := ReplacedChange(&plan.Status, o, namespace)
		if err != nil {
			r.Void = err.Error()
			continue
		}
		name := ReplacedName(*change)
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		r.Removals = append(r.Removals, v1alpha1.PlanRemoval{
			Group: groupIn(change.APIVersion), Kind: change.Kind, Change: v1alpha1.ChangeReplace, Destructive: true, Name: change.Name, Count: 1,
		})
		if change.Change == v1alpha1.ChangeRefused {
			r.Refused++
		}
	}
	r.Names = strings.Join(names, separator)
	return r
}

// ReplacedChange returns the change in a plan that may be carried out as a replacement of the named
// object, or an error that states why there is none.
func ReplacedChange(status *v1alpha1.ReleasePlanStatus, o v1alpha1.PlanObject, namespace string) (*v1alpha1.PlanChange, error) {
	var named, found []*v1alpha1.PlanChange
	for i := range status.Changes {
		c := &status.Changes[i]
		if !isNamed(c, o, namespace) {
			continue
		}
		named = append(named, c)
		if c.Replacement != nil {
			found = append(found, c)
		}
	}
	name := fmt.Sprintf("%s/%s", o.Kind, o.Name)
	switch {
	case len(named) == 0:
		return nil, fmt.Errorf("the plan does not change %s", name)
	case len(found) == 0:
		return nil, fmt.Errorf("%s is not replaced: the plan has no change of it that is refused because of fields that cannot be changed", name)
	case len(found) > 1:
		return nil, fmt.Errorf("%s is not replaced: the plan has several objects of this name", name)
	case found[0].Replacement.Refused != "":
		return nil, fmt.Errorf("%s is not replaced: %s", name, found[0].Replacement.Refused)
	}
	return found[0], nil
}

// isNamed reports whether a change is about the named object.
func isNamed(c *v1alpha1.PlanChange, o v1alpha1.PlanObject, namespace string) bool {
	if c.Kind != o.Kind || c.Name != o.Name || o.APIVersion != "" && c.APIVersion != o.APIVersion {
		return false
	}
	return o.Namespace == c.Namespace || o.Namespace == "" && c.Namespace == namespace
}

// ReplacedName returns the name of the object of a change, with its group, independent of its version.
func ReplacedName(c v1alpha1.PlanChange) string {
	name := c.Kind
	if group := groupIn(c.APIVersion); group != "" {
		name += "." + group
	}
	if c.Namespace != "" {
		name += "/" + c.Namespace
	}
	return name + "/" + c.Name
}

// groupIn returns the group in an API version; empty for the core group.
func groupIn(apiVersion string) string {
	group, _, qualified := strings.Cut(apiVersion, "/")
	if !qualified {
		return ""
	}
	return group
}

// RefusedOf names the first change of a plan that the API server refuses, if it is among the listed
// ones; empty if there is none besides those that are replaced. A replacement that has no effect is
// named too.
func RefusedOf(status *v1alpha1.ReleasePlanStatus, r *Replace) string {
	text := ""
	if r != nil && r.Void != "" {
		text, r = "; the replacement of objects has no effect: "+r.Void, nil
	}
	var replaced []string
	left := status.Summary.Refused
	if r != nil {
		replaced, left = strings.Split(r.Names, separator), left-r.Refused
	}
	if left <= 0 {
		return strings.TrimPrefix(text, "; ")
	}
	for _, c := range slices.Concat(status.Changes, status.CRDs) {
		if c.Change == v1alpha1.ChangeRefused && !slices.Contains(replaced, ReplacedName(c)) {
			return fmt.Sprintf("%s/%s: %s", c.Kind, c.Name, c.Reason) + text
		}
	}
	return "a change that the plan does not list" + text
}

// ReplacedNames returns the objects that an action replaces, as ReplacedName returns them.
func (r PlanRef) ReplacedNames() []string {
	if r.Replace == "" {
		return nil
	}
	return strings.Split(r.Replace, separator)
}

// planReplacement demands the plan of an upgrade whose approval names objects to replace, where no
// policy demands one.
func planReplacement(in Input, d Decision) *Decision {
	if _, upgrades := d.Action.(Upgrade); !upgrades || !in.Observed.Replaces || in.Observed.Plan != nil {
		return nil
	}
	return &Decision{Action: ComputePlan{Of: d.HelmAction()}, Why: fmt.Sprintf("the approval of the '%s' action names objects that are replaced", Name(d.Action))}
}

// replaces reports whether an action carries out a plan because its approval names objects to replace.
func replaces(p *Plan) bool {
	return p != nil && p.Replace != nil && p.Replace.Void == "" && p.Approved == p.Digest
}

// Replaced is an object that an upgrade deletes and creates anew.
type Replaced struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is the UID of the object that is deleted. Another object of the name stays.
	UID string `json:"uid"`
}
