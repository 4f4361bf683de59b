// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "slices"

// Fact names a part of the observed state that costs a read.
type Fact string

// The facts, in the order in which they are read.
const (
	// FactDependents is Observed.Dependents.
	FactDependents Fact = "dependents"
	// FactConnection is the connection to the cluster of the release, and Observed.Unreachable. All
	// facts up to FactDrift need the connection.
	FactConnection Fact = "connection"
	// FactRevisions are the stored revisions, which may come from a cache, and the HelmReleases that
	// request or created the release. FactConfirmation is the same, as the API server has it.
	FactRevisions    Fact = "revisions"
	FactConfirmation Fact = "confirmation"
	// FactRevision is the revision that MustReadRevision names, in full and as the API server has it.
	FactRevision Fact = "revision"
	// FactTarget is Observed.Target.
	FactTarget Fact = "target"
	// FactPreserved is Observed.PreservedDigest.
	FactPreserved Fact = "preserved"
	// FactHealth is Observed.Health.
	FactHealth Fact = "health"
	// FactBake is Observed.Bake.
	FactBake Fact = "bake"
	// FactDrift is Observed.Renderings and then Observed.Drift.
	FactDrift Fact = "drift"
	// FactDebounce is Observed.Debounce.
	FactDebounce Fact = "debounce"
	// FactNamespace is Observed.Terminating.
	FactNamespace Fact = "namespace"
	// FactPlan is Observed.Plan: the plan of the action that PlannedAction returns, if it was computed
	// and is up to date.
	FactPlan Fact = "plan"
	// FactTurn is Observed.Turn. Reading it takes the turn, if it is free.
	FactTurn Fact = "turn"
)

// facts returns all facts, each with the condition under which the decision depends on it. A
// condition uses the facts before.
func facts() []need {
	return []need{
		{FactDependents, MustFindDependents},
		{FactConnection, mustConnect},
		{FactRevisions, connected},
		{FactConfirmation, func(in Input) bool { return connected(in) && MustConfirm(in) }},
		{FactRevision, func(in Input) bool { return connected(in) && MustReadRevision(in) > 0 }},
		{FactTarget, func(in Input) bool { return connected(in) && MustCheckTarget(in) }},
		{FactPreserved, func(in Input) bool {
			return in.Desired.Policy.PreserveValues && len(in.Observed.Revisions) > 0 && stays(in)
		}},
		{FactHealth, func(in Input) bool { return MustInspect(in) && stays(in) && !MustCompare(in) }},
		{FactBake, func(in Input) bool { return MustLookAtBake(in) && stays(in) }},
		{FactDrift, func(in Input) bool { return MustCompare(in) && stays(in) }},
		{FactDebounce, func(Input) bool { return true }},
		{FactNamespace, MustFindNamespace},
		{FactPlan, func(in Input) bool { return PlannedAction(in) != nil }},
		{FactTurn, MustTakeTurn},
	}
}

type need struct {
	fact Fact
	is   func(Input) bool
}

// Next returns the fact to read after another one, or the first if after is empty. It returns an
// empty one if the decision depends on no other. in has the parts of the observed state that need no
// read: the running attempt, Operations and the size limit.
func Next(in Input, after Fact) Fact {
	all := facts()
	left := all[1+slices.IndexFunc(all, func(n need) bool { return n.fact == after }):]
	if i := slices.IndexFunc(left, func(n need) bool { return n.is(in) }); i >= 0 {
		return left[i].fact
	}
	return ""
}

// Observe returns in with all facts that the decision depends on. read returns in with one fact. Its
// error ends the observation.
func Observe(in Input, read func(Input, Fact) (Input, error)) (Input, error) {
	return ObserveAfter(in, "", read)
}

// ObserveAfter returns in with the facts after another one.
func ObserveAfter(in Input, after Fact, read func(Input, Fact) (Input, error)) (Input, error) {
	for fact := Next(in, after); fact != ""; fact = Next(in, fact) {
		var err error
		if in, err = read(in, fact); err != nil {
			return in, err
		}
	}
	return in, nil
}

func mustConnect(in Input) bool { return MustReadHistory(in.Desired, in.Recorded, in.Observed.Running) }

// connected reports whether the release is read by a connection.
func connected(in Input) bool { return mustConnect(in) && in.Observed.Unreachable == "" }

// stays reports whether the release does not move to another target, so that its newest revision may
// stay.
func stays(in Input) bool {
	return connected(in) && in.Observed.Target == nil && !MustCheckTarget(in)
}

// PlannedAction returns the action whose plan the decision depends on, or a user requests; nil if there
// is none.
func PlannedAction(in Input) HelmAction {
	in.Observed.Plan = nil
	planned, _ := Decide(in).Action.(ComputePlan)
	return planned.Of
}

// WithRevisions returns in with stored revisions and the HelmReleases that request the release. What
// nothing proves is not believed.
func (in Input) WithRevisions(stored []Revision, conflicts []Conflict) Input {
	in.Observed.Stray, in.Observed.Conflicts = nil, conflicts
	in.Observed.Revisions = BelieveAll(stored, in.Desired.UID, in.Recorded.History)
	in.Desired.Policy = in.Desired.Policy.KeepingClaims(in.Observed.Revisions)
	return in
}

// WithStray returns in with the revisions of an interrupted install whose target is not recorded. The
// HelmRelease itself made the newest one, so that no other HelmRelease requests that release.
func (in Input) WithStray(target *Target, stored []Revision) Input {
	in = in.WithRevisions(stored, nil)
	in.Observed.Stray = target
	return in
}

// WithRevision returns in with a stored revision in full, or without the revision if found is nil: it
// is no longer stored.
func (in Input) WithRevision(version int, found *Revision) Input {
	all := slices.DeleteFunc(slices.Clone(in.Observed.Revisions), func(r Revision) bool { return r.Version == version })
	if found != nil {
		all = append(all, Believe(*found, in.Desired.UID, in.Recorded.History))
		SortNewestFirst(all)
	}
	in.Observed.Revisions = all
	return in
}
