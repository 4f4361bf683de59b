// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

const (
	// PageSize is the number of rows of a page.
	PageSize = 50
	// listSize is the number of entries of the lists above the rows.
	listSize = 8
)

// Overview is the HelmReleases that a query selects.
type Overview struct {
	Query Query
	// Total is the number of all releases, and Attention that of those that are failing or stalled.
	Total, Attention int
	// Counts are the numbers of releases that match the query, by state; the first is all.
	Counts []Count
	// Rows are those of the page: numbers First to Last of Matching.
	Rows                  []Row
	First, Last, Matching int
	Page, Pages           int
	// Previous and Next select the pages beside it; nil without one.
	Previous, Next *Query
	// Wrong, Waiting and Changes are empty if the query has a state, a search or a page.
	Wrong, Waiting List[Item]
	Waits          []WaitCount
	Changes        List[Change]
	// Namespaces and Charts are those of all releases.
	Namespaces, Charts []string
}

// Count is a number of releases.
type Count struct {
	Name string
	N    int
	// Query selects them. Selected is true if it is that of the overview, but for the page.
	Query    Query
	Selected bool
}

// Row is a release.
type Row struct {
	view.Release
	// Line is the message in one line.
	Line string
	// Ago is the time since the newest revision; empty without one.
	Ago string
}

// Item is a release in a list of its own.
type Item struct {
	Namespace, Name string
	State           view.State
	// Wait is what it waits for, in lists of those that wait.
	Wait Wait
	Line string
}

// List is the first entries of a list, with the number of the others.
type List[T any] struct {
	Entries []T
	More    int
}

// Len returns the number of all entries.
func (l List[T]) Len() int { return len(l.Entries) + l.More }

func firstOf[T any](all []T) List[T] {
	n := min(len(all), listSize)
	return List[T]{Entries: all[:n:n], More: len(all) - n}
}

// pair is a HelmRelease with its view.
type pair struct {
	hr *helmv2.HelmRelease
	view.Release
}

// Of returns the overview of HelmReleases.
func Of(all []helmv2.HelmRelease, q Query, now time.Time) *Overview {
	o := &Overview{Query: q, Total: len(all)}
	namespaces, charts := map[string]bool{}, map[string]bool{}
	m, lookup := newMatcher(q), view.LookupIn(all)
	found := make([]pair, 0, len(all))
	for i := range all {
		hr := &all[i]
		namespaces[hr.Namespace], charts[chartOf(hr)] = true, true
		if !m.object(hr) {
			o.count(view.StateOf(hr, now))
			continue
		}
		r := view.ReleaseOf(hr, lookup, now)
		o.count(r.State)
		if m.text(&r) {
			found = append(found, pair{hr: hr, Release: r})
		}
	}
	delete(charts, "")
	o.Namespaces, o.Charts = slices.Sorted(keysOf(namespaces)), slices.Sorted(keysOf(charts))
	o.Counts = countsOf(found, q)
	slices.SortFunc(found, func(a, b pair) int { return view.Compare(&a.Release, &b.Release) })
	if q.State == "" && !q.Drifted && q.Text == "" && q.Page == 1 {
		o.lists(found, now)
	}
	o.page(slices.DeleteFunc(found, func(p pair) bool { return !m.state(&p.Release) }), now)
	return o
}

func (o *Overview) count(s view.State) {
	if wrong(s) {
		o.Attention++
	}
}

func wrong(s view.State) bool { return s == view.Failing || s == view.Stalled }

// countsOf returns the numbers of releases: all, those of each state that there is, and those that
// drifted.
func countsOf(found []pair, q Query) []Count {
	states, other := map[view.State]int{}, 0
	for i := range found {
		states[found[i].State]++
		if drifted(&found[i].Release) {
			other++
		}
	}
	counts := []Count{{Name: "All", N: len(found), Query: q.in(""), Selected: q.State == "" && !q.Drifted}}
	for _, s := range view.States() {
		if states[s] > 0 || q.State == s {
			counts = append(counts, Count{Name: string(s), N: states[s], Query: q.in(s), Selected: q.State == s})
		}
	}
	if other > 0 || q.Drifted {
		counts = append(counts, Count{Name: "Drifted", N: other, Query: q.drifted(), Selected: q.Drifted})
	}
	return counts
}

// lists sets the lists above the rows.
func (o *Overview) lists(found []pair, now time.Time) {
	var failing, waiting []Item
	var changes []Change
	counts := map[Wait]int{}
	for i := range found {
		hr, r := found[i].hr, &found[i].Release
		item := Item{Namespace: r.Namespace, Name: r.Name, State: r.State}
		switch {
		case wrong(r.State):
			item.Line = line(r.Message)
			failing = append(failing, item)
		case r.State == view.Waiting, r.State == view.Held:
			item.Wait = waitOf(hr, r)
			item.Line = waitLine(item.Wait, r)
			counts[item.Wait]++
			waiting = append(waiting, item)
		}
		if c, ok := changeOf(hr, now); ok {
			changes = append(changes, c)
		}
	}
	order := waits()
	slices.SortStableFunc(waiting, func(a, b Item) int { return slices.Index(order, a.Wait) - slices.Index(order, b.Wait) })
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, w := range order {
		if counts[w] > 0 {
			o.Waits = append(o.Waits, WaitCount{Wait: w, N: counts[w]})
		}
	}
	o.Wrong, o.Waiting, o.Changes = firstOf(failing), firstOf(waiting), firstOf(changes)
}

// page sets the rows of the page. A page after the last one is the last one.
func (o *Overview) page(found []pair, now time.Time) {
	o.Matching = len(found)
	o.Pages = max(1, (len(found)+PageSize-1)/PageSize)
	o.Page = min(o.Query.Page, o.Pages)
	begin := (o.Page - 1) * PageSize
	end := min(begin+PageSize, len(found))
	for i := range found[begin:end] {
		r := found[begin+i].Release
		row := Row{Release: r, Line: line(r.Message)}
		if r.Changed != nil {
			row.Ago = ago(*r.Changed, now)
		}
		o.Rows = append(o.Rows, row)
	}
	if end > begin {
		o.First, o.Last = begin+1, end
	}
	if o.Page > 1 {
		o.Previous = o.Query.at(o.Page - 1)
	}
	if o.Page < o.Pages {
		o.Next = o.Query.at(o.Page + 1)
	}
}

// ago returns the time since an event, in at most two units.
func ago(at, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(at))) }
