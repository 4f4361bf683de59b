// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Changes is what an action would change.
type Changes struct {
	Objects, CRDs []v1alpha1.PlanChange
	Unchanged     int
	Images        []v1alpha1.PlanImage
	Warnings      []string
	// Undefined are the kinds whose CRDs are deleted.
	Undefined []apischema.GroupKind
}

// Creation is an install or upgrade.
type Creation struct {
	// Base is the manifest that Helm compares with; empty for an install.
	Base string
	// Text is the rendered chart.
	Text *Text
	// Policy is how CRDs are applied, on the server or not.
	Policy         helmv2.CRDsPolicy
	CRDsServerSide bool
	// Hooks is true if hooks run; Event is that of the hooks before the objects, and After that of the
	// hooks after them.
	Hooks bool
	Event helmrelease.HookEvent
	After helmrelease.HookEvent
	// CheckAll is true if also the objects of Base may be of other releases.
	CheckAll bool
	// All is true if also the objects are applied that Base contains in the same form.
	All bool
	// Uninstalled are the changes of an uninstall that precedes; nil if there is none.
	Uninstalled *Changes
}

// Created returns what an install or upgrade would change. An error means that the changes are not
// known: a server did not decide, or the objects cannot be built.
func Created(f *apply.Forecast, c Creation) (*Changes, error) {
	found := &Changes{}
	if u := c.Uninstalled; u != nil {
		*found = *u
	}
	if f.NewNamespace != "" {
		found.add(v1alpha1.PlanChange{APIVersion: "v1", Kind: "Namespace", Name: f.NewNamespace, Change: v1alpha1.ChangeCreate})
	}
	crds, err := found.addCRDs(f, c)
	if err != nil {
		return nil, err
	}
	next, notYet, err := f.Parse(c.Text.Manifest, crds)
	if err != nil {
		return nil, err
	}
	previous, err := f.ParseStored(c.Base)
	if err != nil {
		return nil, fmt.Errorf("unable to build kubernetes objects from current release manifest: %w", err)
	}
	if c.Hooks {
		f.ExpectHooks(c.Text.Hooks, c.Event)
	}
	list, original := f.Changes(previous, next, c.All)
	found.addImages(previous, next)
	states, err := f.Apply(list, original, c.CheckAll)
	if err != nil {
		return nil, err
	}
	changed, err := found.addStates(states, f.Method.Force && !f.Method.ServerSide, f.Redact, &found.Objects)
	if err != nil {
		return nil, err
	}
	for _, o := range notYet {
		found.add(unserved(o))
	}
	found.Unchanged += len(next) - changed
	var byHooks kube.ResourceList
	if c.Hooks {
		if byHooks, err = found.addReplaced(f, c.Text.Hooks, nil, c.Event, c.After); err != nil {
			return nil, err
		}
	}
	return found, found.addPruned(f, previous, next, byHooks)
}

// addReplaced adds the live objects that hooks would replace, and returns them.
func (c *Changes) addReplaced(f *apply.Forecast, hooks []*helmrelease.Hook, deleted kube.ResourceList, events ...helmrelease.HookEvent) (kube.ResourceList, error) {
	found, err := f.ReplacedByHooks(hooks, deleted, events...)
	if err != nil {
		return nil, err
	}
	var list kube.ResourceList
	for _, t := range found {
		change := objectOf(t.Info)
		if change.Change, change.Destructive, change.Reason = v1alpha1.ChangeReplace, true, "by hook "+t.Hook; t.Refused != "" {
			change.Change, change.Destructive, change.Reason = v1alpha1.ChangeRefused, false, t.Refused
		}
		c.add(change)
		list.Append(t.Info)
	}
	return list, nil
}

// add adds a change of an object.
func (c *Changes) add(change v1alpha1.PlanChange) { c.Objects = append(c.Objects, change) }

