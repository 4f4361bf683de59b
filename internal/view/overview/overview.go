// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"maps"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/listing"
)

// listSize is the number of entries of the lists above the rows.
const listSize = 8

// Overview is the HelmReleases that a query selects.
type Overview struct {
	Query Query
	// Total is the number of all releases, and Attention that of those that are failing or stalled.
	Total, Attention int
	// Counts are the numbers of releases that match the query, by state; the first is all.
	Counts []Count
	// Rows are those of the page: numbers First to Last of Matching.
	Rows []Row
	listing.Paging
	// Previous and Next select the pages beside it; nil without one.
	Previous, Next *Query
	// Wrong, Waiting and Changes are empty if the query has a state, a search or a page.
	Wrong, Waiting listing.Limited[Item]
	Waits          []WaitCount
	Changes        listing.Limited[Change]
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
	o.Namespaces, o.Charts = slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(charts))
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
	states, other := make(map[view.State]int), 0
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
	counts := make(map[Wait]int)
	for i := range found {
		hr, r := found[i].hr, &found[i].Release
		item := Item{Namespace: r.Namespace, Name: r.Name, State: r.State}
		switch {
		case wrong(r.State):
			item.Line = listing.Line(r.Message)
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
	o.Wrong, o.Waiting, o.Changes = listing.First(failing, listSize), listing.First(waiting, listSize), listing.First(changes, listSize)
}

// page sets the rows of the page. A page after the last one is the last one.
func (o *Overview) page(found []pair, now time.Time) {
	o.Paging = listing.PagingOf(len(found), o.Query.Page)
	for _, p := range listing.Rows(found, o.Paging) {
		r := p.Release
		row := Row{Release: r, Line: listing.Line(r.Message)}
		if r.Changed != nil {
			row.Ago = listing.Ago(*r.Changed, now)
		}
		o.Rows = append(o.Rows, row)
	}
	if n := o.Page; n > 1 {
		o.Previous = o.Query.at(n - 1)
	}
	if n := o.Page; n < o.Pages {
		o.Next = o.Query.at(n + 1)
	}
}
