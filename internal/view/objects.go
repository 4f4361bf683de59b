// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Object is a reference to an object of a cluster.
type Object struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the object as kind and name, with the namespace if there is one.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Inventory returns the objects of the newest revision.
func Inventory(status *helmv2.HelmReleaseStatus) []Object {
	if status.Inventory == nil {
		return nil
	}
	var all []Object
	for _, e := range status.Inventory.Entries {
		if o, ok := parseObject(e); ok {
			all = append(all, o)
		}
	}
	return all
}

// parseObject parses "<namespace>_<name>_<group>_<kind>". In names of RBAC objects, two underscores
// are a colon.
func parseObject(e helmv2.ResourceRef) (Object, bool) {
	namespace, rest, ok := strings.Cut(e.ID, "_")
	if !ok {
		return Object{}, false
	}
	rest, kind, ok := cutLast(rest)
	if !ok {
		return Object{}, false
	}
	name, group, ok := cutLast(rest)
	if !ok || kind == "" || name == "" {
		return Object{}, false
	}
	name = strings.ReplaceAll(name, "__", ":")
	return Object{Group: group, Version: e.Version, Kind: kind, Namespace: namespace, Name: name}, true
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndex(s, "_")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
