// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/pintle-dev/pintle/internal/view"
)

// Query selects the entries of a list, and one page of them. Empty fields select all. All fields apply
// together.
type Query struct {
	// Operations is true for the list of Operations, false for HelmReleases.
	Operations bool

	Namespace, State string
	// Text has words. Each is a part of one of the texts of an entry, such as its name and its message.
	Text string
	// Selector is a label selector, and Chart the name of a chart. Cause is the failure code of releases
	// that need attention. Drifted selects releases whose live objects differ. They are for HelmReleases
	// only.
	Selector, Chart, Cause string
	Drifted                bool
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
	causeKey     = "cause"
	textKey      = "q"
	driftedKey   = "drifted"
	pageKey      = "page"
)

// states returns the states of the entries, in the order of lists.
func (q *Query) states() []string {
	if q.Operations {
		return textsOf(view.OperationPhases())
	}
	return textsOf(view.States())
}

// fields returns the functions that set the fields, by parameter.
func (q *Query) fields() fields {
	all := fields{
		namespaceKey: setNamespace(&q.Namespace), stateKey: setOneOf(&q.State, q.states()),
		textKey: setText(&q.Text), pageKey: setPage(&q.Page),
	}
	if !q.Operations {
		all[chartKey], all[causeKey] = setText(&q.Chart), setText(&q.Cause)
		all[driftedKey] = func(value string) string {
			if q.Drifted = value == "true"; !q.Drifted {
				return fmt.Sprintf("%q is not true", value)
			}
			return ""
		}
		all[selectorKey] = func(value string) (wrong string) {
			q.Selector = value
			var err error
			if q.selector, err = labels.Parse(value); err != nil {
				return fmt.Sprintf("%q is not a label selector: %v", value, err)
			}
			return ""
		}
	}
	return all
}

// ParseReleases returns the query for HelmReleases in the parameters of an address, and what is wrong
// with them. A parameter that is wrong has its text in the query if it has a field for it.
func ParseReleases(parameters map[string][]string) (q Query, wrong []string) {
	q.Page = 1
	wrong = parse(parameters, q.fields())
	return q, wrong
}

// ParseOperations returns the query for Operations, as ParseReleases does.
func ParseOperations(parameters map[string][]string) (q Query, wrong []string) {
	q.Page, q.Operations = 1, true
	wrong = parse(parameters, q.fields())
	return q, wrong
}

// Filters reports whether the query leaves out entries.
func (q Query) Filters() bool { return len(q.at(1).Parameters()) > 0 }

// Parameters returns the parameters of an address of the query. Empty ones and the first page are left
// out.
func (q Query) Parameters() map[string][]string {
	all := map[string]string{
		namespaceKey: q.Namespace, selectorKey: q.Selector, stateKey: q.State, chartKey: q.Chart, causeKey: q.Cause, textKey: q.Text,
	}
	if q.Drifted {
		all[driftedKey] = strconv.FormatBool(true)
	}
	if q.Page > 1 {
		all[pageKey] = strconv.Itoa(q.Page)
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	parameters := make(map[string][]string, len(all))
	for key, value := range all {
		parameters[key] = []string{value}
	}
	return parameters
}

// at returns the query for a page.
func (q Query) at(page int) *Query {
	q.Page = page
	return &q
}

// words returns the words of the search, in lower case.
func (q *Query) words() []string { return strings.Fields(strings.ToLower(q.Text)) }

// contain reports whether each word is in one of the texts.
func contain(words []string, texts ...string) bool {
	if len(words) == 0 {
		return true
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all, word) })
}

func textsOf[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return texts
}
