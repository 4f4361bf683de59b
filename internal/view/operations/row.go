// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"cmp"
	"slices"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/view/listing"
	"github.com/pintle-dev/pintle/internal/view/request"
)

// Row is one Operation in a list.
type Row struct {
	Namespace, Name string
	State           opsv1alpha1.OperationPhase
	// Hook is the hook or the event that it runs.
	Hook string
	// Target is the object that it is for, and Release the HelmRelease; empty if that is not known.
	Target, Release string
	// Line is the message in one line.
	Line string
	// Created is the time of its creation, and Ago the time since then.
	Created time.Time
	Ago     string
}

// rowOf returns the row of an Operation.
func rowOf(op *opsv1alpha1.Operation, release string, now time.Time) Row {
	created := op.CreationTimestamp.UTC()
	return Row{
		Namespace: op.Namespace, Name: op.Name, State: cmp.Or(op.Status.Phase, opsv1alpha1.PhasePending), Hook: hookOf(op),
		Target: op.Spec.TargetRef.Kind + " " + op.Spec.TargetRef.Name, Release: release,
		Line: listing.Line(request.OperationMessage(op)), Created: created, Ago: listing.Ago(created, now),
	}
}

// hookOf returns the hook or the event that an Operation runs.
func hookOf(op *opsv1alpha1.Operation) string {
	switch p := op.Spec.Parameters; {
	case p == nil:
		return ""
	case p.HookName != "":
		return p.HookName
	case p.Event != "":
		return "all of " + string(p.Event)
	}
	return ""
}

// newestFirst sorts rows.
func newestFirst(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// OfRelease returns the newest Operations in the namespace of a HelmRelease that are for it.
func OfRelease(all []opsv1alpha1.Operation, hr *helmv2.HelmRelease, n int, now time.Time) listing.Limited[Row] {
	var rows []Row
	for i := range all {
		if all[i].Namespace == hr.Namespace && isFor(&all[i], hr) {
			rows = append(rows, rowOf(&all[i], hr.Name, now))
		}
	}
	newestFirst(rows)
	return listing.First(rows, n)
}

// isFor reports whether an Operation is for a HelmRelease in its namespace: by name, or because the
// target controls it.
func isFor(op *opsv1alpha1.Operation, hr *helmv2.HelmRelease) bool {
	ref := op.Spec.TargetRef
	if operation.IsHelmRelease(ref) {
		return ref.Name == hr.Name
	}
	return operation.Controls(ref, hr)
}

// releaseIn returns a function that returns the name of the HelmRelease of an Operation; empty if none
// of the HelmReleases is.
func releaseIn(all []helmv2.HelmRelease) func(*opsv1alpha1.Operation) string {
	in := map[string][]*helmv2.HelmRelease{}
	for i := range all {
		in[all[i].Namespace] = append(in[all[i].Namespace], &all[i])
	}
	return func(op *opsv1alpha1.Operation) string {
		i := slices.IndexFunc(in[op.Namespace], func(hr *helmv2.HelmRelease) bool { return isFor(op, hr) })
		if i < 0 {
			return ""
		}
		return in[op.Namespace][i].Name
	}
}
