// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// overrides reports whether the fields that an entry adds are drift. Paths are comparable only
// within one version of a kind, so entries of other versions are skipped.
func (x *comparison) overrides(e entry) bool {
	return slices.Contains(x.Override, e.manager) && !e.ours() && e.subresource == "" && e.apiVersion == x.version
}

// add finds the fields that overridden managers have added: list items as a whole, otherwise
// leaves.
func (x *comparison) add() {
	seen := &fieldpath.Set{}
	for _, e := range x.owners {
		if !x.overrides(e) {
			continue
		}
		for path := range e.set.Leaves().All() {
			path = x.topmost(path.Copy())
			if !isCompared(path) || seen.Has(path) || !x.foreign(path) {
				continue
			}
			seen.Insert(path)
			f := field{path: path}
			if f.have, f.tokens, _ = find(x.Live.Object, path); f.have == nil {
				continue
			}
			if slices.ContainsFunc(x.ignored, func(p []string) bool { return hasPrefix(f.tokens, p) || hasPrefix(p, f.tokens) }) {
				continue
			}
			by, _ := newest(x.owners, func(e entry) bool { return x.overrides(e) && e.owns(path) })
			d := x.driftedField(f, by)
			d.Kind = release.DriftAdded
			x.out.Fields = append(x.out.Fields, d)
			x.added = append(x.added, path)
		}
	}
}

// topmost shortens a path to the list item that was added with it.
func (x *comparison) topmost(path fieldpath.Path) fieldpath.Path {
	for i, e := range path {
		if e.Key != nil && x.foreign(path[:i+1]) {
			return path[:i+1]
		}
	}
	return path
}

// foreign reports whether only overridden managers own a path. The release sets nothing at or below
// it, and an apply cannot remove a field that another manager owns too.
func (x *comparison) foreign(path fieldpath.Path) bool {
	if x.set.Has(path) || below(x.set, path) != nil {
		return false
	}
	return !slices.ContainsFunc(x.owners, func(e entry) bool { return !x.overrides(e) && !e.ourApply() && e.owns(path) })
}

// disown moves the added fields from their managers' entries to the entry of Pintle.
func (x *comparison) disown() error {
	if len(x.added) == 0 {
		return nil
	}
	taken, found := &fieldpath.Set{}, false
	all := make([]entry, 0, len(x.owners)+1)
	for _, e := range x.owners {
		if x.overrides(e) {
			part := e.part(x.added)
			taken, e.set = taken.Union(part), e.set.Difference(part)
		}
		found = found || e.ourApply()
		all = append(all, e)
	}
	if !found {
		all = append(all, entry{
			manager: helmv2.FieldManager, operation: applied, apiVersion: x.version, set: &fieldpath.Set{},
		})
	}
	for _, e := range all {
		if e.ourApply() {
			e.set = e.set.Union(taken)
		}
		if e.set.Empty() {
			continue
		}
		raw, err := e.set.ToJSON()
		if err != nil {
			return fmt.Errorf("the fields of %s: %w", e.manager, err)
		}
		m := metav1.ManagedFieldsEntry{
			Manager: e.manager, Operation: metav1.ManagedFieldsOperationType(e.operation), Subresource: e.subresource,
			APIVersion: e.apiVersion, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
		}
		if !e.time.IsZero() {
			t := metav1.NewTime(e.time)
			m.Time = &t
		}
		x.out.Disown = append(x.out.Disown, m)
	}
	return nil
}

// part returns the fields of an entry at or below the paths.
func (e entry) part(paths []fieldpath.Path) *fieldpath.Set {
	part := &fieldpath.Set{}
	for path := range e.set.All() {
		if slices.ContainsFunc(paths, func(p fieldpath.Path) bool { return len(p) <= len(path) && p.Equals(path[:len(p)]) }) {
			part.Insert(path.Copy())
		}
	}
	return part
}
