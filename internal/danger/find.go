// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Input is what an action does.
type Input struct {
	// Namespace is the namespace of objects that name none.
	Namespace string
	// Old and New are the objects of the revisions before and after the action, hooks included, as
	// they are in the cluster, in dry runs or in manifests. Both forms of an object must be of one
	// origin, so that defaults are no differences.
	Old, New []Object
	// Changes are what the forecast says of objects.
	Changes []v1alpha1.PlanChange
}

// Object is an object of a revision.
type Object struct {
	Content map[string]any
	// Hook is true if the object is a hook: Helm creates it anew each time.
	Hook bool
}

// Find returns the dangers of an action, the most severe class first. Dangers of one class and
// reason are one.
func Find(in Input) []v1alpha1.PlanDanger {
	w := newWorld(in)
	for _, rule := range []func(){
		w.deletions, w.crdVersions, w.storage, w.immutableFields, w.replicas, w.restarts, w.budgets, w.requests,
		w.services, w.hosts, w.roles, w.bindings, w.nodeAccess, w.pinning, w.registries,
	} {
		rule()
	}
	slices.SortStableFunc(w.found, func(a, b v1alpha1.PlanDanger) int {
		return cmp.Or(Severity(a.Class)-Severity(b.Class), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return merge(w.found)
}

// Severity returns the position of a class in lists.
func Severity(c v1alpha1.DangerClass) int { return slices.Index(v1alpha1.DangerClasses(), c) }

// merge returns dangers without those that repeat the class and reason of an earlier one, which counts
// them.
func merge(all []v1alpha1.PlanDanger) []v1alpha1.PlanDanger {
	type sentence struct {
		class  v1alpha1.DangerClass
		reason string
	}
	var merged []v1alpha1.PlanDanger
	counts, at := map[sentence]int{}, map[sentence]int{}
	for _, d := range all {
		s := sentence{d.Class, d.Reason}
		if counts[s]++; counts[s] == 1 {
			at[s] = len(merged)
			merged = append(merged, d)
		}
	}
	for s, i := range at {
		if others := counts[s] - 1; others == 1 {
			merged[i].Reason += "; likewise 1 other object"
		} else if others > 1 {
			merged[i].Reason += fmt.Sprintf("; likewise %d other objects", others)
		}
	}
	return merged
}

// world is the input in the form that rules read.
type world struct {
	namespace string
	// before are the objects before the action, and after are those that exist after it, in the order of
	// their keys. What the new revision drops and the action does not delete is still there.
	before, after objects
	changes       map[key]change
	found         []v1alpha1.PlanDanger
}

// change is what the forecast says of an object. A reinstall deletes an object and creates it.
type change struct {
	v1alpha1.PlanChange

	// deleted is true if the object is deleted, and created if it is created, or both by a hook. accepted
	// is true if the API server has accepted another form of the object.
	deleted, created, accepted bool
}

func newWorld(in Input) *world {
	w := &world{namespace: in.Namespace, changes: map[key]change{}}
	for _, c := range in.Changes {
		k := w.keyOf(c.APIVersion, c.Kind, c.Namespace, c.Name)
		was := w.changes[k]
		was.PlanChange = c
		was.deleted = was.deleted || c.Change == v1alpha1.ChangeDelete || c.Change == v1alpha1.ChangeReplace && c.Destructive
		was.created = was.created || c.Change == v1alpha1.ChangeCreate || c.Change == v1alpha1.ChangeReplace && c.Destructive
		was.accepted = (c.Change == v1alpha1.ChangeUpdate || c.Change == v1alpha1.ChangeReplace) && len(c.Fields) > 0
		w.changes[k] = was
	}
	w.before, w.after = w.index(in.Old), w.index(in.New)
	for _, o := range w.before.all {
		if w.after.by[o.key] == nil && !o.hook && !w.changes[o.key].deleted {
			w.after.add(o)
		}
	}
	return w
}

// add adds a danger of an object.
func (w *world) add(class v1alpha1.DangerClass, o *object, format string, args ...any) {
	w.report(class, o.apiVersion, o.kind, cmp.Or(w.changes[o.key].Namespace, o.namespace), o.name, fmt.Sprintf(format, args...))
}

func (w *world) report(class v1alpha1.DangerClass, apiVersion, kind, namespace, name, reason string) {
	w.found = append(w.found, v1alpha1.PlanDanger{Class: class, APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Reason: reason})
}

// pairs calls do for each object that exists before and after the action. Those that are deleted
// and created anew are left out, and hooks, which are always created anew.
func (w *world) pairs(do func(was, is *object)) {
	for _, is := range w.after.all {
		if was := w.before.by[is.key]; was != nil && was != is && !is.hook && !was.hook && !w.changes[is.key].deleted {
			do(was, is)
		}
	}
}
