// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import "github.com/pintle-dev/pintle/internal/view"

// WaitCount is a number of releases that wait for a kind of thing.
type WaitCount struct {
	Wait view.Wait
	N    int
}

// waitLine returns in one line what a release waits for. Where the name of an object is known, it is
// the line; else the message has it.
func waitLine(wait view.Wait, r *view.Release) string {
	switch wait {
	case view.WaitForChange, view.WaitForFreeze, view.WaitForRollout, view.WaitForBake, view.WaitForServer, view.WaitForRetry, view.WaitForPolicies, view.WaitForPlan:
		return view.Line(r.Message)
	case view.WaitForApproval, view.WaitForHold, view.WaitForDependency, view.WaitForSource, view.WaitForOperation:
	}
	return r.WaitingFor
}
