// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// helmManager is the field manager of the Helm CLI.
	helmManager = "helm"
	// scale is the subresource that autoscalers and `kubectl scale` use to set replicas.
	scale = "scale"

	applied = string(metav1.ManagedFieldsOperationApply)
)

// entry is one entry of managedFields: the fields that one manager owns.
type entry struct {
	manager, operation, subresource, apiVersion string
	// time is zero if the entry has none.
	time time.Time
	set  *fieldpath.Set
}

// owners returns the entries of an object's managedFields. It does not use the accessor of
// unstructured, which logs malformed entries.
func owners(o *unstructured.Unstructured) ([]entry, error) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	entries := make([]entry, 0, len(list))
	for i, item := range list {
		from, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("metadata.managedFields[%d] is no object", i)
		}
		fields, _ := from["fieldsV1"].(map[string]any)
		e := entry{set: &fieldpath.Set{}}
		if err := readSet(fields, e.set); err != nil {
			return nil, fmt.Errorf("metadata.managedFields[%d]: %w", i, err)
		}
		e.manager, _ = from["manager"].(string)
		e.operation, _ = from["operation"].(string)
		e.subresource, _ = from["subresource"].(string)
		e.apiVersion, _ = from["apiVersion"].(string)
		if s, _ := from["time"].(string); s != "" {
			// An invalid time counts as absent.
			e.time, _ = time.Parse(time.RFC3339, s)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// readSet fills a set from the decoded fieldsV1 of a managedFields entry.
func readSet(from map[string]any, to *fieldpath.Set) error {
	for key, value := range from {
		if key == "." {
			continue
		}
		e, err := fieldpath.DeserializePathElement(key)
		if err != nil {
			return fmt.Errorf("field %q: %w", key, err)
		}
		below, _ := value.(map[string]any)
		_, member := below["."]
		if len(below) == 0 || member {
			to.Members.Insert(e)
		}
		if len(below) > 1 || len(below) == 1 && !member {
			if err := readSet(below, to.Children.Descend(e)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ours reports whether the entry comes from applying a release, by Pintle or by the Helm CLI.
func (e entry) ours() bool {
	return (e.manager == helmv2.FieldManager || e.manager == helmManager) && e.subresource == ""
}

// ourApply reports whether a server-side apply of Pintle writes the entry. The API server removes a
// field of that entry once it is no longer applied.
func (e entry) ourApply() bool {
	return e.manager == helmv2.FieldManager && e.operation == applied && e.subresource == ""
}

// owns reports whether the entry has a path or anything below it.
func (e entry) owns(path fieldpath.Path) bool {
	return e.set.Has(path) || below(e.set, path) != nil
}

// newer orders entries by time. Times have a precision of one second; ties are broken by manager,
// operation, subresource and apiVersion.
func (e entry) newer(than entry) bool {
	if !e.time.Equal(than.time) {
		return e.time.After(than.time)
	}
	a := []string{e.manager, e.operation, e.subresource, e.apiVersion}
	b := []string{than.manager, than.operation, than.subresource, than.apiVersion}
	return strings.Join(a, "\x00") < strings.Join(b, "\x00")
}

// newest returns the newest of the entries that satisfy a condition.
func newest(entries []entry, is func(entry) bool) (found entry, ok bool) {
	for _, e := range entries {
		if is(e) && (!ok || e.newer(found)) {
			found, ok = e, true
		}
	}
	return found, ok
}

// below returns the part of a set below a path, nil if it is empty.
func below(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, e := range path {
		next, ok := set.Children.Get(e)
		if !ok {
			return nil
		}
		set = next
	}
	return set
}

// find returns the value at a path, and the tokens of the JSON pointer to it. A null value counts
// as absent.
func find(content any, path fieldpath.Path) (v any, tokens []string, ok bool) {
	v, tokens = content, make([]string, 0, len(path))
	for _, e := range path {
		switch parent := v.(type) {
		case map[string]any:
			if e.FieldName == nil {
				return nil, nil, false
			}
			v, tokens = parent[*e.FieldName], append(tokens, *e.FieldName)
		case []any:
			i := indexOf(parent, e, false)
			if i < 0 {
				return nil, nil, false
			}
			v, tokens = parent[i], append(tokens, strconv.Itoa(i))
		default:
			return nil, nil, false
		}
	}
	return v, tokens, v != nil
}

// edit replaces the value at a path of a desired object by the result of leaf, or removes it if
// leaf returns false. If the path does not exist, nothing changes. It returns the new content.
func edit(content any, path fieldpath.Path, leaf func(any) (any, bool)) (v any, keep bool) {
	if len(path) == 0 {
		return leaf(content)
	}
	switch parent := content.(type) {
	case map[string]any:
		if path[0].FieldName == nil || parent[*path[0].FieldName] == nil {
			return content, true
		}
		name := *path[0].FieldName
		if v, keep := edit(parent[name], path[1:], leaf); keep {
			parent[name] = v
		} else {
			delete(parent, name)
		}
	case []any:
		i := indexOf(parent, path[0], true)
		if i < 0 {
			return content, true
		}
		v, keep := edit(parent[i], path[1:], leaf)
		if !keep {
			return append(parent[:i], parent[i+1:]...), true
		}
		parent[i] = v
	}
	return content, true
}

// indexOf returns the index of the list item that a path element selects, or -1. A desired object
// may lack keys that the API server defaults; loose matches an item by the remaining keys.
func indexOf(list []any, e fieldpath.PathElement, loose bool) int {
	switch {
	case e.Index != nil:
		if *e.Index >= 0 && *e.Index < len(list) {
			return *e.Index
		}
	case e.Value != nil:
		want := (*e.Value).Unstructured()
		for i, item := range list {
			if same(item, want) {
				return i
			}
		}
	case e.Key != nil:
		lacking := -1
		for i, item := range list {
			switch all, some := hasKey(item, e); {
			case all:
				return i
			case some && loose && lacking < 0:
				lacking = i
			}
		}
		return lacking
	}
	return -1
}

// hasKey reports whether an item has all fields of a key. It also reports whether the item has some
// of them and no field with another value.
func hasKey(item any, e fieldpath.PathElement) (all, some bool) {
	fields, ok := item.(map[string]any)
	if !ok {
		return false, false
	}
	all = true
	for _, f := range *e.Key {
		have := fields[f.Name]
		switch {
		case have == nil:
			all = false
		case !same(have, f.Value.Unstructured()):
			return false, false
		default:
			some = true
		}
	}
	return all, some
}

// formatPath returns a path in dotted notation, with list keys in brackets.
func formatPath(path fieldpath.Path) string {
	var b strings.Builder
	for _, e := range path {
		switch {
		case e.FieldName != nil && plain(*e.FieldName):
			b.WriteString("." + *e.FieldName)
		case e.FieldName != nil:
			b.WriteString("[" + compact(*e.FieldName) + "]")
		case e.Key != nil:
			keys := make([]string, 0, len(*e.Key))
			for _, f := range *e.Key {
				keys = append(keys, f.Name+"="+compact(f.Value.Unstructured()))
			}
			b.WriteString("[" + strings.Join(keys, ",") + "]")
		case e.Value != nil:
			b.WriteString("[=" + compact((*e.Value).Unstructured()) + "]")
		case e.Index != nil:
			b.WriteString("[" + strconv.Itoa(*e.Index) + "]")
		}
	}
	return b.String()
}

// plain reports whether a name can stand in a path without quotes.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
