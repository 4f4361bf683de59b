// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// key identifies an object in both revisions, in each version of its API.
type key struct{ group, kind, namespace, name string }

// object is an object with its identity.
type object struct {
	key

	apiVersion string
	// namespace is empty if the object names none.
	namespace string
	content   map[string]any
	hook      bool
}

// objects are objects in order, and by key.
type objects struct {
	all []*object
	by  map[key]*object
}

func (o *objects) add(one *object) {
	o.all = append(o.all, one)
	o.by[one.key] = one
}

// index returns objects by their keys. Of several with one key, the last one counts.
func (w *world) index(all []Object) objects {
	found := objects{by: map[key]*object{}}
	for _, o := range all {
		one := &object{
			apiVersion: text(o.Content, "apiVersion"), namespace: text(o.Content, "metadata", "namespace"), content: o.Content, hook: o.Hook,
		}
		one.key = w.keyOf(one.apiVersion, text(o.Content, "kind"), one.namespace, text(o.Content, "metadata", "name"))
		found.by[one.key] = one
	}
	for _, one := range found.by {
		found.all = append(found.all, one)
	}
	slices.SortFunc(found.all, func(a, b *object) int { return strings.Compare(fmt.Sprint(a.key), fmt.Sprint(b.key)) })
	return found
}

// keyOf returns the key of an object. An object of the cluster has the namespace of the release.
func (w *world) keyOf(apiVersion, kind, namespace, name string) key {
	group, _, qualified := strings.Cut(apiVersion, "/")
	if !qualified {
		group = ""
	}
	if kind == "Ingress" && group == "extensions" {
		group = "networking.k8s.io"
	}
	if namespace == "" {
		namespace = w.namespace
	}
	return key{group, kind, namespace, name}
}

// is reports whether an object has a kind, as "Kind" of the core group or "Kind.group".
func (o *object) is(kind string) bool { return o.fullKind() == kind }

func (o *object) fullKind() string {
	if o.group == "" {
		return o.kind
	}
	return o.kind + "." + o.group
}

// isCustom reports whether an object is probably a custom resource.
func (o *object) isCustom() bool { return strings.Contains(o.group, ".") && !o.is(crd) }

const (
	crd         = "CustomResourceDefinition.apiextensions.k8s.io"
	deployment  = "Deployment.apps"
	statefulSet = "StatefulSet.apps"
	daemonSet   = "DaemonSet.apps"
	claim       = "PersistentVolumeClaim"
)

// at returns the value at a path; nil if there is none.
func at(content map[string]any, path ...string) any {
	var value any = content
	for _, field := range path {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

func text(content map[string]any, path ...string) string {
	s, _ := at(content, path...).(string)
	return s
}

func fields(content map[string]any, path ...string) map[string]any {
	m, _ := at(content, path...).(map[string]any)
	return m
}

// list returns the objects of a list.
func list(content map[string]any, path ...string) []map[string]any {
	all, _ := at(content, path...).([]any)
	var found []map[string]any
	for _, entry := range all {
		if m, ok := entry.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// texts returns the strings of a list.
func texts(content map[string]any, path ...string) []string {
	all, _ := at(content, path...).([]any)
	var found []string
	for _, entry := range all {
		if s, ok := entry.(string); ok {
			found = append(found, s)
		}
	}
	return found
}

// number returns an integer; false if the value is none.
func number(value any) (int, bool) {
	switch v := value.(type) {
	case int64:
		return int(v), true
	case int:
		return v, true
	case float64:
		return int(v), v == math.Trunc(v)
	}
	return 0, false
}

// portion returns a number or a percentage of n, and false if the value is neither.
func portion(value any, n int, round func(float64) float64) (int, bool) {
	if s, ok := value.(string); ok {
		percent, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
		return int(round(float64(percent*n) / 100)), err == nil && strings.HasSuffix(s, "%")
	}
	return number(value)
}

// equal compares values as the API server would: absent and empty ones are equal, and so are all
// types of one number.
func equal(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

// plain returns a value without empty parts, with all numbers of one type.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		clean := map[string]any{}
		for name, field := range v {
			if field = plain(field); field != nil {
				clean[name] = field
			}
		}
		if len(clean) > 0 {
			return clean
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
		clean := make([]any, len(v))
		for i := range v {
			clean[i] = plain(v[i])
		}
		return clean
	}
	if n, ok := number(value); ok {
		return n
	}
	return value
}

// includes reports whether labels include a selector.
func includes(labels, selector map[string]any) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// few returns at most three texts in one.
func few(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// sortedNew returns the sorted keys of is that had lacks.
func sortedNew[T any](is, had map[string]T) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(is)), func(name string) bool {
		_, was := had[name]
		return was
	})
}
