// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/danger"
)

// Version is the version of what plans state. It grows when a plan of the same action states more or
// something else, such that a policy may decide otherwise.
const Version = 4

// Changes is what an action would change.
type Changes struct {
	// Objects are all changes except the changes of CRDs in the chart's crds folders.
	Objects, CRDs []v1alpha1.PlanChange
	// Unchanged is the number of objects that the action does not change.
	Unchanged int
	Images    []v1alpha1.PlanImage
	Warnings  []string
	// Before and After are the objects of the revisions before and after the action, in which dangers are
	// looked for. The digest does not cover them.
	Before, After []danger.Object
	// Undefined are the kinds whose CRDs are deleted, and with them all objects of these kinds.
	Undefined []apischema.GroupKind
}

// Facts are the input of a plan.
type Facts struct {
	Changes

	// Inputs and Text are the digests of the inputs and of the rendered text, and Base is the number of
	// the base revision; 0 if there is none.
	Inputs, Text string
	Base         int
	// Namespace is the namespace of objects that name none.
	Namespace string
	Action    v1alpha1.PlanAction
	// From is the base revision, nil if there is none. To is the new revision, nil for an uninstall.
	From, To *v1alpha1.PlanRevision
	Values   []v1alpha1.PlanValue
	Hooks    []v1alpha1.PlanHook
	// Redact removes secrets from a text; nil removes nothing. Literal reports whether a name stands
	// in the text of the chart, so that it is no secret; nil reports that none does.
	Redact  func(string) string
	Literal func(name string) bool
}

// Digest returns the digest of the plan.
func (f *Facts) Digest() string { return Digest(f.Inputs, f.Base, f.Text, f.Changes.Digest()) }

// Plan is the result of Build.
type Plan struct {
	Status v1alpha1.ReleasePlanStatus
	// All are all changes, CRDs included, sorted as in the status and not limited in number.
	All []v1alpha1.PlanChange
}

// Build returns the plan of an action. No text of the plan contains what Redact removes, besides
// kinds and API versions, which the API server shows to every user, and names that stand in the chart.
// What policies decide depends on neither Redact nor the limits.
func Build(f Facts) Plan {
	r := redactor{f.Redact, f.Literal}
	changes, crds := r.changes(f.Objects), r.changes(f.CRDs)
	sortChanges(changes)
	sortChanges(crds)
	all := slices.Concat(changes, crds)
	sortChanges(all)
	s := v1alpha1.ReleasePlanStatus{
		Digest: f.Digest(), Version: Version, Inputs: f.Inputs, Action: f.Action, From: r.revision(f.From), To: r.revision(f.To),
		Summary: summary(all, f.Unchanged), Removals: Removals(all, f.Undefined),
	}
	l := &limits{}
	s.Dangers = l.dangers(r.dangers(danger.Find(danger.Input{
		Namespace: f.Namespace, Old: f.Before, New: f.After, Changes: slices.Concat(f.Objects, f.CRDs),
	})))
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

// Removals counts the deleted and replaced objects of each kind, in the order of the changes.
// Undefined are kinds all of whose objects are deleted.
func Removals(all []v1alpha1.PlanChange, undefined []apischema.GroupKind) []v1alpha1.PlanRemoval {
	var list []v1alpha1.PlanRemoval
	add := func(r v1alpha1.PlanRemoval) {
		i := slices.IndexFunc(list, func(o v1alpha1.PlanRemoval) bool {
			return o.Group == r.Group && o.Kind == r.Kind && o.Change == r.Change && o.Destructive == r.Destructive
		})
		if i < 0 {
			i, list = len(list), append(list, r)
		}
		list[i].Count++
	}
	for _, c := range all {
		if c.Change == v1alpha1.ChangeDelete || c.Change == v1alpha1.ChangeReplace {
			add(RemovalOf(apischema.FromAPIVersionAndKind(c.APIVersion, c.Kind).GroupKind(), c))
		}
	}
	for _, kind := range undefined {
		add(RemovalOf(kind, v1alpha1.PlanChange{Name: "*", Change: v1alpha1.ChangeDelete, Destructive: true}))
	}
	return list
}

// RemovalOf returns the removal of an object of a kind.
func RemovalOf(kind apischema.GroupKind, c v1alpha1.PlanChange) v1alpha1.PlanRemoval {
	return v1alpha1.PlanRemoval{Group: kind.Group, Kind: kind.Kind, Change: c.Change, Destructive: c.Destructive, Name: c.Name}
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
type redactor struct {
	redact  func(string) string
	literal func(name string) bool
}

func (r redactor) text(s string) string {
	if r.redact != nil {
		s = r.redact(s)
	}
	return brief.Cut(s, maxText)
}

// name returns the name of an object or namespace.
func (r redactor) name(s string) string {
	text := r.text(s)
	if text != brief.Cut(s, maxText) && r.literal != nil && r.literal(s) {
		return brief.Cut(s, maxText)
	}
	return text
}

// object returns "<kind>/<name>".
func (r redactor) object(s string) string {
	kind, name, _ := strings.Cut(s, "/")
	return brief.Cut(kind+"/"+r.name(name), maxText)
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
		c.APIVersion, c.Kind, c.Namespace, c.Name = brief.Cut(c.APIVersion, maxText), brief.Cut(c.Kind, maxText), r.name(c.Namespace), r.name(c.Name)
		c.Reason, c.Fields = r.text(c.Reason), slices.Clone(c.Fields)
		if p := c.Replacement; p != nil {
			c.Replacement = &v1alpha1.PlanReplacement{UID: p.UID, Refused: r.text(p.Refused), DeletesClaims: p.DeletesClaims}
		}
		for j := range c.Fields {
			f := &c.Fields[j]
			to := r.text(f.To)
			if f.From != "" && to != brief.Cut(f.To, maxText) {
				// The former value may have been another secret, which nothing names now.
				f.From = mask
			}
			f.Path, f.From, f.To, f.TakenFrom = r.text(f.Path), r.text(f.From), to, r.text(f.TakenFrom)
		}
	}
	return all
}

func (r redactor) dangers(all []v1alpha1.PlanDanger) []v1alpha1.PlanDanger {
	for i := range all {
		d := &all[i]
		d.APIVersion, d.Kind = brief.Cut(d.APIVersion, maxName), brief.Cut(d.Kind, maxName)
		d.Namespace, d.Name, d.Reason = brief.Cut(r.name(d.Namespace), maxName), brief.Cut(r.name(d.Name), maxName), brief.Cut(r.text(d.Reason), maxReason)
	}
	return all
}

func (r redactor) values(all []v1alpha1.PlanValue) []v1alpha1.PlanValue {
	all = slices.Clone(all)
	for i := range all {
		v := &all[i]
		v.Key, v.Layer, v.File, v.Overrides = r.text(v.Key), r.text(v.Layer), r.text(v.File), r.text(v.Overrides)
	}
	return all
}

func (r redactor) images(all []v1alpha1.PlanImage) []v1alpha1.PlanImage {
	all = slices.Clone(all)
	for i, m := range all {
		all[i] = v1alpha1.PlanImage{Object: r.object(m.Object), Container: r.text(m.Container), From: r.text(m.From), To: r.text(m.To)}
	}
	return all
}

func (r redactor) hooks(all []v1alpha1.PlanHook) []v1alpha1.PlanHook {
	all = slices.Clone(all)
	for i, h := range all {
		all[i] = v1alpha1.PlanHook{APIVersion: brief.Cut(h.APIVersion, maxText), Kind: brief.Cut(h.Kind, maxText), Name: r.name(h.Name), Events: r.texts(h.Events)}
	}
	return all
}
