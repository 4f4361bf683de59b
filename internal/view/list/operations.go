// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"maps"
	"slices"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// Operations is the list of Operations.
type Operations struct {
	List
	Rows []view.OperationRow
}

// OperationsOf returns the Operations that a query selects, the newest first. A row names
// its HelmRelease only if that is among the releases.
func OperationsOf(all []opsv1alpha1.Operation, releases []helmv2.HelmRelease, q Query, now time.Time) *Operations {
	o := &Operations{List: List{Query: q, Total: len(all)}}
	releaseOf := view.ReleaseOfOperation(releases)
	words, namespaces := q.words(), map[string]bool{}
	var found []view.OperationRow
	for i := range all {
		op := &all[i]
		namespaces[op.Namespace] = true
		if q.Namespace != "" && q.Namespace != op.Namespace {
			continue
		}
		row := view.OperationRowOf(op, releaseOf(op), now)
		if contain(words, row.Namespace+"/"+row.Name, row.Hook, row.Target, row.Release, row.Line) {
			found = append(found, row)
		}
	}
	o.Namespaces = slices.Sorted(maps.Keys(namespaces))
	state := func(r *view.OperationRow) facets { return facets{state: string(r.State)} }
	o.Rows = selectPage(&o.List, found, state, view.CompareOperations)
	return o
}
