// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ref is a reference to a source.
type Ref struct{ Kind, Namespace, Name string }

// Source is an object that charts come from.
type Source struct {
	Ref
	// Of is the source of a HelmChart; empty for others.
	Of Ref
	// Revision is that of its artifact; empty without one.
	Revision string
	// Static is true if nothing fetches it on its own: its charts are fetched by others.
	Static               bool
	Suspended            bool
	Generation, Observed int64
	Conditions           []metav1.Condition
}

// State is the state of a source in one word.
type State string

// The states, in the order of lists: what needs attention comes first.
const (
	Stalled     State = "Stalled"
	Failing     State = "Failing"
	Progressing State = "Progressing"
	Suspended   State = "Suspended"
	Static      State = "Static"
	Ready       State = "Ready"
)

func states() []State {
	return []State{Stalled, Failing, Progressing, Suspended, Static, Ready}
}

// stateOf returns the state of a source.
func stateOf(s *Source) State {
	ready := apimeta.FindStatusCondition(s.Conditions, "Ready")
	switch {
	case s.Suspended:
		return Suspended
	case s.Static:
		return Static
	case apimeta.IsStatusConditionTrue(s.Conditions, "Stalled"):
		return Stalled
	case ready != nil && ready.Status == metav1.ConditionFalse:
		return Failing
	case ready != nil && ready.Status == metav1.ConditionTrue && s.Observed >= s.Generation:
		return Ready
	}
	return Progressing
}

// messageOf returns the message of condition Ready.
func messageOf(s *Source) string {
	if ready := apimeta.FindStatusCondition(s.Conditions, "Ready"); ready != nil {
		return ready.Message
	}
	if s.Static {
		return "Its charts are fetched for each HelmChart."
	}
	return ""
}

// compareRows orders rows: states in the order of lists, then namespaces, names and kinds.
func compareRows(a, b Row) int {
	order := states()
	return cmp.Or(
		slices.Index(order, a.State)-slices.Index(order, b.State),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind),
	)
}
