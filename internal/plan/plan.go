// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Facts are the input of a plan.
type Facts struct {
	Identity

	Action v1alpha1.PlanAction
	// From is the base revision, nil if there is none. To is the new revision, nil for an uninstall.
	From, To *v1alpha1.PlanRevision
	// Unchanged is the number of objects that the action does not change.
	Unchanged int
	Values    []v1alpha1.PlanValue
	Images    []v1alpha1.PlanImage
	Hooks     []v1alpha1.PlanHook
	Warnings  []string
	// Redact removes secrets from a text; nil removes nothing.
	Redact func(string) string
}

// Plan is the result of Build.
type Plan struct {
	Status v1alpha1.ReleasePlanStatus
	// All are all changes, CRDs included, sorted as in the status and not limited in number.
	All []v1alpha1.PlanChange
}

// Build returns the plan of an action. No text of the plan contains what Redact removes.
func Build(f Facts) Plan {
	r := redactor(f.Redact)
	changes, crds := r.changes(f.Changes), r.changes(f.CRDs)
	sortChanges(changes)
	sortChanges(crds)
	all := slices.Concat(changes, crds)
	sortChanges(all)
	s := v1alpha1.ReleasePlanStatus{
		Digest: f.Digest(), Inputs: f.Inputs, Action: f.Action, From: r.revision(f.From), To: r.revision(f.To), Summary: summary(all, f.Unchanged),
	}
	l := &limits{}
	s.Changes = limit(l, l.fields(changes), shareOfChanges, withoutFields)
	s.CRDs = limit(l, l.fields(crds), shareOfOthers, withoutFields)
	s.Values = limit(l, r.values(f.Values), shareOfOthers, nil)
	s.Images = limit(l, r.images(f.Images), shareOfOthers, nil)
	s.Hooks = limit(l, r.hooks(f.Hooks), shareOfOthers, nil)
	s.Warnings = limit(l, r.texts(f.Warnings), shareOfOthers, nil)
	s.Omitted = l.omitted
	return Plan{Status: s, All: all}
}

// summary counts changes.
func summary(all []v1alpha1.PlanChange, unchanged int) v1alpha1.PlanSummary {
	s := v1alpha1.PlanSummary{Unchanged: int64(unchanged)}
	for i := range all {
		switch all[i].Change {
		case v1alpha1.ChangeCreate:
			s.Create++
		case v1alpha1.ChangeUpdate:
			s.Update++
		case v1alpha1.ChangeReplace:
			s.Replace++
		case v1alpha1.ChangeDelete:
			s.Delete++
		case v1alpha1.ChangeRefused:
			s.Refused++
		}
		if all[i].Destructive {
			s.Destructive++
		}
	}
	return s
}

// sortChanges sorts changes: destructive ones first, then refused ones and
// replacements, then by kind and name.
func sortChanges(all []v1alpha1.PlanChange) {
	rank := func(c v1alpha1.PlanChange) int {
		switch {
		case c.Destructive:
			return 0
		case c.Change == v1alpha1.ChangeRefused:
			return 1
		case c.Change == v1alpha1.ChangeReplace:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.PlanChange) int {
		return cmp.Or(rank(a)-rank(b), compare(a, b))
	})
}

// compare orders changes by object.
func compare(a, b v1alpha1.PlanChange) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.APIVersion, b.APIVersion), strings.Compare(string(a.Change), string(b.Change)))
}

// mask replaces a secret.
const mask = "***"

// redactor removes secrets from the texts of a plan, and cuts long texts afterwards: a part of a
// secret would not be recognized.
type redactor func(string) string

func (r redactor) text(s string) string {
	if r != nil {
		s = r(s)
	}
	return cut(s)
}

func (r redactor) texts(all []string) []string {
	all = slices.Clone(all)
	for i := range all {
		all[i] = r.text(all[i])
	}
	return all
}

func (r redactor) revision(p *v1alpha1.PlanRevision) *v1alpha1.PlanRevision {
	if p == nil {
		return nil
	}
	return &v1alpha1.PlanRevision{
		Revision: p.Revision, Chart: r.text(p.Chart), AppVersion: r.text(p.AppVersion), Source: r.text(p.Source),
	}
}

func (r redactor) changes(all []v1alpha1.PlanChange) []v1alpha1.PlanChange {
	all = slices.Clone(all)
	for i := range all {
		c := &all[i]
		c.APIVersion, c.Kind, c.Namespace, c.Name = r.text(c.APIVersion), r.text(c.Kind), r.text(c.Namespace), r.text(c.Name)
		c.Reason, c.Fields = r.text(c.Reason), slices.Clone(c.Fields)
		for j := range c.Fields {
			f := &c.Fields[j]
			to := r.text(f.To)
			if f.From != "" && to != cut(f.To) {
				// The former value may have been another secret, which nothing names any more.
				f.From = mask
			}
			f.Path, f.From, f.To, f.TakenFrom = r.text(f.Path), r.text(f.From), to, r.text(f.TakenFrom)
		}
	}
	return all
}

func (r redactor) values(all []v1alpha1.PlanValue) []v1alpha1.PlanValue {
	all = slices.Clone(all)
	for i := range all {
		all[i] = v1alpha1.PlanValue{Key: r.text(all[i].Key), Layer: r.text(all[i].Layer)}
	}
	return all
}

func (r redactor) images(all []v1alpha1.PlanImage) []v1alpha1.PlanImage {
	all = slices.Clone(all)
	for i, m := range all {
		all[i] = v1alpha1.PlanImage{Object: r.text(m.Object), Container: r.text(m.Container), From: r.text(m.From), To: r.text(m.To)}
	}
	return all
}

func (r redactor) hooks(all []v1alpha1.PlanHook) []v1alpha1.PlanHook {
	all = slices.Clone(all)
	for i, h := range all {
		all[i] = v1alpha1.PlanHook{Name: r.text(h.Name), Events: r.texts(h.Events)}
	}
	return all
}
