// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// The maximum numbers of objects that are shown. No more dependencies are read.
const (
	MaxDependencies = 50
	maxDependents   = 100
)

// DependencyFact is what was read about an object that a release depends on.
type DependencyFact struct {
	Object Object
	// Forbidden is true if the user may not get the object.
	Forbidden bool
	// Release is the object if it is a HelmRelease that was read, else nil.
	Release *helmv2.HelmRelease
	// State is the state of an object of another kind, in the words of trees, or why nothing was read.
	State string
	// Why is the reason why the object does not count as ready; empty if it does.
	Why string
	// Expression is the readyExpr of the dependency; empty without one.
	Expression string
}

// Dependency is an object that a release depends on.
type Dependency struct {
	// Object has no namespace and no name if the user may not get it: then Forbidden is true.
	Object    Object
	Forbidden bool
	// HasPage is true for a HelmRelease that the user may get.
	HasPage bool
	State   string
	// Why is why the object does not count as ready; empty if it does.
	Why        string
	Expression string
}

// Dependent is a HelmRelease that depends on a release.
type Dependent struct {
	Namespace, Name string
	State           State
	// Waits is true if it waits for a dependency now.
	Waits bool
}

// Dependencies are the dependencies of one release in both directions.
type Dependencies struct {
	// On are the dependencies of the release, in the order of its spec.
	On Limited[Dependency]
	// By are the dependents of the release that the user may get.
	By Limited[Dependent]
}

// DependenciesOf returns the dependencies of a release, from the facts about the first ones of all that its spec
// names, and from the HelmReleases that depend on it.
func DependenciesOf(facts []DependencyFact, all int, dependents []helmv2.HelmRelease, now time.Time) Dependencies {
	d := Dependencies{On: Limited[Dependency]{More: all - len(facts)}}
	for _, f := range facts {
		d.On.Entries = append(d.On.Entries, dependencyOf(f, now))
	}
	by := make([]Dependent, 0, len(dependents))
	for i := range dependents {
		by = append(by, dependentOf(&dependents[i], now))
	}
	slices.SortFunc(by, func(a, b Dependent) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	d.By = First(by, maxDependents)
	return d
}

func dependencyOf(f DependencyFact, now time.Time) Dependency {
	if f.Forbidden {
		return Dependency{Forbidden: true, Object: Object{Kind: f.Object.Kind}, State: "Unknown"}
	}
	d := Dependency{Object: f.Object, State: f.State, Why: Line(f.Why), Expression: Line(f.Expression)}
	if f.Release != nil {
		d.State, d.HasPage = string(StateOf(f.Release, now)), true
	}
	return d
}

func dependentOf(hr *helmv2.HelmRelease, now time.Time) Dependent {
	d := Dependent{Namespace: hr.Namespace, Name: hr.Name, State: StateOf(hr, now)}
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	d.Waits = ready != nil && ready.Reason == helmv2.ReasonDependencyNotReady
	return d
}
