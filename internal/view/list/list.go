// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import "slices"

// Count is a number of entries.
type Count struct {
	Name string
	N    int
	// Query selects them. Selected is true if the query of the list does.
	Query    Query
	Selected bool
}

// facets are what counts and filters of a list are by.
type facets struct {
	state   string
	drifted bool
}

func (q *Query) matchesState(f facets) bool { return q.State == "" || q.State == f.state }
func (q *Query) matchesDrift(f facets) bool { return !q.Drifted || f.drifted }

// counts returns the numbers of entries: all, the entries of each state that there is, and drifted
// ones. Numbers by state count only drifted entries if the query selects these, and the other way
// round: each is the number of entries that its query selects.
func (q *Query) counts(all []facets) []Count {
	states, drifted := map[string]int{}, 0
	for _, f := range all {
		if q.matchesDrift(f) {
			states[f.state]++
		}
		if f.drifted && q.matchesState(f) {
			drifted++
		}
	}
	first := *q.at(1)
	everything := first
	everything.State, everything.Drifted = "", false
	counts := []Count{{Name: "All", N: len(all), Query: everything, Selected: q.State == "" && !q.Drifted}}
	for _, s := range q.states() {
		if states[s] > 0 || q.State == s {
			of := first
			of.State = s
			counts = append(counts, Count{Name: s, N: states[s], Query: of, Selected: q.State == s})
		}
	}
	if drifted > 0 || q.Drifted {
		of := first
		of.Drifted = true
		counts = append(counts, Count{Name: "Drifted", N: drifted, Query: of, Selected: q.Drifted})
	}
	return counts
}

// pageSize is the maximum number of rows of a page.
const pageSize = 50

// List is one page of the entries that a query selects.
type List struct {
	Query Query
	// Total is the number of all entries.
	Total int
	// Counts are the numbers of entries that match the query, by state; the first is all.
	Counts []Count
	// First and Last are the numbers of the rows of the page, of Matching; 0 without any.
	First, Last, Matching int
	Page, Pages           int
	// Previous and Next select the pages beside it; nil without one.
	Previous, Next *Query
	// Namespaces are the namespaces of all entries.
	Namespaces []string
}

// selectPage sets the counts and the position of the page, and returns its entries. found are the
// entries that match the query but for its state and drift; they get sorted. A page after the last one
// is the last one.
func selectPage[T any](l *List, found []T, facetsOf func(*T) facets, compare func(a, b T) int) []T {
	slices.SortFunc(found, compare)
	all := make([]facets, len(found))
	matching := make([]T, 0, len(found))
	for i := range found {
		all[i] = facetsOf(&found[i])
		if l.Query.matchesState(all[i]) && l.Query.matchesDrift(all[i]) {
			matching = append(matching, found[i])
		}
	}
	l.Counts = l.Query.counts(all)
	l.Matching, l.Pages = len(matching), max(1, (len(matching)+pageSize-1)/pageSize)
	l.Page = min(max(1, l.Query.Page), l.Pages)
	if l.Page > 1 {
		l.Previous = l.Query.at(l.Page - 1)
	}
	if l.Page < l.Pages {
		l.Next = l.Query.at(l.Page + 1)
	}
	if len(matching) == 0 {
		return nil
	}
	l.First = (l.Page-1)*pageSize + 1
	l.Last = min(l.First+pageSize-1, len(matching))
	return matching[l.First-1 : l.Last]
}
