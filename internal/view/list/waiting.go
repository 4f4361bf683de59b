// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// Wait is a kind of thing that a release waits for. Its text is for users.
type Wait string

// The kinds, in the order of lists: what needs a user comes first.
const (
	Approval   Wait = "approval"
	Freeze     Wait = "freeze"
	Hold       Wait = "end of a hold"
	Dependency Wait = "dependency"
	OfSource   Wait = "source"
	Server     Wait = "server"
	Policies   Wait = "policies"
	OfPlan     Wait = "plan"
	Operation  Wait = "Operation"
)

// WaitCount is a number of releases that wait for a kind of thing.
type WaitCount struct {
	Wait Wait
	N    int
}

func waits() []Wait {
	return []Wait{Approval, Freeze, Hold, Dependency, OfSource, Server, Policies, OfPlan, Operation}
}

// waitOf returns what a release of state Waiting or Held waits for.
func waitOf(hr *helmv2.HelmRelease, r *view.Release) Wait {
	switch {
	case r.State == view.Held:
		return Hold
	case apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionHeld):
		return Operation
	}
	switch r.Reason {
	case helmv2.ReasonAwaitingApproval:
		return Approval
	case helmv2.ReasonFrozen:
		return Freeze
	case helmv2.ReasonDependencyNotReady:
		return Dependency
	case helmv2.ReasonSourceNotReady:
		return OfSource
	case helmv2.ReasonPolicyUnavailable:
		return Policies
	case helmv2.ReasonPlanFailed:
		return OfPlan
	}
	return Server
}

// waitLine returns in one line what a release waits for. Where the name of an object is known, it is
// the line; else the message has it.
func waitLine(wait Wait, r *view.Release) string {
	switch wait {
	case Freeze, Server, Policies, OfPlan:
		return view.Line(r.Message)
	case Approval, Hold, Dependency, OfSource, Operation:
	}
	return r.WaitingFor
}
