// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/listing"
)

// Query selects HelmReleases. Empty fields select all.
type Query struct {
	Namespace string
	// Selector is a label selector.
	Selector string
	State    view.State
	// Chart is the name of a chart.
	Chart string
	// Text has words. Each is a part of the name, the chart, the message or what is waited for.
	Text string
	// Drifted selects those whose live objects differ from the release.
	Drifted bool
	// Page is the number of the page, from 1.
	Page int

	selector labels.Selector
}

// The names of parameters.
const (
	namespaceKey = "namespace"
	selectorKey  = "selector"
	stateKey     = "state"
	chartKey     = "chart"
	textKey      = "q"
	driftedKey   = "drifted"
)

// Parse returns the query in the parameters of an address, and what is wrong with them. A parameter
// that is wrong has its text in the query if it has a field for it.
func Parse(parameters map[string][]string) (q Query, wrong []string) {
	q.Page = 1
	wrong = listing.Parse(parameters, q.fields())
	return q, wrong
}

// fields returns the functions that set the fields, by parameter. They return what is wrong.
func (q *Query) fields() listing.Fields {
	return listing.Fields{
		namespaceKey: listing.SetNamespace(&q.Namespace),
		selectorKey: func(value string) (wrong string) {
			q.Selector = value
			var err error
			if q.selector, err = labels.Parse(value); err != nil {
				return fmt.Sprintf("%q is not a label selector: %v", value, err)
			}
			return ""
		},
		stateKey: listing.SetOneOf(&q.State, view.States()),
		chartKey: listing.SetText(&q.Chart),
		textKey:  listing.SetText(&q.Text),
		driftedKey: func(value string) string {
			if q.Drifted = value == "true"; !q.Drifted {
				return fmt.Sprintf("%q is not true", value)
			}
			return ""
		},
		listing.PageKey: listing.SetPage(&q.Page),
	}
}

// Filters reports whether the query leaves out HelmReleases.
func (q *Query) Filters() bool {
	return q.Namespace != "" || q.Selector != "" || q.State != "" || q.Chart != "" || q.Text != "" || q.Drifted
}

// Parameters returns the parameters of an address of the query.
func (q Query) Parameters() map[string][]string {
	all := map[string]string{namespaceKey: q.Namespace, selectorKey: q.Selector, stateKey: string(q.State), chartKey: q.Chart, textKey: q.Text}
	if q.Drifted {
		all[driftedKey] = "true"
	}
	return listing.Parameters(all, q.Page)
}

// in returns the query for the first page of a state. The empty state is all.
func (q Query) in(s view.State) Query {
	q.State, q.Drifted, q.Page = s, false, 1
	return q
}

// drifted returns the query for the first page of drifted releases.
func (q Query) drifted() Query {
	q.State, q.Drifted, q.Page = "", true, 1
	return q
}

// at returns the query for a page.
func (q Query) at(page int) *Query {
	q.Page = page
	return &q
}
