// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// Turn is the answer whether a release may start in the rollouts of its policies.
type Turn struct {
	Free bool
	// Why is a sentence for users that states the place of the release, and what it waits for.
	Why string
}

// awaitRollout holds actions that take a new chart or new values, until it is the turn of the release.
func awaitRollout(in Input, d Decision) *Decision {
	if !slices.ContainsFunc(in.Desired.Demands.Rollouts, func(r policy.Rollout) bool { return takesNew(in, d.HelmAction(), r.By) }) {
		return nil
	}
	why := "its turn is not known"
	if turn := in.Observed.Turn; turn != nil {
		if turn.Free {
			return nil
		}
		why = turn.Why
	}
	return &Decision{
		Action: Wait{After: in.Desired.Policy.Interval, Gate: helmv2.ReasonAwaitingRollout},
		Why:    fmt.Sprintf("%s; the '%s' action waits", why, Name(d.Action)),
	}
}

// takesNew reports whether an action gives a release a chart or values that have not worked before. An
// uninstall before an install does: a release must not wait between both.
func takesNew(in Input, a HelmAction, by v1alpha1.RolloutBy) bool {
	switch a := a.(type) {
	case Install:
		return true
	case Upgrade:
		for i := range in.Observed.Revisions {
			if r := &in.Observed.Revisions[i]; r.Worked() {
				if by == v1alpha1.RolloutByValues {
					return r.ConfigDigest != configDigest(in)
				}
				return r.ChartName != in.Desired.Chart.Name || r.ChartVersion != in.Desired.Chart.Version
			}
		}
		return true
	case Uninstall:
		return !in.Desired.Deleted && !a.Remediation
	case Test, Rollback, Unlock, Recheck, FailBake, CorrectDrift:
	}
	return false
}

// Rollouts returns the rollouts in which a release needs a turn for its next action.
func Rollouts(in Input) []policy.Rollout {
	all := in.Desired.Demands.Rollouts
	in.Desired.Demands.Rollouts = nil
	action := Decide(in).HelmAction()
	var needed []policy.Rollout
	for _, r := range all {
		if takesNew(in, action, r.By) {
			needed = append(needed, r)
		}
	}
	return needed
}

// MustTakeTurn reports whether the decision depends on the turn of the release: nothing else holds its
// action.
func MustTakeTurn(in Input) bool {
	if len(in.Desired.Demands.Rollouts) == 0 {
		return false
	}
	// An override passes the gate only if it is not the turn of the release.
	in.Observed.Turn, in.Observed.Overridden = nil, false
	return Decide(in).Rule == RuleAwaitingRollout
}
