// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Change is what a write of conditions changes for people who follow the log.
type Change struct {
	// Problem is true for a new failure, obstacle or stall, which is logged at level error.
	Problem bool
	// Recovered is true if the last problem has ended.
	Recovered bool
	// Stalled is true if no retry follows.
	Stalled bool
	// Reason and Message of the condition.
	Reason, Message string
}

// problem is a failure, an obstacle or a stall that conditions report.
type problem struct{ kind, reason, message string }

// ChangeOf compares the conditions of an object before and after a reconciliation. A problem that
// the conditions have already reported is not new, even while an action retries.
func ChangeOf(about Object, before, after []metav1.Condition) Change {
	was, is := problems(about, before), problems(about, after)
	for _, p := range is {
		if !slices.Contains(was, p) {
			stalled := apimeta.IsStatusConditionTrue(after, helmv2.ConditionStalled)
			return Change{Problem: true, Stalled: stalled, Reason: p.reason, Message: p.message}
		}
	}
	ready := apimeta.FindStatusCondition(after, helmv2.ConditionReady)
	if len(was) > 0 && len(is) == 0 && ready != nil && ready.Status == metav1.ConditionTrue {
		return Change{Recovered: true, Reason: ready.Reason, Message: ready.Message}
	}
	return Change{}
}

// results returns the types of the conditions about the results of actions.
func results() []string {
	return []string{helmv2.ConditionReleased, helmv2.ConditionTestSuccess, helmv2.ConditionRemediated, helmv2.ConditionRolledBack}
}

// problems returns the problems that conditions report, the most important one first.
func problems(about Object, all []metav1.Condition) []problem {
	if about == Operation {
		return operationProblems(all)
	}
	var found []problem
	summarized := map[string]bool{}
	for _, kind := range results() {
		c := apimeta.FindStatusCondition(all, kind)
		if c == nil {
			continue
		}
		summarized[c.Reason] = true
		if c.Status == metav1.ConditionFalse && failure(c.Reason) {
			found = append(found, problem{kind, c.Reason, c.Message})
		}
	}
	ready := apimeta.FindStatusCondition(all, helmv2.ConditionReady)
	if ready != nil && isProblem(about, ready) && !summarized[ready.Reason] {
		found = append(found, problem{ready.Type, ready.Reason, ready.Message})
	}
	if drifted := apimeta.FindStatusCondition(all, helmv2.ConditionDrifted); drifted != nil && drifted.Status == metav1.ConditionUnknown {
		found = append(found, problem{drifted.Type, drifted.Reason, drifted.Message})
	}
	stalled := apimeta.FindStatusCondition(all, helmv2.ConditionStalled)
	if stalled != nil && stalled.Status == metav1.ConditionTrue {
		found = append(found, problem{stalled.Type, stalled.Reason, stalled.Message})
	}
	return found
}

// isProblem reports whether Ready reports a problem. Ready is Unknown while an action runs or waits,
// and even if the policies cannot be read, which is a problem.
func isProblem(about Object, ready *metav1.Condition) bool {
	if Waits(about, ready.Reason) {
		return false
	}
	return ready.Status == metav1.ConditionFalse || ready.Status == metav1.ConditionUnknown && hasRow(about, ready.Reason)
}

// failure reports whether a reason of a condition about results means a failure. An uninstall and
// the end of a hold are no failures.
func failure(reason string) bool {
	return reason != helmv2.ReasonUninstallSucceeded && reason != helmv2.ReasonRollbackExpired
}

// operationProblems returns the problems of an Operation.
func operationProblems(all []metav1.Condition) []problem {
	var found []problem
	for _, kind := range []string{opsv1alpha1.ConditionFailed, opsv1alpha1.ConditionBlocked} {
		c := apimeta.FindStatusCondition(all, kind)
		if c != nil && c.Status == metav1.ConditionTrue && (kind == opsv1alpha1.ConditionFailed || !Waits(Operation, c.Reason)) {
			found = append(found, problem{kind, c.Reason, WithoutLogs(c.Message)})
		}
	}
	return found
}
