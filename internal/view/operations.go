// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// OperationRow is one Operation in a list.
type OperationRow struct {
	Namespace string                     `json:"namespace"`
	Name      string                     `json:"name"`
	State     opsv1alpha1.OperationPhase `json:"state"`
	// Hook is the hook or the event that it runs.
	Hook string `json:"hook,omitempty"`
	// Target is the object that it is for, and Release the HelmRelease; empty if that is not known.
	Target  string `json:"target"`
	Release string `json:"release,omitempty"`
	// Line is the message in one line.
	Line string `json:"message,omitempty"`
	// Created is the time of its creation, and Ago the time since then.
	Created time.Time `json:"created"`
	Ago     string    `json:"-"`
}

// OperationPhases returns the phases of Operations, in the order of lists: what needs attention comes
// first.
func OperationPhases() []opsv1alpha1.OperationPhase {
	return []opsv1alpha1.OperationPhase{
		opsv1alpha1.PhaseFailed, opsv1alpha1.PhaseRunning, opsv1alpha1.PhasePending, opsv1alpha1.PhaseCancelled, opsv1alpha1.PhaseSucceeded,
	}
}

// OperationRows returns the rows of Operations by their phases, the newest first.
func OperationRows(all []opsv1alpha1.Operation, now time.Time) []OperationRow {
	order, rows := OperationPhases(), make([]OperationRow, 0, len(all))
	for i := range all {
		rows = append(rows, OperationRowOf(&all[i], "", now))
	}
	slices.SortFunc(rows, func(a, b OperationRow) int {
		return cmp.Or(slices.Index(order, a.State)-slices.Index(order, b.State), CompareOperations(a, b))
	})
	return rows
}

// OperationRowOf returns the row of an Operation. release is the name of its HelmRelease; empty if it is not
// known.
func OperationRowOf(op *opsv1alpha1.Operation, release string, now time.Time) OperationRow {
	created := op.CreationTimestamp.UTC()
	return OperationRow{
		Namespace: op.Namespace, Name: op.Name, State: cmp.Or(op.Status.Phase, opsv1alpha1.PhasePending), Hook: hookOf(op),
		Target: op.Spec.TargetRef.Kind + " " + op.Spec.TargetRef.Name, Release: release,
		Line: Line(OperationMessage(op)), Created: created, Ago: Ago(created, now),
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

// CompareOperations orders rows, the newest first.
func CompareOperations(a, b OperationRow) int {
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// OperationsOf returns the newest Operations in the namespace of a HelmRelease that are for it.
func OperationsOf(all []opsv1alpha1.Operation, hr *helmv2.HelmRelease, n int, now time.Time) Limited[OperationRow] {
	var rows []OperationRow
	for i := range all {
		if all[i].Namespace == hr.Namespace && isFor(&all[i], hr) {
			rows = append(rows, OperationRowOf(&all[i], hr.Name, now))
		}
	}
	slices.SortFunc(rows, CompareOperations)
	return First(rows, n)
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

// ReleaseOfOperation returns a function that returns the name of the HelmRelease of an Operation; empty if none
// of the HelmReleases is.
func ReleaseOfOperation(all []helmv2.HelmRelease) func(*opsv1alpha1.Operation) string {
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

// OperationText returns the state of an Operation, and its message without logs, in one phrase.
func OperationText(op *opsv1alpha1.Operation) string {
	state := ""
	switch phase := cmp.Or(op.Status.Phase, opsv1alpha1.PhasePending); phase {
	case opsv1alpha1.PhaseSucceeded, opsv1alpha1.PhaseFailed:
		state = strings.ToLower(string(phase))
	case opsv1alpha1.PhaseCancelled:
		state = "was cancelled"
	case opsv1alpha1.PhasePending, opsv1alpha1.PhaseRunning:
		state = "is " + strings.ToLower(string(phase))
	}
	text := fmt.Sprintf("Operation %s/%s %s", op.Namespace, op.Name, state)
	if why := message.WithoutLogs(OperationMessage(op)); why != "" {
		text += ": " + why
	}
	return text
}

// OperationMessage returns the message of the condition that matters most; empty without one.
func OperationMessage(op *opsv1alpha1.Operation) string {
	for _, kind := range []string{opsv1alpha1.ConditionFailed, opsv1alpha1.ConditionCancelled, opsv1alpha1.ConditionSucceeded, opsv1alpha1.ConditionBlocked, opsv1alpha1.ConditionRunning, opsv1alpha1.ConditionAccepted} {
		if c := apimeta.FindStatusCondition(op.Status.Conditions, kind); c != nil && (c.Status == metav1.ConditionTrue || kind == opsv1alpha1.ConditionAccepted) && c.Message != "" {
			return c.Message
		}
	}
	return ""
}
