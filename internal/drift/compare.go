// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/pintle-dev/pintle/internal/release"
)

// Case is one object to be compared. Nothing of it is changed, nor kept.
type Case struct {
	// Desired is what the release has, as Normalize returns it.
	Desired *unstructured.Unstructured
	// Live is what the cluster has, with its managedFields.
	Live *unstructured.Unstructured
	// Tried is what the API server answered when Desired was applied by dry run and
	// by force as our field manager, with its managedFields.
	Tried *unstructured.Unstructured
	// Ignore are the JSON pointers that Rules.For returned, none of them empty.
	Ignore []string
	// Override are names of field managers whose additions are drift as well.
	// Contains does not see them: an object that one of these manages has to be
	// tried.
	Override []string
	// Redact takes secrets out of what is shown of fields; nil takes out nothing.
	Redact func(string) string
}

// Difference is what a comparison found.
type Difference struct {
	// Fields that differ, by path. Without any the object is as it should be.
	Fields []release.DriftedField
	// Ceded are fields that differ and are left to who set them by the scale
	// subresource, by path.
	Ceded []release.DriftedField
	// Body is what corrects the object if it is applied by force as our field
	// manager: Desired but for what may differ, which remains as it is. It carries the
	// UID and the resourceVersion of Live, so that the API server answers with a
	// conflict if the object has changed meanwhile. Nil without Fields. Secrets are in
	// it: it must not be shown.
	Body *unstructured.Unstructured
	// Disown, unless nil, is what metadata.managedFields of Live has to be replaced by
	// before Body is applied, by a patch that demands Live's resourceVersion; Body is
	// then to carry the resourceVersion of the answer. Applying removes only what its
	// manager owns, so added fields are made ours, and nothing else is: folding the
	// whole entry of a manager into ours would remove what is ignored as well.
	Disown []metav1.ManagedFieldsEntry
}

// comparison is a Case being compared.
type comparison struct {
	Case
	// set is what Desired sets, version the one it is written in.
	set     *fieldpath.Set
	version string
	// owners are those of Live.
	owners  []entry
	ignored [][]string
	out     Difference
	// left are the fields of Desired that may differ; patched are those of which only
	// a part may, with the values they have to have.
	left    []fieldpath.Path
	patched []patched
	added   []fieldpath.Path
}

type patched struct {
	path   fieldpath.Path
	tokens []string
	have   any
}

// field is one field of a comparison; want and have are nil if there is none.
type field struct {
	path       fieldpath.Path
	want, have any
	// tokens lead to the field in Live, or in Tried if Live has none.
	tokens []string
}

// Compare finds out what of a live object differs from the release. The error says
// what of the objects makes no sense; it has no values of theirs.
func Compare(c Case) (Difference, error) {
	x := &comparison{Case: c}
	if err := x.read(); err != nil {
		return Difference{}, err
	}
	for _, path := range x.paths() {
		x.compare(path)
	}
	x.add()
	byPath := func(a, b release.DriftedField) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Pointer, b.Pointer))
	}
	slices.SortStableFunc(x.out.Fields, byPath)
	slices.SortStableFunc(x.out.Ceded, byPath)
	if len(x.out.Fields) == 0 {
		return x.out, nil
	}
	x.out.Body = x.body()
	return x.out, x.disown()
}

// read finds the entries that tell who owns what.
func (x *comparison) read() error {
	tried, err := owners(x.Tried)
	if err != nil {
		return fmt.Errorf("the answer to the dry run: %w", err)
	}
	i := slices.IndexFunc(tried, entry.ourApply)
	if i < 0 {
		return errors.New("the answer to the dry run does not say which fields were applied")
	}
	x.set, x.version = tried[i].set, tried[i].apiVersion
	if x.owners, err = owners(x.Live); err != nil {
		return fmt.Errorf("the live object: %w", err)
	}
	for _, p := range x.Ignore {
		x.ignored = append(x.ignored, parsePointer(p))
	}
	return nil
}

// paths returns what is compared: the leaves of what was applied. An item that the
// live object has not is one path, not one for each of its fields.
func (x *comparison) paths() []fieldpath.Path {
	var all []fieldpath.Path
	missing := &fieldpath.Set{}
	for path := range x.set.Leaves().All() {
		if !counts(path) {
			continue
		}
		path = path.Copy()
		for i, e := range path {
			if e.Key == nil {
				continue
			}
			item := path[:i+1]
			if _, _, ok := find(x.Live.Object, item); ok {
				continue
			}
			if _, _, ok := find(x.Tried.Object, item); ok {
				path = item
				break
			}
		}
		if missing.Has(path) {
			continue
		}
		missing.Insert(path)
		all = append(all, path)
	}
	return all
}

