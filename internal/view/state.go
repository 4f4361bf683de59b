// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// State is the state of a HelmRelease in one word.
type State string

// The states, in the order of lists: what needs attention comes first.
const (
	// Stalled needs a change: no action is tried until an input changes.
	Stalled State = "Stalled"
	// Failing is not ready, and is retried.
	Failing State = "Failing"
	// Rejected stays as it is, because a user has rejected the plan of its next action.
	Rejected State = "Rejected"
	// Waiting waits for an approval, a policy, a dependency, a source or a server.
	Waiting State = "Waiting"
	// Held is rolled back by annotation, and does not follow its spec.
	Held State = "Held"
	// Deleting is being uninstalled.
	Deleting State = "Deleting"
	// Progressing has a running action, or a spec that was not reconciled yet.
	Progressing State = "Progressing"
	// Suspended is left alone.
	Suspended State = "Suspended"
	// Ready is as specified.
	Ready State = "Ready"
)

// States returns all states, in the order of lists.
func States() []State {
	return []State{Stalled, Failing, Rejected, Waiting, Held, Deleting, Progressing, Suspended, Ready}
}

// rank returns the position of a state in lists.
func (s State) rank() int { return slices.Index(States(), s) }

// StateOf returns the state of a HelmRelease.
func StateOf(hr *helmv2.HelmRelease, now time.Time) State {
	conditions := hr.Status.Conditions
	ready := apimeta.FindStatusCondition(conditions, helmv2.ConditionReady)
	switch {
	case release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now).Active:
		return Suspended
	case !hr.DeletionTimestamp.IsZero():
		return Deleting
	case ready != nil && ready.Reason == helmv2.ReasonRejected:
		return Rejected
	case apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionStalled) && release.Rejected(hr.Status):
		// The action is tried again.
		return Failing
	case apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionStalled):
		return Stalled
	case ready != nil && ready.Reason == helmv2.ReasonSourceNotReady && apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionFailing):
		return Failing
	case apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionLocked), ready != nil && waitOf(ready.Reason) != "":
		return Waiting
	case ready != nil && ready.Status == metav1.ConditionFalse:
		return Failing
	case apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionRolledBack):
		return Held
	case ready == nil, ready.Status != metav1.ConditionTrue, apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionReconciling),
		hr.Status.ObservedGeneration != hr.Generation:
		return Progressing
	}
	return Ready
}
