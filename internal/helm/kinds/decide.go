// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is whether an API server serves a kind.
type State int

const (
	// Unknown is the state of a kind while discovery is incomplete. The API server may serve the
	// kind, and its objects may exist.
	Unknown State = iota
	// Served is the state of a kind that is served in the given group and version.
	Served
	// Moved is the state of a kind that is served in another version or group only. Its objects
	// are the same there.
	Moved
	// Gone is the state of a kind that is not served. It has no objects that could be reached.
	Gone
)

// Group is the discovery of one API group, requested for this decision and not read from a cache.
// The zero value is a group that the API server does not have.
type Group struct {
	// Failure is why the group is unknown; empty if it is known.
	Failure string
	// Preferred is the preferred version.
	Preferred string
	// Versions are the versions that the API server lists, in its order.
	Versions []Version
	// CRDs are the CRDs of the group that the API server does not serve in any version. They
	// exist, and so may their objects.
	CRDs []CRD
}

// Version is the discovery of one version of a group.
type Version struct {
	Name  string
	Kinds []string
	// Failure is why the kinds are unknown; empty if they are known.
	Failure string
}

// CRD is a CustomResourceDefinition that the API server does not serve.
type CRD struct{ Name, Kind string }

// Decision is the decision about a kind.
type Decision struct {
	State State
	// Kind is the group, version and kind under which the kind is served; empty if it is not.
	Kind schema.GroupVersionKind
	// Failure is why the state is Unknown; empty for other states.
	Failure string
}

// Decide returns the state of a kind. Groups must contain the discovery of all GroupsOf the kind. A
// kind is gone only if the discovery of these groups is complete and has it in no version.
func Decide(gvk schema.GroupVersionKind, groups map[string]Group) Decision {
	for _, name := range GroupsOf(gvk.GroupKind()) {
		group, known := groups[name]
		if !known {
			return Decision{Failure: fmt.Sprintf("API group %s has not been discovered", name)}
		}
		if v := group.decide(schema.GroupVersionKind{Group: name, Version: gvk.Version, Kind: gvk.Kind}); v.State != Gone {
			if v.State == Served && name != gvk.Group {
				v.State = Moved
			}
			return v
		}
	}
	return Decision{State: Gone}
}

// decide returns the state of a kind in its group.
func (g Group) decide(gvk schema.GroupVersionKind) Decision {
	if g.Failure != "" {
		return Decision{Failure: g.Failure}
	}
	failure := ""
	for _, v := range g.order(gvk.Version) {
		switch {
		case v.Failure != "" && v.Name == gvk.Version:
			// Another version must not be taken for this one.
			return Decision{Failure: v.Failure}
		case v.Failure != "":
			failure = v.Failure
		case slices.Contains(v.Kinds, gvk.Kind) && v.Name == gvk.Version:
			return Decision{State: Served, Kind: gvk}
		case slices.Contains(v.Kinds, gvk.Kind):
			return Decision{State: Moved, Kind: gvk.GroupKind().WithVersion(v.Name)}
		}
	}
	if failure != "" {
		return Decision{Failure: failure}
	}
	for _, crd := range g.CRDs {
		if crd.Kind == gvk.Kind {
			return Decision{Failure: fmt.Sprintf("CustomResourceDefinition %s exists, but is not served", crd.Name)}
		}
	}
	return Decision{State: Gone}
}

// order returns the versions in the order in which the kind is looked for: the requested one, the
// preferred one, and the others as the API server lists them.
func (g Group) order(requested string) []Version {
	rank := func(v Version) int {
		switch v.Name {
		case requested:
			return 0
		case g.Preferred:
			return 1
		}
		return 2
	}
	versions := slices.Clone(g.Versions)
	slices.SortStableFunc(versions, func(a, b Version) int { return rank(a) - rank(b) })
	return versions
}
