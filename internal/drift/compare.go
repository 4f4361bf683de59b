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

// Case is the input of one comparison. Compare neither changes nor keeps it.
type Case struct {
	// Desired is the object in the release's manifest, as Normalize returns it.
	Desired *unstructured.Unstructured
	// Live is the object in the cluster, with its managedFields.
	Live *unstructured.Unstructured
	// DryRun is the API server's answer to a forced dry-run apply of Desired with the field manager
	// of Pintle. It includes managedFields.
	DryRun *unstructured.Unstructured
	// Ignore are the JSON pointers that Rules.For returned, none of them empty.
	Ignore []string
	// Autoscaler is the autoscaler that targets Live. It is needed if Live has fields that the scale
	// subresource set.
	Autoscaler Autoscaler
	// Override are names of field managers whose additions count as drift. Contains does not
	// compare additions, so a caller must dry-run an object that one of these managers owns fields
	// of.
	Override []string
	// Redact removes secrets from the values in fields; nil removes nothing.
	Redact func(string) string
}

// Difference is the result of a comparison.
type Difference struct {
	// Fields are the fields that differ, sorted by path. It is empty if the object is in sync.
	Fields []release.DriftedField
	// Ceded are fields that differ and stay as they are, because the autoscaler of the object has
	// set them. They are sorted by path.
	Ceded []release.DriftedField
	// Body corrects the object if it is applied by force with the field manager of Pintle. It is
	// Desired, except that fields that may differ stay as they are. It has the UID and the
	// resourceVersion of Live, so that the API server returns a conflict if the object has changed
	// meanwhile. It is nil without Fields. It contains secrets and must not be logged.
	Body *unstructured.Unstructured
	// Disown, unless nil, replaces metadata.managedFields of Live before Body is applied. The patch
	// must require Live's resourceVersion, and Body must carry the resourceVersion of its answer.
	// An apply removes only fields that its manager owns, so added fields get the field manager of
	// Pintle. Nothing else does: taking over a manager's whole entry would remove ignored fields as
	// well.
	Disown []metav1.ManagedFieldsEntry
}

// comparison is the state of one comparison of a Case.
type comparison struct {
	Case
	// set are the fields that Desired sets; version is the apiVersion of their paths.
	set     *fieldpath.Set
	version string
	// owners are the entries of Live.
	owners  []entry
	ignored [][]string
	out     Difference
	// omitted are the fields of Desired that may differ. patched are fields that may differ in a
	// part only, with the live values of that part.
	omitted []fieldpath.Path
	patched []patched
	added   []fieldpath.Path
}

type patched struct {
	path   fieldpath.Path
	tokens []string
	have   any
}

// field is one compared field; want and have are nil if the object has no such field.
type field struct {
	path       fieldpath.Path
	want, have any
	// tokens lead to the field in Live, or in DryRun if Live does not have it.
	tokens []string
}

// Compare returns the differences between a live object and the release. The error describes which
// object is malformed; it contains no values of the objects.
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

// read parses the managedFields entries of both objects and the pointers to ignore.
func (x *comparison) read() error {
	dryRun, err := owners(x.DryRun)
	if err != nil {
		return fmt.Errorf("the answer to the dry run: %w", err)
	}
	i := slices.IndexFunc(dryRun, entry.ourApply)
	if i < 0 {
		return errors.New("the answer to the dry run has no managedFields entry of this field manager")
	}
	x.set, x.version = dryRun[i].set, dryRun[i].apiVersion
	if x.owners, err = owners(x.Live); err != nil {
		return fmt.Errorf("the live object: %w", err)
	}
	for _, p := range x.Ignore {
		x.ignored = append(x.ignored, parsePointer(p))
	}
	return nil
}

// paths returns the paths to compare: the leaves of the applied fields. A list item that is missing
// in the live object is one path, not one for each of its fields.
func (x *comparison) paths() []fieldpath.Path {
	var all []fieldpath.Path
	missing := &fieldpath.Set{}
	for path := range x.set.Leaves().All() {
		if !isCompared(path) {
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
			if _, _, ok := find(x.DryRun.Object, item); ok {
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

// isCompared reports whether a path takes part in comparisons.
func isCompared(path fieldpath.Path) bool {
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
	var inDryRun []string
	var found bool
	f.want, inDryRun, _ = find(x.DryRun.Object, path)
	if f.have, f.tokens, found = find(x.Live.Object, path); !found {
		f.tokens = inDryRun
	}
	switch {
	case x.equal(path, f.want, f.have):
	case x.ignores(f), f.have != nil && slices.ContainsFunc(x.owners, func(e entry) bool { return e.ours() && e.set.Has(path) }):
		// If Pintle still owns the field, admission changed it within Pintle's own request.
		x.omitted = append(x.omitted, path)
	default:
		if by, ok := cede(x.owners, x.Autoscaler, path, f.have); ok {
			x.omitted = append(x.omitted, path)
			x.out.Ceded = append(x.out.Ceded, x.driftedField(f, by))
			return
		}
		x.out.Fields = append(x.out.Fields, x.driftedField(f, x.responsible(f)))
	}
}

// equal reports whether two values of a field are equal.
func (x *comparison) equal(path fieldpath.Path, want, have any) bool {
	if isAutoscaler(x.Desired) && path.Equals(fieldpath.MakePathOrDie("spec", "metrics")) {
		want, have = sortMetrics(want), sortMetrics(have)
	}
	return same(want, have)
}

// responsible returns the entry of the manager that most likely changed a field, or the empty entry
// if none is known. A missing field has no owner. Then it returns the newest entry of another
// manager, if that is newer than Pintle's.
func (x *comparison) responsible(f field) entry {
	by, ok := newest(x.owners, func(e entry) bool { return !e.ours() && e.owns(f.path) })
	if ok || f.have != nil {
		return by
	}
	by, ok = newest(x.owners, func(e entry) bool { return !e.ours() && e.subresource != "status" })
	us, applied := newest(x.owners, entry.ours)
	// A change of owners alone does not update the time of an entry.
	if !ok || applied && (us.time.IsZero() || !by.time.After(us.time)) {
		return entry{}
	}
	return by
}

// driftedField describes a field and the manager that changed it, with secrets masked.
func (x *comparison) driftedField(f field, by entry) release.DriftedField {
	d := release.DriftedField{
		Path: redact(x.Redact).text(formatPath(f.path)), Pointer: redact(x.Redact).pointer(f.tokens), Kind: release.DriftChanged,
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

// body returns the object to apply. A field that may differ is left out, so that its owner keeps
// it. A field that only the last apply of Pintle owns would be removed that way; it is set to its
// live value. Setting fields of other owners would take them over, and hide their drift after the
// ignore rule is gone.
func (x *comparison) body() *unstructured.Unstructured {
	o := x.Desired.DeepCopy()
	for _, path := range x.omitted {
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
