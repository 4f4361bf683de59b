// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"
)

// Reconciler performs the steps of a reconciliation. R is the result of a reconciliation.
type Reconciler[R any] interface {
	// Record ends the reconciliation with the outcome of an action. It reports false if no action
	// has ended.
	Record() (result R, ended bool, err error)
	// Inputs returns the desired and the recorded state, and the parts of the observed state that
	// need no reads of the release.
	Inputs() (Input, error)
	Observer
	Ender[R]
}

// Ender ends reconciliations.
type Ender[R any] interface {
	// Cached ends the reconciliation of a release that counts as in sync for some time.
	Cached(in Input, left time.Duration) (R, error)
	// Blocked ends the reconciliation with an obstacle.
	Blocked(err error) (R, error)
	// Act announces an action and begins it.
	Act(in Input, d Decision) (R, error)
	// Settle ends the reconciliation with a decision that runs no action.
	Settle(in Input, d Decision) (R, error)
}

// Reconcile performs the steps of one reconciliation in their order.
func Reconcile[R any](r Reconciler[R]) (R, error) {
	if result, ended, err := r.Record(); ended || err != nil {
		return result, err
	}
	in, err := r.Inputs()
	if err != nil {
		return r.Blocked(err)
	}
	if left := CachedFor(in); left > 0 {
		return r.Cached(in, left)
	}
	if in, err = Observe(in, r); err != nil {
		return r.Blocked(err)
	}
	d := Decide(in)
	if d.Acts() {
		return r.Act(in, d)
	}
	return r.Settle(in, d)
}

// Observer reads the observed state of a release. Observe calls its methods.
type Observer interface {
	// Dependents returns the HelmReleases that depend on one that is being deleted.
	Dependents() []Dependent
	RevisionReader
	// Target checks whether the release can be installed at the target in the spec.
	Target(in Input) (*TargetCheck, error)
	Inspector
	WaitReader
}

// WaitReader reads what the next action may have to wait for.
type WaitReader interface {
	// Debounce returns recent changes of inputs; nil if there were none.
	Debounce(in Input) *Debounce
	// Terminating reports whether the namespace of the HelmRelease is being deleted.
	Terminating() bool
	// Plan returns the plan of an action. It computes the plan if there is none, or if it is out of
	// date.
	Plan(in Input, a HelmAction) (*Plan, error)
}

// RevisionReader reads the stored revisions of a release.
type RevisionReader interface {
	// Connect opens the connection to the cluster of the release. unreachable states why the
	// cluster can never be reached again; it is empty otherwise.
	Connect() (unreachable string, err error)
	// History returns the stored revisions, and the HelmReleases that request the release. live
	// requires data from the API server instead of a cache.
	History(in Input, live bool) ([]Revision, []Conflict, error)
	// Revision returns a stored revision in full, as the API server has it; nil if there is none.
	Revision(in Input, version int) (*Revision, error)
	// Stray returns the target and the revisions of an interrupted install whose target is not
	// recorded; nil if there is none.
	Stray(in Input) (*Target, []Revision, error)
	// Makers returns the conflicts of in, with those of the HelmReleases that created revisions.
	Makers(in Input) ([]Conflict, error)
}

// Inspector compares the newest revision with the cluster.
type Inspector interface {
	// PreservedDigest returns the digest of the values that an upgrade with preserved values would
	// store.
	PreservedDigest(in Input) (string, error)
	// Renderings returns how the chart of the newest revision has rendered so far.
	Renderings(in Input) Renderings
	// Drift compares live objects with the newest revision.
	Drift(in Input) (*Drift, error)
	// Health inspects the objects of the newest revision.
	Health(in Input) (*Health, error)
}

// Observe returns in with the observed state. It reads each part only if the decision can depend on
// it. in has the parts that need no reads: the running attempt, Operations and the size limit.
func Observe(in Input, o Observer) (Input, error) {
	if MustFindDependents(in) {
		in.Observed.Dependents = o.Dependents()
	}
	if MustReadHistory(in.Desired, in.Recorded, in.Observed.Running) {
		var err error
		if in.Observed.Unreachable, err = o.Connect(); err != nil {
			return in, err
		}
		if in.Observed.Unreachable == "" {
			if in, err = observeRelease(in, o); err != nil {
				return in, err
			}
		}
	}
	in.Observed.Debounce = o.Debounce(in)
	return observePlan(in, o)
}

// observePlan returns in with the plan of the next action, if the decision depends on it or a user
// requests it.
func observePlan(in Input, o WaitReader) (Input, error) {
	if MustFindNamespace(in) {
		in.Observed.Terminating = o.Terminating()
	}
	action, needed := MustPlan(in)
	if requested, asked := PlanRequested(in); asked {
		action, needed = requested, true
	}
	if !needed {
		return in, nil
	}
	var err error
	in.Observed.Plan, err = o.Plan(in, action)
	return in, err
}

// observeRelease returns in with the parts of the observed state that need a connection.
func observeRelease(in Input, o Observer) (Input, error) {
	in, err := observeHistory(in, o, false)
	if err == nil && MustConfirm(in) {
		in, err = observeHistory(in, o, true)
	}
	if err != nil {
		return in, err
	}
	if version := MustReadRevision(in); version > 0 {
		if in, err = observeRevision(in, o, version); err != nil {
			return in, err
		}
	}
	if MustCheckTarget(in) {
		in.Observed.Target, err = o.Target(in)
		return in, err
	}
	if in.Desired.Policy.PreserveValues && len(in.Observed.Revisions) > 0 {
		if in.Observed.PreservedDigest, err = o.PreservedDigest(in); err != nil {
			return in, err
		}
	}
	if MustCompare(in) {
		in.Observed.Renderings = o.Renderings(in)
		in.Observed.Drift, err = o.Drift(in)
		return in, err
	}
	if MustInspect(in) {
		in.Observed.Health, err = o.Health(in)
	}
	return in, err
}

// observeHistory returns in with the stored revisions and conflicts. The HelmRelease itself made
// the newest revision of a stray release, so that no other one requests that release.
func observeHistory(in Input, o Observer, live bool) (Input, error) {
	have := &in.Observed
	var err error
	have.Stray = nil
	if have.Revisions, have.Conflicts, err = o.History(in, live); err != nil {
		return in, err
	}
	if MustFindStray(in) {
		stray, revisions, err := o.Stray(in)
		if err != nil {
			return in, err
		}
		if stray != nil {
			have.Stray, have.Revisions, have.Conflicts = stray, revisions, nil
		}
	}
	have.Revisions = BelieveAll(have.Revisions, in.Desired.UID, in.Recorded.History)
	have.Conflicts, err = o.Makers(in)
	return in, err
}

// observeRevision returns in with one stored revision in full, or without it if it is not stored any
// more.
func observeRevision(in Input, o RevisionReader, version int) (Input, error) {
	found, err := o.Revision(in, version)
	if err != nil {
		return in, err
	}
	all := slices.DeleteFunc(slices.Clone(in.Observed.Revisions), func(r Revision) bool { return r.Version == version })
	if found != nil {
		all = append(all, Believe(*found, in.Desired.UID, in.Recorded.History))
		SortNewestFirst(all)
	}
	in.Observed.Revisions = all
	return in, nil
}
