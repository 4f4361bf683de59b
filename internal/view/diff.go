// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// Diff is what an action on a release would change. It has no values of Secrets.
type Diff struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Action is Install, Upgrade, Reinstall, Rollback or CorrectDrift; empty if nothing would be done.
	Action string `json:"action,omitempty"`
	// Why is the reason of the action.
	Why string `json:"why,omitempty"`
	// From and To are the revisions before and after the action.
	From *v1alpha1.PlanRevision `json:"from,omitempty"`
	To   *v1alpha1.PlanRevision `json:"to,omitempty"`
	// Dangers are what the action may harm, the most severe class first.
	Dangers []v1alpha1.PlanDanger `json:"dangers,omitempty"`
	// Objects are the objects that would change, CRDs included. Drifted are the objects that differ
	// from the newest revision, as far as an action would not change them anyway.
	Objects []ObjectDiff `json:"objects,omitempty"`
	Drifted []ObjectDiff `json:"drifted,omitempty"`
	// Revision is the newest revision, if only drift was looked for.
	Revision int `json:"revision,omitempty"`
	// Unchanged is the number of objects that the action would not change.
	Unchanged int64 `json:"unchanged"`
	// Hooks are the hooks that differ between both revisions, and Notes is a unified diff of the
	// notes.
	Hooks []manifest.Difference `json:"hooks,omitempty"`
	Notes []string              `json:"notes,omitempty"`
	// Values are the keys of the values that differ.
	Values []v1alpha1.PlanValue `json:"values,omitempty"`
	// Warnings are facts that may matter. Problems are the reasons why the action would fail, or why
	// its changes are not known.
	Warnings []string `json:"warnings,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// Differs reports whether an action would be done, or live objects have drifted.
func (d *Diff) Differs() bool { return d.Action != "" || len(d.Drifted) > 0 }

// Destroyed returns the names of the objects whose data may be lost.
func (d *Diff) Destroyed() []string {
	var names []string
	for _, o := range d.Objects {
		if o.Destructive {
			names = append(names, o.String())
		}
	}
	return names
}

// The changes of an ObjectDiff.
const (
	DiffCreated  = "created"
	DiffChanged  = "changed"
	DiffReplaced = "replaced"
	DiffDeleted  = "deleted"
	DiffRefused  = "refused"
)

// ObjectDiff is an object that would change.
type ObjectDiff struct {
	Object
	// Change is one of the constants above.
	Change string      `json:"change"`
	Fields []FieldDiff `json:"fields,omitempty"`
	// Lines are the lines of a unified diff of the rendered manifests, for objects that are
	// created.
	Lines []string `json:"lines,omitempty"`
	// Reason is the reason of a refusal, or what replaces the object.
	Reason string `json:"reason,omitempty"`
	// Destructive is true if data may be lost.
	Destructive bool `json:"destructive,omitempty"`
}

// FieldDiff is a field that would change. Values are compact JSON, and empty if there is none.
type FieldDiff struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// By is the field manager that has set the live value; empty for Pintle, Helm and unknown ones.
	By string `json:"by,omitempty"`
}

// DiffFacts are the facts about an action on a release.
type DiffFacts struct {
	Namespace, Name string
	Action, Why     string
	// Plan and Changes are what the action would change.
	Plan    v1alpha1.ReleasePlanStatus
	Changes []v1alpha1.PlanChange
	// Base and Next are the manifests of the revisions before and after the action.
	Base, Next manifest.Side
	// BaseHooks and NextHooks are their hooks.
	BaseHooks, NextHooks manifest.Side
	Notes                []string
	// Drift is how live objects differ from the newest revision; nil if it is not known. Revision is
	// the number of the revision, if nothing else was looked for.
	Drift    *release.Drift
	Revision int
}

// DiffOf returns the view of an action. The texts of the facts are redacted, apart from manifests.
func DiffOf(f DiffFacts) Diff {
	d := Diff{
		Namespace: f.Namespace, Name: f.Name, Action: f.Action, Why: f.Why, From: f.Plan.From, To: f.Plan.To,
		Unchanged: f.Plan.Summary.Unchanged, Notes: f.Notes, Values: f.Plan.Values, Warnings: f.Plan.Warnings,
		Revision: f.Revision, Dangers: f.Plan.Dangers,
	}
	rendered := map[string][]string{}
	for _, m := range manifest.Compare(f.Base, f.Next) {
		rendered[m.Object] = m.Lines
	}
	for i := range f.Changes {
		o := objectDiff(f.Changes[i])
		if o.Change == DiffCreated {
			// The lines show the content.
			o.Lines, o.Fields = cmpLines(rendered, o.Object), nil
		}
		if o.Change == DiffRefused {
			d.Problems = append(d.Problems, o.String()+": "+or(o.Reason, "it is refused"))
		}
		d.Objects = append(d.Objects, o)
	}
	d.Hooks = manifest.Compare(f.BaseHooks, f.NextHooks)
	d.addDrift(f.Drift)
	return d
}

// NextOfDrift returns what a reconciliation does about live objects that differ, in one sentence.
func NextOfDrift(hr *helmv2.HelmRelease) string {
	switch {
	case hr.Spec.Suspend:
		return "Nothing is changed while the HelmRelease is suspended."
	case hr.GetDriftMode() == helmv2.DriftDetectionEnabled:
		return "The next reconciliation that detects drift sets these fields to the values of the revision."
	case hr.GetDriftMode() == helmv2.DriftDetectionWarn:
		return "Reconciliations report these differences and do not correct them, because spec.driftDetection.mode is warn."
	}
	return "Reconciliations neither report nor correct these differences, because spec.driftDetection.mode is disabled."
}

// cmpLines returns the lines of an object, whose namespace may be missing in the manifest.
func cmpLines(rendered map[string][]string, o Object) []string {
	if lines, ok := rendered[manifest.Key(o.apiVersion(), o.Kind, o.Namespace, o.Name)]; ok {
		return lines
	}
	return rendered[manifest.Key(o.apiVersion(), o.Kind, "", o.Name)]
}

func (o Object) apiVersion() string {
	if o.Group == "" {
		return o.Version
	}
	return o.Group + "/" + o.Version
}

// objectDiff returns the view of a planned change.
func objectDiff(c v1alpha1.PlanChange) ObjectDiff {
	version, group := c.APIVersion, ""
	if g, v, ok := strings.Cut(c.APIVersion, "/"); ok {
		group, version = g, v
	}
	o := ObjectDiff{Object: Object{Group: group, Version: version, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}, Reason: c.Reason, Destructive: c.Destructive}
	switch c.Change {
	case v1alpha1.ChangeCreate:
		o.Change = DiffCreated
	case v1alpha1.ChangeUpdate:
		o.Change = DiffChanged
	case v1alpha1.ChangeReplace:
		o.Change = DiffReplaced
	case v1alpha1.ChangeDelete:
		o.Change = DiffDeleted
	case v1alpha1.ChangeRefused:
		o.Change = DiffRefused
	}
	for _, f := range c.Fields {
		o.Fields = append(o.Fields, FieldDiff{Path: f.Path, From: f.From, To: f.To, By: f.TakenFrom})
	}
	return o
}

// addDrift adds the objects that have drifted, the errors of the comparison, and what is left out.
func (d *Diff) addDrift(drift *release.Drift) {
	if drift == nil {
		return
	}
	for _, o := range drift.Objects {
		object := objectOf(o.Object)
		if slices.ContainsFunc(d.Objects, func(c ObjectDiff) bool { return c.Object == object }) {
			continue
		}
		v := ObjectDiff{Object: object, Change: DiffChanged}
		if o.Removed {
			v.Change = DiffCreated
		}
		for _, f := range o.Fields {
			v.Fields = append(v.Fields, FieldDiff{Path: f.Path, From: f.Have, To: f.Want, By: f.Manager})
		}
		d.Drifted = append(d.Drifted, v)
	}
	for _, o := range drift.Ceded {
		d.Warnings = append(d.Warnings, objectOf(o.Object).String()+": fields are left to the autoscaler "+cmp.Or(o.Autoscaler, "of the object"))
	}
	for _, o := range drift.Excluded {
		d.Warnings = append(d.Warnings, objectOf(o).String()+" is not compared: it is excluded, or its kind is not served")
	}
	for _, e := range drift.Errors {
		problem := e.Err
		if e.Object != (release.Object{}) {
			problem = objectOf(e.Object).String() + ": " + problem
		}
		d.Problems = append(d.Problems, problem)
	}
}

func objectOf(o release.Object) Object {
	return Object{Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