// addStates adds the changes of objects to a list, and returns their number.
func (c *Changes) addStates(states []apply.State, replaces bool, redact func(string) string, to *[]v1alpha1.PlanChange) (changed int, err error) {
	for _, s := range states {
		if s.Kept != "" {
			c.Warnings = append(c.Warnings, wait.ObjectName(s.Info)+" is not replaced: "+s.Kept)
			continue
		}
		change, changes, err := changeOf(s, replaces, redact)
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
func (c *Changes) addCRDs(f *apply.Forecast, of Creation) (kube.ResourceList, error) {
	if of.Policy == helmv2.CRDsSkip {
		return nil, nil
	}
	crds, err := f.ParseCRDs(of.Text.Files())
	if err != nil {
		return nil, err
	}
	// Existing CRDs are replaced by a PUT, unless they are applied on the server.
	only := *f
	only.Method = apply.Method{ServerSide: of.CRDsServerSide, Force: !of.CRDsServerSide}
	only.NewNamespace = ""
	states, err := only.CRDs(crds, of.Policy == helmv2.CRDsCreateReplace)
	if err != nil {
		return nil, err
	}
	// The schema of a CRD that exists is replaced, by a PUT or not.
	_, err = c.addStates(states, true, f.Redact, &c.CRDs)
	return crds, err
}

// addPruned adds the objects that the upgrade would delete, apart from those that hooks replace.
func (c *Changes) addPruned(f *apply.Forecast, previous, next, byHooks kube.ResourceList) error {
	deleted, kept, err := f.Pruned(previous, next)
	if err != nil {
		return err
	}
	c.addDeleted(deleted.Difference(byHooks))
	c.Warnings = append(c.Warnings, kept...)
	c.addSkipped(f)
	return nil
}

func (c *Changes) addDeleted(list kube.ResourceList) {
	for _, info := range list {
		change := objectOf(info)
		change.Change, change.Destructive = v1alpha1.ChangeDelete, true
		c.add(change)
		if kind, defines := apply.DefinedKind(info); defines {
			c.Undefined = append(c.Undefined, kind)
		}
	}
}

// addSkipped adds warnings about objects whose kinds are not served any more.
func (c *Changes) addSkipped(f *apply.Forecast) {
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
func (c *Changes) addImages(previous, next kube.ResourceList) {
	for _, i := range apply.ImageChanges(contentOf(previous), contentOf(next)) {
		c.Images = append(c.Images, v1alpha1.PlanImage{Object: i.Object.Kind + "/" + i.Object.Name, Container: i.Container, From: i.From, To: i.To})
	}
}

// contentOf yields the objects of a list with their content.
func contentOf(list kube.ResourceList) apply.Manifest {
	return func(yield func(release.Object, map[string]any) bool) {
		for _, info := range list {
			gvk := info.Mapping.GroupVersionKind
			o := release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: info.Namespace, Name: info.Name}
			if object, ok := info.Object.(*unstructured.Unstructured); ok && !yield(o, object.Object) {
				return
			}
		}
	}
}

// Uninstalled returns what the uninstall of a release would change. Manifest is that of its newest
// revision, and hooks are those that run.
func Uninstalled(f *apply.Forecast, manifest string, hooks []*helmrelease.Hook) (*Changes, kube.ResourceList, error) {
	found := &Changes{}
	deleted, kept, err := f.Uninstalled(manifest)
	if err != nil {
		return nil, nil, err
	}
	if _, err := found.addReplaced(f, hooks, deleted, helmrelease.HookPreDelete, helmrelease.HookPostDelete); err != nil {
		return nil, nil, err
	}
	found.addDeleted(deleted)
	found.Unchanged = len(kept)
	found.Warnings = kept
	found.addSkipped(f)
	return found, deleted, nil
}

// HooksOf returns the hooks that run for some events.
func HooksOf(hooks []*helmrelease.Hook, events ...helmrelease.HookEvent) []v1alpha1.PlanHook {
	var all []v1alpha1.PlanHook
	for _, h := range hooks {
		var of []string
		for _, e := range h.Events {
			if slices.Contains(events, e) {
				of = append(of, e.String())
			}
		}
		if len(of) > 0 {
			all = append(all, v1alpha1.PlanHook{APIVersion: apiVersionOf(h), Kind: h.Kind, Name: h.Name, Events: of})
		}
	}
	return all
}

// apiVersionOf returns the API version of a hook; empty if its manifest cannot be parsed.
func apiVersionOf(h *helmrelease.Hook) string {
	var o metav1.TypeMeta
	if bounded.Manifest().Unmarshal([]byte(h.Manifest), &o) != nil {
		return ""
	}
	return o.APIVersion
}
