// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"maps"
	"slices"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/listing"
)

// List is the Operations that a query selects, the newest first.
type List struct {
	Query Query
	// Total is the number of all Operations.
	Total int
	// Counts are the numbers of Operations that match the query, by state; the first is all.
	Counts []Count
	Rows   []Row
	listing.Paging
	// Previous and Next select the pages beside it; nil without one.
	Previous, Next *Query
	// Namespaces are those of all Operations.
	Namespaces []string
}

// Count is a number of Operations.
type Count struct {
	Name string
	N    int
	// Query selects them. Selected is true if it is that of the list, but for the page.
	Query    Query
	Selected bool
}

// Of returns a list of Operations, with those of the HelmReleases that they are for.
func Of(all []opsv1alpha1.Operation, releases []helmv2.HelmRelease, q Query, now time.Time) *List {
	l := &List{Query: q, Total: len(all)}
	releaseOf := releaseIn(releases)
	words, namespaces := listing.WordsOf(q.Text), map[string]bool{}
	var found []Row
	for i := range all {
		op := &all[i]
		namespaces[op.Namespace] = true
		if q.Namespace != "" && q.Namespace != op.Namespace {
			continue
		}
		if row := rowOf(op, releaseOf(op), now); words.In(row.Namespace+"/"+row.Name, row.Hook, row.Target, row.Release, row.Line) {
			found = append(found, row)
		}
	}
	l.Namespaces = slices.Sorted(maps.Keys(namespaces))
	l.Counts = countsOf(found, q)
	found = slices.DeleteFunc(found, func(r Row) bool { return q.State != "" && r.State != q.State })
	newestFirst(found)
	l.Paging = listing.PagingOf(len(found), q.Page)
	l.Rows = listing.Rows(found, l.Paging)
	l.Previous, l.Next = q.beside(l.Paging)
	return l
}

// countsOf returns the numbers of Operations: all, and those of each state that there is.
func countsOf(found []Row, q Query) []Count {
	n := make(map[opsv1alpha1.OperationPhase]int)
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
