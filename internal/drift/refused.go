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

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// fallback compares objects whose dry run the API server rejects. For example, the number of a
// Service port is its merge key: if another client changed the number, an apply would add a second
// port with the same name. Without an answer to the dry run, the desired and the live object are
// compared directly. A value that is written differently then counts as a difference, and writing
// it does no harm.
type fallback struct {
	Case
	owners     []entry
	ignored    [][]string
	by         entry
	operations []operation
	fields     []release.DriftedField
}

// compareRefused returns a JSON patch that turns the live object into the desired one, and the
// fields that it changes. The patch fails if the object has changed since. The API server may still
// reject it.
func compareRefused(c Case) ([]operation, []release.DriftedField, error) {
	all, err := owners(c.Live)
	if err != nil {
		return nil, nil, err
	}
	x := &fallback{Case: c, owners: all}
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

func (x *fallback) metadata(want, have any) {
	w, _ := want.(map[string]any)
	h, _ := have.(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		if w[name] != nil {
			x.compare([]string{"metadata", name}, w[name], h[name])
		}
	}
}

func (x *fallback) compare(tokens []string, want, have any) {
	if have == nil {
		if want != nil {
			x.differs("add", tokens, want, have)
		}
		return
	}
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok && !isAtomicMap(tokens[len(tokens)-1]) {
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

// items compares lists whose items have names. Items that only the live list has stay.
func (x *fallback) items(tokens []string, want, have []any) {
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

// named reports whether every item of a list has a unique name.
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

func (x *fallback) differs(op string, tokens []string, want, have any) {
	if x.mayDiffer(tokens, have) {
		return
	}
	x.operations = append(x.operations, operation{Op: op, Path: formatPointer(tokens), Value: want})
	f := release.DriftedField{
		Path: redact(x.Redact).text("." + strings.Join(tokens, ".")), Pointer: redact(x.Redact).pointer(tokens), Kind: release.DriftChanged,
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

// mayDiffer reports whether a field may differ: by an ignore rule, because its
// autoscaler has set it, or because admission changed it within Pintle's own request.
func (x *fallback) mayDiffer(tokens []string, have any) bool {
	for _, p := range x.ignored {
		if hasPrefix(tokens, p) || hasPrefix(p, tokens) {
			return true
		}
	}
	path, plain := plainPath(tokens)
	if !plain {
		return false
	}
	if _, ok := cede(x.owners, x.Autoscaler, path, have); ok {
		return true
	}
	return slices.ContainsFunc(x.owners, func(e entry) bool { return e.ours() && have != nil && e.set.Has(path) })
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
