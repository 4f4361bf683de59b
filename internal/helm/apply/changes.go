// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"maps"
	"slices"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// Creation is an install or upgrade.
type Creation struct {
	// Base is the manifest that Helm compares with; empty for an install. Next is the manifest of
	// the new revision.
	Base, Next string
	// CRDs are the files in the crds folders of the chart. Policy is how they are applied, on the server
	// or not.
	CRDs           []helmchart.CRD
	Policy         helmv2.CRDsPolicy
	CRDsServerSide bool
	// Hooks are the hooks that run. Event is the event of the hooks before the objects, and After
	// the event of the hooks after them.
	Hooks        []*helmrelease.Hook
	Event, After helmrelease.HookEvent
	// CheckAll is true if the objects of Base may also belong to other releases.
	CheckAll bool
	// All is true if all objects are applied, even those that Base contains in the same form.
	All bool
	// Uninstalled are the changes of an uninstall that precedes; nil if there is none.
	Uninstalled *plan.Changes
}

// Create returns what an install or upgrade would change. An error means that the changes are not
// known: a server did not decide, or the objects cannot be built.
func (f *Forecast) Create(c Creation) (*plan.Changes, error) {
	found := &changes{}
	if u := c.Uninstalled; u != nil {
		found.Changes = *u
	}
	if f.NewNamespace != "" {
		found.add(v1alpha1.PlanChange{APIVersion: "v1", Kind: "Namespace", Name: f.NewNamespace, Change: v1alpha1.ChangeCreate})
	}
	crds, err := found.addCRDs(f, c)
	if err != nil {
		return nil, err
	}
	next, notYet, err := f.parse(c.Next, crds)
	if err != nil {
		return nil, err
	}
	previous, err := f.parseStored(c.Base)
	if err != nil {
		return nil, fmt.Errorf("unable to build kubernetes objects from current release manifest: %w", err)
	}
	f.expectations.expectHooks(c.Hooks, c.Event)
	list, original := f.changedObjects(previous, next, c.All)
	found.addImages(previous, next)
	states, err := f.applyAll(list, original, c.CheckAll)
	if err != nil {
		return nil, err
	}
	found.addCompared(previous, next, states)
	changed, err := found.addStates(states, f.Method.Force && !f.Method.ServerSide, f.Redact, &found.Objects)
	if err != nil {
		return nil, err
	}
	for _, o := range notYet {
		change := changeOf(o)
		change.Change = v1alpha1.ChangeCreate
		found.add(change)
	}
	found.Unchanged += len(next) - changed
	byHooks, err := found.addReplaced(f, c.Hooks, nil, c.Event, c.After)
	if err != nil {
		return nil, err
	}
	return &found.Changes, found.addPruned(f, previous, next, byHooks)
}

// changes collects what an action would change.
type changes struct{ plan.Changes }

// addReplaced adds the live objects that hooks would replace, and returns them.
func (c *changes) addReplaced(f *Forecast, hooks []*helmrelease.Hook, deleted kube.ResourceList, events ...helmrelease.HookEvent) (kube.ResourceList, error) {
	found, err := f.replacedByHooks(hooks, deleted, events...)
	if err != nil {
		return nil, err
	}
	var list kube.ResourceList
	for _, t := range found {
		change := changeOf(objectOf(t.Info))
		if change.Change, change.Destructive, change.Reason = v1alpha1.ChangeReplace, true, "by hook "+t.Hook; t.Refused != "" {
			change.Change, change.Destructive, change.Reason = v1alpha1.ChangeRefused, false, t.Refused
		}
		c.add(change)
		list.Append(t.Info)
	}
	return list, nil
}

// add adds a change of an object.
func (c *changes) add(change v1alpha1.PlanChange) { c.Objects = append(c.Objects, change) }

// addStates adds the changes of objects to a list, and returns their number.
func (c *changes) addStates(states []state, replaces bool, redact func(string) string, to *[]v1alpha1.PlanChange) (changed int, err error) {
	for _, s := range states {
		if s.Kept != "" {
			c.Warnings = append(c.Warnings, wait.ObjectName(s.Info)+" is not replaced: "+s.Kept)
			continue
		}
		change, changes, err := stateChange(s, replaces, redact)
		if err != nil {
			return changed, err
		}
		if s.Unknown != "" {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: the effect of the change is not known: %s", wait.ObjectName(s.Info), s.Unknown))
		}
		if changes {
			changed++
			*to = append(*to, change)
		}
	}
	return changed, nil
}

// addCRDs adds the changes of CRDs, and returns those that the action applies.
func (c *changes) addCRDs(f *Forecast, of Creation) (kube.ResourceList, error) {
	if of.Policy == helmv2.CRDsSkip {
		return nil, nil
	}
	crds, err := f.parseCRDs(of.CRDs)
	if err != nil {
		return nil, err
	}
	// Existing CRDs are replaced by a PUT, unless they are applied on the server.
	only := *f
	only.Method = Method{ServerSide: of.CRDsServerSide, Force: !of.CRDsServerSide}
	only.NewNamespace = ""
	states, err := only.crdStates(crds, of.Policy == helmv2.CRDsCreateReplace)
	if err != nil {
		return nil, err
	}
	c.addComparedCRDs(states)
	// The schema of a CRD that exists is replaced, by a PUT or not.
	_, err = c.addStates(states, true, f.Redact, &c.CRDs)
	return crds, err
}

