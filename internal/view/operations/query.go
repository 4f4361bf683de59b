// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/view/listing"
)

// Query selects Operations. Empty fields select all.
type Query struct {
	Namespace string
	State     opsv1alpha1.OperationPhase
	// Text has words. Each is a part of the name, the hook, the target or the message.
	Text string
	// Page is the number of the page, from 1.
	Page int
}

// The names of parameters.
const (
	namespaceKey = "namespace"
	stateKey     = "state"
	textKey      = "q"
)

// states returns all states, in the order of lists.
func states() []opsv1alpha1.OperationPhase {
	return []opsv1alpha1.OperationPhase{
		opsv1alpha1.PhaseFailed, opsv1alpha1.PhaseRunning, opsv1alpha1.PhasePending, opsv1alpha1.PhaseCancelled, opsv1alpha1.PhaseSucceeded,
	}
}

// Parse returns the query in the parameters of an address, and what is wrong with them.
func Parse(parameters map[string][]string) (q Query, wrong []string) {
	q.Page = 1
	wrong = listing.Parse(parameters, listing.Fields{
		namespaceKey: listing.SetNamespace(&q.Namespace), stateKey: listing.SetOneOf(&q.State, states()),
		textKey: listing.SetText(&q.Text), listing.PageKey: listing.SetPage(&q.Page),
	})
	return q, wrong
}

// Filters reports whether the query leaves out Operations.
func (q Query) Filters() bool { return q.Namespace != "" || q.State != "" || q.Text != "" }

// Parameters returns the parameters of an address of the query.
func (q Query) Parameters() map[string][]string {
	return listing.Parameters(map[string]string{namespaceKey: q.Namespace, stateKey: string(q.State), textKey: q.Text}, q.Page)
}

// in returns the query for the first page of a state. The empty state is all.
func (q Query) in(s opsv1alpha1.OperationPhase) Query {
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
