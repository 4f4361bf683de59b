// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import "github.com/pintle-dev/pintle/internal/view/listing"

// Query selects sources. Empty fields select all.
type Query struct {
	Namespace string
	Kind      string
	State     State
	// Text has words. Each is a part of the name, the kind, the revision, the message or a release.
	Text string
	// Page is the number of the page, from 1.
	Page int
}

// The names of parameters.
const (
	namespaceKey = "namespace"
	kindKey      = "kind"
	stateKey     = "state"
	textKey      = "q"
)

// Kinds returns the kinds of sources.
func Kinds() []string {
	return []string{"HelmChart", "HelmRepository", "OCIRepository", "GitRepository", "Bucket"}
}

// Parse returns the query in the parameters of an address, and what is wrong with them.
func Parse(parameters map[string][]string) (q Query, wrong []string) {
	q.Page = 1
	wrong = listing.Parse(parameters, listing.Fields{
		namespaceKey: listing.SetNamespace(&q.Namespace), kindKey: listing.SetOneOf(&q.Kind, Kinds()),
		stateKey: listing.SetOneOf(&q.State, states()), textKey: listing.SetText(&q.Text), listing.PageKey: listing.SetPage(&q.Page),
	})
	return q, wrong
}

// Filters reports whether the query leaves out sources.
func (q Query) Filters() bool {
	return q.Namespace != "" || q.Kind != "" || q.State != "" || q.Text != ""
}

// Parameters returns the parameters of an address of the query.
func (q Query) Parameters() map[string][]string {
	return listing.Parameters(map[string]string{namespaceKey: q.Namespace, kindKey: q.Kind, stateKey: string(q.State), textKey: q.Text}, q.Page)
}

// in returns the query for the first page of a state. The empty state is all.
func (q Query) in(s State) Query {
	q.State, q.Page = s, 1
	return q
}

// beside returns the queries for the pages before and after a page; nil without one.
func (q Query) beside(p listing.Paging) (previous, next *Query) {
	at := func(page int) *Query {
		q := q
		q.Page = page
		return &q
	}
	if p.Page > 1 {
		previous = at(p.Page - 1)
	}
	if p.Page < p.Pages {
		next = at(p.Page + 1)
	}
	return previous, next
}
