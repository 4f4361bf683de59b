// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"maps"
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/listing"
)

// maxReleases is the maximum number of releases that are named for a source.
const maxReleases = 10

// List is the sources that a query selects, failing ones first.
type List struct {
	Query Query
	// Total is the number of all sources.
	Total int
	// Counts are the numbers of sources that match the query, by state; the first is all.
	Counts []Count
	Rows   []Row
	listing.Paging
	// Previous and Next select the pages beside it; nil without one.
	Previous, Next *Query
	// Namespaces are those of all sources, and Kinds all kinds.
	Namespaces, Kinds []string
}

// Count is a number of sources.
type Count struct {
	Name string
	N    int
	// Query selects them. Selected is true if it is that of the list, but for the page.
	Query    Query
	Selected bool
}

// Row is one source.
type Row struct {
	Ref
	State    State
	Revision string
	// Line is the message in one line.
	Line string
	// Releases are the HelmReleases that use it and that the user may get.
	Releases listing.Limited[Release]
}

// Of returns a list of sources, with those of the HelmReleases that use them.
func Of(all []Source, releases []helmv2.HelmRelease, q Query) *List {
	l := &List{Query: q, Total: len(all), Kinds: Kinds()}
	words, namespaces, uses := listing.WordsOf(q.Text), map[string]bool{}, usesOf(all, releases)
	var found []Row
	for i := range all {
		s := &all[i]
		namespaces[s.Namespace] = true
		if q.Namespace != "" && q.Namespace != s.Namespace || q.Kind != "" && q.Kind != s.Kind {
			continue
		}
		row := Row{
			Ref: s.Ref, State: stateOf(s), Revision: listing.Line(s.Revision), Line: listing.Line(messageOf(s)),
			Releases: listing.First(uses[s.Ref], maxReleases),
		}
		texts := []string{s.Kind, s.Namespace + "/" + s.Name, s.Revision, row.Line}
		for _, r := range uses[s.Ref] {
			texts = append(texts, r.Namespace+"/"+r.Name)
		}
		if words.In(texts...) {
			found = append(found, row)
		}
	}
	l.Namespaces = slices.Sorted(maps.Keys(namespaces))
	l.Counts = countsOf(found, q)
	found = slices.DeleteFunc(found, func(r Row) bool { return q.State != "" && r.State != q.State })
	slices.SortFunc(found, compareRows)
	l.Paging = listing.PagingOf(len(found), q.Page)
	l.Rows = listing.Rows(found, l.Paging)
	l.Previous, l.Next = q.beside(l.Paging)
	return l
}

// countsOf returns the numbers of sources: all, and those of each state that there is.
func countsOf(found []Row, q Query) []Count {
	n := make(map[State]int)
	for _, r := range found {
		n[r.State]++
	}
	counts := []Count{{Name: "All", N: len(found), Query: q.in(""), Selected: q.State == ""}}
	for _, s := range states() {
		if n[s] > 0 || q.State == s {
			counts = append(counts, Count{Name: string(s), N: n[s], Query: q.in(s), Selected: q.State == s})
		}
	}
	return counts
}
