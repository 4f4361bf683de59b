// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// listSize is the number of entries of the lists above the rows.
const listSize = 8

// Overview is the list of HelmReleases, with lists of those that need attention.
type Overview struct {
	List
	// Attention is the number of all releases that are failing or stalled.
	Attention int
	Rows      []Row
	// Failures, Waiting and Changes are empty if the query has a state, a cause, a search or a page.
	// Failures are the causes of all releases that need attention.
	Failures view.Limited[Failure]
	// Wrong is the number of their releases, and Causes has it by cause, the most first.
	Wrong   int
	Causes  []Count
	Waiting view.Limited[Item]
	Waits   []WaitCount
	Changes view.Limited[Change]
	// Charts are the charts of all releases.
	Charts []string
}

// Row is a release.
type Row struct {
	view.Release
	// Line is the message in one line.
	Line string
	// Deployed is the age of the newest revision.
	Deployed view.Age
}

// Item is a release in a list of its own.
type Item struct {
	Namespace, Name string
	State           view.State
	// Wait is what it waits for, in lists of those that wait.
	Wait view.Wait
	// Since is the time since which it fails, or waits.
	Since view.Age
	Line  string
}

// pair is a HelmRelease with its view.
type pair struct {
	hr *helmv2.HelmRelease
	view.Release
}

// OverviewOf returns the HelmReleases that a query selects, those that need attention first.
func OverviewOf(all []helmv2.HelmRelease, q Query, now time.Time) *Overview {
	o := &Overview{List: List{Query: q, Total: len(all)}}
	namespaces, charts := map[string]bool{}, map[string]bool{}
	words, lookup := q.words(), view.LookupIn(all)
	found := make([]pair, 0, len(all))
	for i := range all {
		hr := &all[i]
		namespaces[hr.Namespace], charts[chartOf(hr)] = true, true
		if !q.matchesObject(hr) {
			o.count(view.StateOf(hr, now))
			continue
		}
		r := view.ReleaseOf(hr, lookup, now)
		o.count(r.State)
		if (q.Cause == "" || q.Cause == causeOf(&r)) && contain(words, r.Namespace+"/"+r.Name, r.Chart, r.Reason, r.Message, r.WaitingFor) {
			found = append(found, pair{hr: hr, Release: r})
		}
	}
	delete(charts, "")
	o.Namespaces, o.Charts = slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(charts))
	rows := selectPage(&o.List, found, facetsOf, func(a, b pair) int { return view.Compare(&a.Release, &b.Release) })
	for i := range rows {
		o.Rows = append(o.Rows, rowOf(rows[i].Release, now))
	}
	if q.State == "" && !q.Drifted && q.Cause == "" && q.Text == "" && q.Page == 1 {
		o.lists(found, now)
	}
	return o
}

func facetsOf(p *pair) facets {
	return facets{state: string(p.State), drifted: p.Drifted == string(metav1.ConditionTrue)}
}

// matchesObject reports whether a HelmRelease has the namespace, the labels and the chart.
func (q *Query) matchesObject(hr *helmv2.HelmRelease) bool {
	return (q.Namespace == "" || q.Namespace == hr.Namespace) &&
		(q.selector == nil || q.selector.Matches(labels.Set(hr.Labels))) &&
		(q.Chart == "" || q.Chart == chartOf(hr))
}

// chartOf returns the name of the chart of the newest revision, or else of the spec. In a registry a
// chart has the last name of its URL. It is empty if the source is the chart, and no revision exists.
func chartOf(hr *helmv2.HelmRelease) string {
	switch {
	case len(hr.Status.History) > 0:
		return hr.Status.History[0].ChartName
	case hr.HasChartTemplate() && hr.Spec.Chart.Spec.URL != "":
		return path.Base(hr.Spec.Chart.Spec.URL)
	case hr.HasChartTemplate():
		return hr.Spec.Chart.Spec.Chart
	}
	return ""
}

func rowOf(r view.Release, now time.Time) Row {
	row := Row{Release: r, Line: view.Line(r.Message)}
	if r.Changed != nil {
		row.Deployed = view.AgeOf(*r.Changed, now)
	}
	return row
}

func (o *Overview) count(s view.State) {
	if needsAttention(s) {
		o.Attention++
	}
}

func needsAttention(s view.State) bool { return s == view.Failing || s == view.Stalled }

// lists sets the lists above the rows.
func (o *Overview) lists(found []pair, now time.Time) {
	var waiting []Item
	var changes []Change
	counts := make(map[view.Wait]int)
	for i := range found {
		hr, r := found[i].hr, &found[i].Release
		if r.State == view.Rejected || r.State == view.Waiting || r.State == view.Held {
			item := Item{Namespace: r.Namespace, Name: r.Name, State: r.State, Since: view.AgeOf(sinceOf(&found[i]), now)}
			item.Wait = view.WaitOf(hr, r)
			item.Line = waitLine(item.Wait, r)
			counts[item.Wait]++
			waiting = append(waiting, item)
		}
		if c, ok := changeOf(hr, now); ok {
			changes = append(changes, c)
		}
	}
	order := view.Waits()
	slices.SortStableFunc(waiting, func(a, b Item) int { return slices.Index(order, a.Wait) - slices.Index(order, b.Wait) })
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, w := range order {
		if counts[w] > 0 {
			o.Waits = append(o.Waits, WaitCount{Wait: w, N: counts[w]})
		}
	}
	failures := failuresOf(found, o.Query, now)
	for i := range failures {
		p := &failures[i]
		o.Wrong += p.Releases.Len()
		o.Causes = append(o.Causes, Count{Name: p.Cause, N: p.Releases.Len(), Query: p.Query})
	}
	slices.SortStableFunc(o.Causes, func(a, b Count) int { return b.N - a.N })
	o.Failures, o.Waiting, o.Changes = view.First(failures, listSize), view.First(waiting, listSize), view.First(changes, listSize)
}
