// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/pintle-dev/pintle/internal/release"
)

// Answered returns the fields that differ between a live object and the API server's answer to
// a dry run, sorted by path. Unlike Compare, it also returns fields that the answer no longer has,
// and defaults. Want is the value in the answer, Have the live one. Manager is the field manager
// other than Pintle and Helm that owns the live field. The values of Secrets are masked.
//
// Items of a list are matched by their keys if the managedFields of an object show these. Redact
// removes secrets from values; nil removes nothing. The arguments are not changed.
func Answered(live, answer *unstructured.Unstructured, redact func(string) string) ([]release.DriftedField, error) {
	x := &answered{comparison: comparison{Case: Case{Desired: answer, Live: live, DryRun: answer, Redact: redact}}, lists: &fieldpath.Set{}}
	var err error
	if x.owners, err = owners(live); err != nil {
		return nil, fmt.Errorf("the live object: %w", err)
	}
	after, err := owners(answer)
	if err != nil {
		return nil, fmt.Errorf("the answer to the dry run: %w", err)
	}
	for _, e := range slices.Concat(x.owners, after) {
		x.lists = x.lists.Union(e.set)
	}
	for _, name := range namesIn(live.Object, answer.Object) {
		if want, have := answer.Object[name], live.Object[name]; isAnswered(name) {
			x.compare(fieldpath.MakePathOrDie(name), []string{name}, want, have)
		}
	}
	x.metadata()
	slices.SortStableFunc(x.out.Fields, func(a, b release.DriftedField) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Pointer, b.Pointer))
	})
	return x.out.Fields, nil
}

// answered is the state of one comparison.
type answered struct {
	comparison

	// lists are the fields of all managers, which show the keys of lists.
	lists *fieldpath.Set
}

// isAnswered reports whether a field of an object is compared as a whole.
func isAnswered(name string) bool {
	return name != "apiVersion" && name != "kind" && name != "metadata" && name != "status"
}

// metadata compares the metadata that clients set.
func (x *answered) metadata() {
	want, _ := x.DryRun.Object["metadata"].(map[string]any)
	have, _ := x.Live.Object["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		x.compare(fieldpath.MakePathOrDie("metadata", name), []string{"metadata", name}, want[name], have[name])
	}
}

// namesIn returns the names of the members of two maps, sorted.
func namesIn(a, b map[string]any) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

// compare adds the differences at and below a path.
func (x *answered) compare(path fieldpath.Path, tokens []string, want, have any) {
	if x.equal(path, want, have) {
		return
	}
	w, wantsMap := want.(map[string]any)
	h, hasMap := have.(map[string]any)
	if wantsMap && hasMap || wantsMap && have == nil && len(w) > 0 || hasMap && want == nil && len(h) > 0 {
		for _, name := range namesIn(w, h) {
			x.compare(with(path, fieldpath.PathElement{FieldName: &name}), slices.Concat(tokens, []string{name}), w[name], h[name])
		}
		return
	}
	wants, wantsList := want.([]any)
	has, hasList := have.([]any)
	if keys := x.keysAt(path); len(keys) > 0 && (wantsList || want == nil) && (hasList || have == nil) {
		if matched := x.items(path, tokens, keys, wants, has); matched {
			return
		}
	}
	f := field{path: path, want: want, have: have, tokens: tokens}
	x.out.Fields = append(x.out.Fields, x.driftedField(f, x.formerOwner(f)))
}

// formerOwner returns the newest entry of another manager that owns a field.
func (x *answered) formerOwner(f field) entry {
	by, _ := newest(x.owners, func(e entry) bool { return !e.ours() && f.have != nil && e.owns(f.path) })
	return by
}

// keysAt returns the names of the fields that are the key of the items of a list; none if it has no
// key.
func (x *answered) keysAt(path fieldpath.Path) []string {
	set := below(x.lists, path)
	if set == nil {
		return nil
	}
	var keys []string
	note := func(e fieldpath.PathElement) {
		if e.Key != nil && len(keys) == 0 {
			for _, f := range *e.Key {
				keys = append(keys, f.Name)
			}
		}
	}
	set.Members.Iterate(note)
	set.Children.Iterate(note)
	return keys
}

// items compares the items of two lists by their keys. It returns false if an item has no key.
func (x *answered) items(path fieldpath.Path, tokens, keys []string, want, have []any) bool {
	wants, ok := indexByKeys(want, keys)
	has, hasKeys := indexByKeys(have, keys)
	if !ok || !hasKeys {
		return false
	}
	for i, item := range want {
		e := elementOf(item, keys)
		j, found := has[e.String()]
		if !found {
			x.differs(with(path, e), slices.Concat(tokens, []string{strconv.Itoa(i)}), item, nil)
			continue
		}
		x.compare(with(path, e), slices.Concat(tokens, []string{strconv.Itoa(j)}), item, have[j])
	}
	for j, item := range have {
		if e := elementOf(item, keys); !contains(wants, e.String()) {
			x.differs(with(path, e), slices.Concat(tokens, []string{strconv.Itoa(j)}), nil, item)
		}
	}
	return true
}

// differs adds an item that only one of the lists has.
func (x *answered) differs(path fieldpath.Path, tokens []string, want, have any) {
	f := field{path: path, want: want, have: have, tokens: tokens}
	x.out.Fields = append(x.out.Fields, x.driftedField(f, x.formerOwner(f)))
}

// indexByKeys returns the indexes of items by their keys. It returns false if an item has no key,
// or two items have the same.
func indexByKeys(list []any, keys []string) (map[string]int, bool) {
	all := make(map[string]int, len(list))
	for i, item := range list {
		object, ok := item.(map[string]any)
		if !ok || !slices.ContainsFunc(keys, func(k string) bool { return object[k] != nil }) {
			return nil, false
		}
		key := elementOf(item, keys).String()
		if contains(all, key) {
			return nil, false
		}
		all[key] = i
	}
	return all, true
}

func contains(all map[string]int, key string) bool {
	_, ok := all[key]
	return ok
}

// elementOf returns the path element that selects an item by its key.
func elementOf(item any, keys []string) fieldpath.PathElement {
	object, _ := item.(map[string]any)
	var list value.FieldList
	for _, k := range keys {
		if object[k] != nil {
			list = append(list, value.Field{Name: k, Value: value.NewValueInterface(object[k])})
		}
	}
	list.Sort()
	return fieldpath.PathElement{Key: &list}
}

// with returns a path with one more element.
func with(path fieldpath.Path, e fieldpath.PathElement) fieldpath.Path {
	return append(path.Copy(), e)
}
