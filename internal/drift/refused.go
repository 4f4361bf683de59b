// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/pintle-dev/pintle/internal/release"
)

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// refused compares objects where the API server refuses what applying would make of
// them: somebody has changed the number of a port, which is how applying knows it,
// so that ours would come to stand beside it, with the same name. Without an answer
// to compare with there are only the objects themselves, and what they have in other
// words counts as different; to write that does no harm.
type refused struct {
	Case
	owners     []entry
	ignored    [][]string
	by         entry
	operations []operation
	fields     []release.DriftedField
}

// compareRefused finds out what makes a live object what is desired, by a patch that
// fails if the object has changed since. Nothing of it is known to work.
func compareRefused(c Case) ([]operation, []release.DriftedField, error) {
	all, err := owners(c.Live)
	if err != nil {
		return nil, nil, err
	}
	x := &refused{Case: c, owners: all}
	for _, p := range c.Ignore {
		x.ignored = append(x.ignored, parsePointer(p))
	}
	x.by, _ = newest(all, func(e entry) bool { return !e.ours() && e.subresource == "" })
	for _, name := range slices.Sorted(maps.Keys(c.Desired.Object)) {
		want, have := c.Desired.Object[name], c.Live.Object[name]
		switch name {
		case "apiVersion", "kind", "status":
		case "metadata":
			x.metadata(want, have)
		default:
			x.compare([]string{name}, want, have)
		}
	}
	if len(x.operations) == 0 {
		return nil, nil, nil
	}
	test := operation{Op: "test", Path: "/metadata/resourceVersion", Value: c.Live.GetResourceVersion()}
	return append([]operation{test}, x.operations...), x.fields, nil
}

func (x *refused) metadata(want, have any) {
	w, _ := want.(map[string]any)
	h, _ := have.(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		if w[name] != nil {
			x.compare([]string{"metadata", name}, w[name], h[name])
		}
	}
}

func (x *refused) compare(tokens []string, want, have any) {
	if have == nil {
		if want != nil {
			x.differs("add", tokens, want, have)
		}
		return
	}
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok && !whole(tokens[len(tokens)-1]) {
			for _, name := range slices.Sorted(maps.Keys(w)) {
				x.compare(slices.Concat(tokens, []string{name}), w[name], h[name])
			}
			return
		}
	case []any:
		if h, ok := have.([]any); ok && !same(w, h) && named(w) && named(h) {
			x.items(tokens, w, h)
			return
		}
	}
	if !same(want, have) {
		x.differs("replace", tokens, want, have)
	}
}

// items compares lists whose items have names. What others have added stays.
func (x *refused) items(tokens []string, want, have []any) {
	for _, item := range want {
		i := slices.IndexFunc(have, func(h any) bool { return nameIn(h) == nameIn(item) })
		if i < 0 {
			x.differs("add", slices.Concat(tokens, []string{"-"}), item, nil)
			continue
		}
		x.compare(slices.Concat(tokens, []string{strconv.Itoa(i)}), item, have[i])
	}
}

func nameIn(item any) string {
	m, _ := item.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// named reports whether every item of a list has a name of its own.
func named(list []any) bool {
	seen := map[string]bool{}
	for _, item := range list {
		name := nameIn(item)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func (x *refused) differs(op string, tokens []string, want, have any) {
	if x.excused(tokens, have) {
		return
	}
	x.operations = append(x.operations, operation{Op: op, Path: formatPointer(tokens), Value: want})
	f := release.DriftedField{
		Path: "." + strings.Join(tokens, "."), Pointer: formatPointer(tokens), Kind: release.DriftChanged,
		Want: redact(x.Redact).show(want), Have: redact(x.Redact).show(have),
		Manager: x.by.manager, Operation: x.by.operation, Subresource: x.by.subresource, Time: x.by.time,
	}
	if have == nil {
		f.Kind = release.DriftMissing
	}
	path, plain := plainPath(tokens)
	if isSecret(x.Desired) && (!plain || secretPath(path)) {
		f.Want, f.Have = masked, masked
	}
	x.fields = append(x.fields, f)
}

// excused reports whether a field may differ: by a rule, because it is left to who
// scales, or because admission made it so when we wrote it.
func (x *refused) excused(tokens []string, have any) bool {
	for _, p := range x.ignored {
		if hasPrefix(tokens, p) || hasPrefix(p, tokens) {
			return true
		}
	}
	path, plain := plainPath(tokens)
	if !plain {
		return false
	}
	return slices.ContainsFunc(x.owners, func(e entry) bool {
		return e.subresource == scale && e.owns(path) || e.ours() && have != nil && e.set.Has(path)
	})
}

// plainPath returns the path of tokens that lead through maps only.
func plainPath(tokens []string) (fieldpath.Path, bool) {
	var path fieldpath.Path
	for _, token := range tokens {
		if _, err := strconv.Atoi(token); err == nil || token == "-" {
			return nil, false
		}
		path = append(path, fieldpath.PathElement{FieldName: &token})
	}
	return path, true
}