// counts reports whether a path takes part in comparisons.
func counts(path fieldpath.Path) bool {
	if len(path) == 0 || path[0].FieldName == nil {
		return false
	}
	switch *path[0].FieldName {
	case "apiVersion", "kind", "status":
		return false
	case "metadata":
		return len(path) > 1 && path[1].FieldName != nil && (*path[1].FieldName == "labels" || *path[1].FieldName == "annotations")
	}
	return true
}

func (x *comparison) compare(path fieldpath.Path) {
	f := field{path: path}
	var inTried []string
	var found bool
	f.want, inTried, _ = find(x.Tried.Object, path)
	if f.have, f.tokens, found = find(x.Live.Object, path); !found {
		f.tokens = inTried
	}
	switch {
	case x.equal(path, f.want, f.have):
	case x.ignores(f), f.have != nil && slices.ContainsFunc(x.owners, func(e entry) bool { return e.ours() && e.set.Has(path) }):
		// The second: nobody has taken the field from us, so it was admission that
		// changed it within our own request.
		x.left = append(x.left, path)
	default:
		if by, ok := newest(x.owners, func(e entry) bool { return e.subresource == scale && e.owns(path) }); ok {
			x.left = append(x.left, path)
			x.out.Ceded = append(x.out.Ceded, x.drifted(f, by))
			return
		}
		x.out.Fields = append(x.out.Fields, x.drifted(f, x.blame(f)))
	}
}

// equal compares the values of a field.
func (x *comparison) equal(path fieldpath.Path, want, have any) bool {
	if isAutoscaler(x.Desired) && path.Equals(fieldpath.MakePathOrDie("spec", "metrics")) {
		want, have = sortMetrics(want), sortMetrics(have)
	}
	return same(want, have)
}

// ignores reports whether a field may differ. A pointer may lead into a field that
// the API server takes as a whole; then only the rest of it counts.
func (x *comparison) ignores(f field) bool {
	if f.tokens == nil {
		return false
	}
	want := runtime.DeepCopyJSONValue(f.want)
	for _, p := range x.ignored {
		if hasPrefix(f.tokens, p) {
			return true
		}
		if hasPrefix(p, f.tokens) && f.want != nil && f.have != nil {
			rest := p[len(f.tokens):]
			want, _ = overlay(want, runtime.DeepCopyJSONValue(f.have), rest)
			x.patched = append(x.patched, patched{f.path, rest, f.have})
		}
	}
	return x.equal(f.path, want, f.have)
}

func hasPrefix(tokens, prefix []string) bool {
	return len(prefix) <= len(tokens) && slices.Equal(tokens[:len(prefix)], prefix)
}

// blame returns who is to blame for a field, the empty entry if nobody is known.
// Nobody owns what is missing: if something was changed since we did, it is most
// likely that this was as well.
func (x *comparison) blame(f field) entry {
	by, ok := newest(x.owners, func(e entry) bool { return !e.ours() && e.owns(f.path) })
	if ok || f.have != nil {
		return by
	}
	by, ok = newest(x.owners, func(e entry) bool { return !e.ours() && e.subresource != "status" })
	us, known := newest(x.owners, entry.ours)
	// What changes nothing but owners leaves no time.
	if !ok || known && (us.time.IsZero() || !by.time.After(us.time)) {
		return entry{}
	}
	return by
}

// drifted puts a field and who is to blame into words.
func (x *comparison) drifted(f field, by entry) release.DriftedField {
	d := release.DriftedField{
		Path: human(f.path), Pointer: formatPointer(f.tokens), Kind: release.DriftChanged,
		Want: redact(x.Redact).show(f.want), Have: redact(x.Redact).show(f.have),
		Manager: by.manager, Operation: by.operation, Subresource: by.subresource, Time: by.time,
	}
	if f.have == nil {
		d.Kind = release.DriftMissing
	}
	if isSecret(x.Desired) && secretPath(f.path) {
		if d.Want != "" {
			d.Want = masked
		}
		if d.Have != "" {
			d.Have = masked
		}
	}
	return d
}

// body returns what to apply. A field that may differ is left out, which leaves it
// to whoever owns it; only what our last applying owns would vanish by that, and is
// stated as it is. To state what others own would make their values ours, and so
// hide them for good once the rule that ignores them is gone.
func (x *comparison) body() *unstructured.Unstructured {
	o := x.Desired.DeepCopy()
	for _, path := range x.left {
		have, _, found := find(x.Live.Object, path)
		keep := found && slices.ContainsFunc(x.owners, func(e entry) bool { return e.ourApply() && e.set.Has(path) })
		edit(o.Object, path, func(any) (any, bool) { return runtime.DeepCopyJSONValue(have), keep })
	}
	for _, p := range x.patched {
		edit(o.Object, p.path, func(want any) (any, bool) {
			return overlay(want, runtime.DeepCopyJSONValue(p.have), p.tokens)
		})
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	if uid := x.Live.GetUID(); uid != "" {
		o.SetUID(uid)
	}
	if version := x.Live.GetResourceVersion(); version != "" {
		o.SetResourceVersion(version)
	}
	return o
}
