// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"maps"
	"reflect"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"
)

// hookAnnotation is the annotation of Helm's hooks.
const hookAnnotation = "helm.sh/hook"

// object is an object, or a list of objects.
type object struct {
	fields map[string]any
	// apiVersion and kind default to those of the list that contains the object.
	apiVersion, kind string
	list             bool
	members          []*object

	changed, removed bool
}

func newObject(fields map[string]any, apiVersion, kind string) *object {
	o := &object{fields: fields, apiVersion: text(fields["apiVersion"]), kind: text(fields["kind"])}
	if o.apiVersion == "" {
		o.apiVersion = apiVersion
	}
	if o.kind == "" {
		o.kind = kind
	}
	items, ok := fields["items"].([]any)
	if !ok || !strings.HasSuffix(o.kind, "List") {
		return o
	}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			o.members = nil
			return o
		}
		member := strings.TrimSuffix(o.kind, "List")
		o.members = append(o.members, newObject(fields, o.apiVersion, member))
	}
	o.list = true
	return o
}

// leaves returns the object, or the objects of a list.
func (o *object) leaves() []*object {
	if !o.list {
		return []*object{o}
	}
	var all []*object
	for _, m := range o.members {
		all = append(all, m.leaves()...)
	}
	return all
}

// touched reports whether the object, or one of a list, was changed or removed.
func (o *object) touched() bool {
	for _, leaf := range o.leaves() {
		if leaf.changed || leaf.removed {
			return true
		}
	}
	return false
}

// assemble returns the fields without removed objects, nil if none is left.
func (o *object) assemble() map[string]any {
	if !o.list {
		if o.removed {
			return nil
		}
		return o.fields
	}
	var items []any
	for _, m := range o.members {
		if fields := m.assemble(); fields != nil {
			items = append(items, fields)
		}
	}
	if items == nil {
		return nil
	}
	list := maps.Clone(o.fields)
	list["items"] = items
	return list
}

// replace replaces the fields of the object. Equal fields are not a change.
func (o *object) replace(fields map[string]any) {
	if reflect.DeepEqual(o.fields, fields) {
		return
	}
	o.fields, o.changed = fields, true
	if kind := text(fields["kind"]); kind != "" {
		o.kind = kind
	}
	if apiVersion := text(fields["apiVersion"]); apiVersion != "" {
		o.apiVersion = apiVersion
	}
}

func (o *object) metadata() map[string]any {
	m, _ := o.fields["metadata"].(map[string]any)
	return m
}

func (o *object) name() string      { return text(o.metadata()["name"]) }
func (o *object) namespace() string { return text(o.metadata()["namespace"]) }

func (o *object) gvk() resid.Gvk {
	group, version := resid.ParseGroupVersion(o.apiVersion)
	return resid.NewGvk(group, version, o.kind)
}

// id returns the identity of the object in kustomize. There, an object without a namespace is in
// the namespace default, unless its kind is cluster-scoped in the schema.
func (o *object) id() resid.ResId {
	return resid.NewResIdWithNamespace(o.gvk(), o.name(), o.namespace())
}

// key returns the identity of the object, empty if the API server generates its name.
func (o *object) key() string {
	if o.name() == "" {
		return ""
	}
	return o.apiVersion + " " + o.kind + " " + o.namespace() + "/" + o.name()
}

func (o *object) isHook() bool {
	annotations, _ := o.metadata()["annotations"].(map[string]any)
	_, ok := annotations[hookAnnotation]
	return ok
}

// String returns the kind, namespace and name of the object for messages.
func (o *object) String() string {
	name := o.name()
	if name == "" {
		name = text(o.metadata()["generateName"]) + "*"
	}
	if ns := o.namespace(); ns != "" {
		name = ns + "/" + name
	}
	return strings.TrimSpace(o.kind + " " + name)
}

// stringsOf returns the entries of a map whose values are strings.
func stringsOf(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := map[string]string{}
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
