// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/listing"
)

// matcher decides which HelmReleases a query selects.
type matcher struct {
	Query
	// words are those of Query.Text, in lower case.
	words listing.Words
}

func newMatcher(q Query) matcher {
	return matcher{Query: q, words: listing.WordsOf(q.Text)}
}

// object reports whether a HelmRelease has the namespace, the labels and the chart.
func (m matcher) object(hr *helmv2.HelmRelease) bool {
	return (m.Namespace == "" || m.Namespace == hr.Namespace) &&
		(m.selector == nil || m.selector.Matches(labels.Set(hr.Labels))) &&
		(m.Chart == "" || m.Chart == chartOf(hr))
}

// text reports whether each word of the search is in a text of a release.
func (m matcher) text(r *view.Release) bool {
	return m.words.In(r.Namespace+"/"+r.Name, r.Chart, r.Reason, r.Message, r.WaitingFor)
}

// state reports whether a release has the state.
func (m matcher) state(r *view.Release) bool {
	return (m.State == "" || m.State == r.State) && (!m.Drifted || drifted(r))
}

func drifted(r *view.Release) bool { return r.Drifted == string(metav1.ConditionTrue) }

// chartOf returns the name of the chart of the newest revision, or else that of the spec. It is empty
// if the source is the chart, and no revision exists.
func chartOf(hr *helmv2.HelmRelease) string {
	switch {
	case len(hr.Status.History) > 0:
		return hr.Status.History[0].ChartName
	case hr.HasChartTemplate():
		return hr.Spec.Chart.Spec.Chart
	}
	return ""
}