// addPruned adds the objects that the upgrade would delete, apart from those that hooks replace.
func (c *changes) addPruned(f *Forecast, previous, next, byHooks kube.ResourceList) error {
	deleted, kept, err := f.prunedObjects(previous, next)
	if err != nil {
		return err
	}
	c.addDeleted(deleted.Difference(byHooks))
	c.Warnings = append(c.Warnings, kept...)
	c.addSkipped(f)
	return nil
}

func (c *changes) addDeleted(list kube.ResourceList) {
	for _, info := range list {
		change := changeOf(objectOf(info))
		change.Change, change.Destructive = v1alpha1.ChangeDelete, true
		c.add(change)
		if kind, defines := kindDefinedBy(info); defines {
			c.Undefined = append(c.Undefined, kind)
		}
	}
}

// addSkipped adds warnings about objects whose kinds are no longer served.
func (c *changes) addSkipped(f *Forecast) {
	byVersion := map[string][]string{}
	for _, o := range f.Skipped.List() {
		version := apischema.GroupVersion{Group: o.Group, Version: o.Version}.String()
		byVersion[version] = append(byVersion[version], o.Kind+"/"+o.Name)
	}
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		names := byVersion[version]
		slices.Sort(names)
		for _, name := range names {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s is not served any more: %s", version, name))
		}
	}
}

// addImages adds the images that differ between the objects of two revisions.
func (c *changes) addImages(previous, next kube.ResourceList) {
	for _, i := range imageChanges(contentOf(previous), contentOf(next)) {
		c.Images = append(c.Images, v1alpha1.PlanImage{Object: i.Object.Kind + "/" + i.Object.Name, Container: i.Container, From: i.From, To: i.To})
	}
}

// Uninstall returns what the uninstall of a release would change, and the objects that it would
// delete. manifest is the manifest of the newest revision, and hooks are the hooks that run.
func (f *Forecast) Uninstall(manifest string, hooks []*helmrelease.Hook) (*plan.Changes, kube.ResourceList, error) {
	found := &changes{}
	deleted, kept, err := f.uninstalledObjects(manifest)
	if err != nil {
		return nil, nil, err
	}
	for _, info := range deleted {
		found.Before = appendContent(found.Before, info)
	}
	if _, err := found.addReplaced(f, hooks, deleted, helmrelease.HookPreDelete, helmrelease.HookPostDelete); err != nil {
		return nil, nil, err
	}
	found.addDeleted(deleted)
	found.Unchanged = len(kept)
	found.Warnings = kept
	found.addSkipped(f)
	return &found.Changes, deleted, nil
}

// stateChange returns the change of an object; false if the object does not change. Replaces is true if
// an existing object is replaced.
func stateChange(s state, replaces bool, redact func(string) string) (c v1alpha1.PlanChange, changes bool, err error) {
	c = changeOf(objectOf(s.Info))
	c.Change, c.Replacement = v1alpha1.ChangeUpdate, s.Replacement
	switch {
	case s.Refused != "":
		c.Change, c.Reason = v1alpha1.ChangeRefused, s.Refused
		return c, true, nil
	case !s.Exists:
		c.Change = v1alpha1.ChangeCreate
		c.Fields, err = contentOfNew(s, redact)
		return c, true, err
	case replaces:
		c.Change = v1alpha1.ChangeReplace
	}
	if s.Live == nil || s.Answer == nil {
		return c, true, nil
	}
	c.Fields, err = fieldsOf(s, s.Live, s.Answer, redact)
	return c, len(c.Fields) > 0, err
}

// contentOfNew returns the fields of an object that is created, as the manifest has them. The answer to
// the dry run, if there is one, shows the keys of its lists.
func contentOfNew(s state, redact func(string) string) ([]v1alpha1.PlanField, error) {
	manifest, ok := s.Info.Object.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	object := manifest.DeepCopy()
	object.SetManagedFields(nil)
	if s.Answer != nil {
		object.SetManagedFields(s.Answer.GetManagedFields())
	}
	nothing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}}
	return fieldsOf(s, nothing, object, redact)
}

// fieldsOf returns the fields that differ between two forms of an object.
func fieldsOf(s state, was, is *unstructured.Unstructured, redact func(string) string) ([]v1alpha1.PlanField, error) {
	differing, err := drift.Answered(was, is, redact)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wait.ObjectName(s.Info), err)
	}
	var all []v1alpha1.PlanField
	for _, f := range differing {
		all = append(all, v1alpha1.PlanField{Path: f.Path, From: f.Have, To: f.Want, TakenFrom: f.Manager})
	}
	return all, nil
}

// changeOf returns a change of an object, without what changes. An object with a generated name has
// the prefix of its name.
func changeOf(o release.Object) v1alpha1.PlanChange {
	gv := apischema.GroupVersion{Group: o.Group, Version: o.Version}
	return v1alpha1.PlanChange{APIVersion: gv.String(), Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
