// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pintle-dev/pintle/internal/view"
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
	pageKey      = "page"
)

const (
	// maxParameter is the maximum length of a parameter.
	maxParameter = 500
	maxPage      = 100_000
)

// Parse returns the query in the parameters of an address, and what is wrong with them. A parameter
// that is wrong has its text in the query if it has a field for it.
func Parse(parameters map[string][]string) (q Query, wrong []string) {
	q.Page = 1
	fields := q.fields()
	for _, key := range slices.Sorted(keysOf(parameters)) {
		set, known := fields[key]
		switch values := parameters[key]; {
		case !known:
			wrong = append(wrong, fmt.Sprintf("parameter %q: unknown; known are %s", shorten(key, maxName), strings.Join(slices.Sorted(keysOf(fields)), ", ")))
		case len(values) != 1:
			wrong = append(wrong, fmt.Sprintf("parameter %q: given %d times instead of once", key, len(values)))
		case len(values[0]) > maxParameter || !utf8.ValidString(values[0]):
			wrong = append(wrong, fmt.Sprintf("parameter %q: longer than %d bytes, or not UTF-8", key, maxParameter))
		case values[0] != "":
			if why := set(values[0]); why != "" {
				wrong = append(wrong, fmt.Sprintf("parameter %q: %s", key, why))
			}
		}
	}
	return q, wrong
}

// fields returns the functions that set the fields, by parameter. They return what is wrong.
func (q *Query) fields() map[string]func(string) string {
	return map[string]func(string) string{
		namespaceKey: func(value string) string {
			q.Namespace = value
			return strings.Join(validation.IsDNS1123Label(value), "; ")
		},
		selectorKey: func(value string) (wrong string) {
			q.Selector = value
			var err error
			if q.selector, err = labels.Parse(value); err != nil {
				return fmt.Sprintf("%q is not a label selector: %v", value, err)
			}
			return ""
		},
		stateKey: func(value string) string {
			if q.State = view.State(value); slices.Contains(view.States(), q.State) {
				return ""
			}
			q.State = ""
			return fmt.Sprintf("%q is none of %s", value, join(view.States()))
		},
		chartKey: func(value string) string { q.Chart = value; return "" },
		textKey:  func(value string) string { q.Text = value; return "" },
		driftedKey: func(value string) string {
			if q.Drifted = value == "true"; !q.Drifted {
				return fmt.Sprintf("%q is not true", value)
			}
			return ""
		},
		pageKey: func(value string) string {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxPage {
				return fmt.Sprintf("%q is not a number from 1 to %d", value, maxPage)
			}
			q.Page = n
			return ""
		},
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
	if q.Page > 1 {
		all[pageKey] = strconv.Itoa(q.Page)
	}
	parameters := map[string][]string{}
	for key, value := range all {
		if value != "" {
			parameters[key] = []string{value}
		}
	}
	return parameters
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
