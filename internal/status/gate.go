// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// gated reports an action that a policy holds. The installed release does not change, and nothing
// counts as failed. Ready is Unknown: the desired state is not deployed, and that is no failure.
func gated(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	status := withRequestsHandled(hr)
	status.ObservedGeneration = hr.Generation
	status.History = updateSuperseded(status.History, in.Observed.Revisions)
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	c.set(helmv2.ConditionReady, metav1.ConditionUnknown, a.Gate, d.Why)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, a.Gate, d.Why)
	c.remove(helmv2.ConditionStalled, helmv2.ConditionSuspended, helmv2.ConditionHeld)
	status.Conditions = c.list
	r := Report{Status: status, Retry: release.Interval(a.After)}
	if a.Gate == helmv2.ReasonPolicyUnavailable {
		r.Retry = release.After(a.After)
	}
	if c.changed(helmv2.ConditionReady) {
		r.Events = append(r.Events, normal(a.Gate, d.Why, desiredMetadata(in.Desired)))
	}
	return r
}

// keepGate keeps Reconciling or Stalled while Ready says that a policy holds an action or refuses the
// chart. Other actions end meanwhile.
func (c *conditions) keepGate() {
	ready := c.get(helmv2.ConditionReady)
	switch {
	case ready.Status == metav1.ConditionFalse && ready.Reason == helmv2.ReasonPolicyRefused:
		c.set(helmv2.ConditionStalled, metav1.ConditionTrue, ready.Reason, ready.Message)
		c.remove(helmv2.ConditionReconciling)
	case ready.Status == metav1.ConditionUnknown && slices.Contains(release.Gates(), release.Rule(ready.Reason)):
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, ready.Reason, ready.Message)
	}
}
