// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

const (
	// itemsOfFailure is the number of releases that are listed of a cause, and namesOfFailure the
	// number of its namespaces.
	itemsOfFailure, namesOfFailure = 3, 6
	// outageGap is the time without another failure that separates an outage from earlier failures of
	// the same cause.
	outageGap = time.Hour
)

// Failure are the failing and stalled releases with one cause.
type Failure struct {
	// Cause is the failure code, or else the reason of condition Ready. Query selects the releases.
	Cause string
	Query Query
	// State is the worst state of the releases.
	State view.State
	// Since is the time at which they began to fail, without failures of long before. Earlier counts
	// these.
	Since   view.Age
	Earlier int
	// Releases are listed newest first.
	Releases view.Limited[Item]
	// Namespaces are listed with the most releases first.
	Namespaces view.Limited[NamespaceCount]
}

// NamespaceCount is a number of releases in a namespace.
type NamespaceCount struct {
	Namespace string
	N         int
}

// causeOf returns the cause by which a release is grouped; empty if it needs no attention.
func causeOf(r *view.Release) string {
	if !needsAttention(r.State) {
		return ""
	}
	return cmp.Or(r.Cause, r.Reason)
}

// causeLine returns the cause of a failure in one line.
func causeLine(hr *helmv2.HelmRelease, r *view.Release) string {
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionFailing); c != nil {
		return view.Line(c.Message)
	}
	return view.Line(r.Message)
}

// failuresOf returns the causes of the releases that need attention: the cause of the newest failure
// first.
func failuresOf(found []pair, q Query, now time.Time) []Failure {
	of := map[string][]pair{}
	for _, p := range found {
		if cause := causeOf(&p.Release); cause != "" {
			of[cause] = append(of[cause], p)
		}
	}
	var all []Failure
	for cause, releases := range of {
		all = append(all, failureOf(cause, releases, q, now))
	}
	slices.SortFunc(all, func(a, b Failure) int {
		return cmp.Or(b.newest().Compare(a.newest()), b.Releases.Len()-a.Releases.Len(), strings.Compare(a.Cause, b.Cause))
	})
	return all
}

func (p *Failure) newest() time.Time { return p.Releases.Entries[0].Since.At }

func failureOf(cause string, releases []pair, q Query, now time.Time) Failure {
	slices.SortStableFunc(releases, func(a, b pair) int {
		return cmp.Or(sinceOf(&b).Compare(sinceOf(&a)), view.Compare(&a.Release, &b.Release))
	})
	p := Failure{Cause: cause, Query: *q.at(1), State: view.Failing}
	p.Query.Cause = cause
	names, items := map[string]int{}, make([]Item, 0, len(releases))
	for i := range releases {
		r := &releases[i]
		if r.State == view.Stalled {
			p.State = view.Stalled
		}
		names[r.Namespace]++
		items = append(items, Item{
			Namespace: r.Namespace, Name: r.Name, State: r.State, Since: view.AgeOf(sinceOf(r), now), Line: causeLine(r.hr, &r.Release),
		})
	}
	p.Since = items[0].Since
	for i := 1; i < len(items); i++ {
		if items[i-1].Since.At.Sub(items[i].Since.At) > outageGap {
			p.Earlier = len(items) - i
			break
		}
		p.Since = items[i].Since
	}
	var counts []NamespaceCount
	for _, name := range slices.Sorted(maps.Keys(names)) {
		counts = append(counts, NamespaceCount{Namespace: name, N: names[name]})
	}
	slices.SortStableFunc(counts, func(a, b NamespaceCount) int { return b.N - a.N })
	p.Releases, p.Namespaces = view.First(items, itemsOfFailure), view.First(counts, namesOfFailure)
	return p
}

func sinceOf(p *pair) time.Time {
	if p.Since == nil {
		return time.Time{}
	}
	return *p.Since
}
