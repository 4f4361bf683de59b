// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Observed is what was found in the cluster.
type Observed struct {
	// Revisions in Helm storage, newest first; empty when there are none.
	Revisions []Revision
	// Running describes the attempt that this process runs on the release at
	// the moment; nil when there is none.
	Running *Running
	// Health of the objects of the newest revision; nil when not inspected.
	Health *Health
	// Drift is how live objects differ from the newest revision; nil when they were not
	// compared.
	Drift *Drift
	// Rivals are other living HelmReleases that ask for the same release, or made
	// what is stored of it, in no order.
	Conflicts []Conflict
	// PreservedDigest is of the values an upgrade would record that keeps those of
	// the newest revision; empty unless Policy.PreserveValues.
	PreservedDigest string
	// Inventory lists the objects of the newest revision if it is to be adopted;
	// nil if it cannot be told.
	Inventory []Object
	// Holder is the living Operation that has the release to itself, and Next one that
	// waits for it to be free; nil if there is none.
	LockHolder       *Operation
	WaitingOperation *Operation
	// Dependents are those that depend on a HelmRelease that is being deleted, by name;
	// nil unless it is.
	Dependents []Dependent
	// Refusal is what this process was last refused for the size of its record; nil if
	// nothing was, or something was made since.
	Oversized *Oversized
	// Burst are the latest changes of what is applied together with the HelmRelease;
	// nil if there were none.
	Debounce *Debounce
	// Target is the result of checking the target of the present spec; nil if it was not
	// checked.
	Target *TargetCheck
	// Stray is where Revisions are stored if that is neither in the spec nor in status;
	// see MustFindStray. Nil otherwise.
	Stray *Target
	// Unreachable says why the cluster of the release cannot be reached any more,
	// for good: an object that leads there does not exist, and the namespace of the
	// HelmRelease is being deleted. Empty if it can.
	Unreachable string
}

// Health is what one look at the objects of a revision found.
type Health struct {
	// Ready is true if every object is ready.
	Ready bool
	// Waiting names what is not, and why.
	Waiting []string
}

// Operation is one that runs a hook of the release, or is about to.
type Operation struct{ Name string }

// Rival is another HelmRelease that asks for, or made, the same release: the same
// name in the same storage namespace of the same cluster.
type Conflict struct {
	UID       string
	Namespace string
	Name      string
	Created   time.Time
	// Elsewhere is true if it asks for another release by now.
	Elsewhere bool
}

// Newest returns the revision with the highest number, nil when nothing is
// stored.
func (o Observed) Newest() *Revision {
	if len(o.Revisions) == 0 {
		return nil
	}
	return &o.Revisions[0]
}

// Running is an attempt in progress.
type Running struct {
	Action helmv2.ReleaseAction
	// Generation of the spec it was announced for.
	Generation int64
	Started    time.Time
	// Desired is what it was announced for.
	Desired Desired
}

// Revision is one revision in Helm storage, reduced to what decisions and
// status need.
type Revision struct {
	// Unread is true of an older revision that nothing depends on: all that is known
	// of it are its name and number, status, owner, the four marks below, and when it
	// was modified.
	Unread    bool
	Name      string
	Namespace string
	Version   int
	Status    helmv2.ReleaseStatus
	// Description is Helm's own sentence about the revision; for a failed one
	// it holds the error.
	Description  string
	ChartName    string
	ChartVersion string
	AppVersion   string
	// ConfigDigest is over the values Helm stored with the revision.
	ConfigDigest string
	// Digest is over everything a person could have changed through Helm; see
	// SnapshotScheme.
	Digest        string
	FirstDeployed time.Time
	LastDeployed  time.Time
	Deleted       time.Time
	// Modified is the last write of the record; zero when storage does not say.
	Modified time.Time
	// Owner is the UID of the HelmRelease that created this very revision;
	// empty for a revision made by anyone else. Helm copies labels from one
	// revision to the next, so whoever fills this in must have checked that the
	// stamp names this revision's own number.
	Owner string
	// Interrupted is true for a failed revision whose action was cut off, by a
	// shutdown or a crash. It is no failure of the release.
	Interrupted bool
	// Superseded is true for a failed revision whose wait was given up because
	// something else was wanted in the meantime. It is no failure either.
	Outdated bool
	// Rollback is true if a rollback made the revision.
	Rollback bool
	// Applied is true if all objects of the revision had been applied when its
	// wait began.
	Applied bool
	// PostInstall, PostUpgrade and PostRollback are true if the revision has hooks
	// that run after its objects are ready.
	PostInstall  bool
	PostUpgrade  bool
	PostRollback bool
	// Tests are the revision's test hooks by name, with their last run; nil if it
	// has none.
	Tests map[string]TestRun
	// ReferenceDigest is the digest the reference computes over the stored record;
	// empty if it cannot be.
	HelmControllerDigest string
}

// TestRun is the last run of one test; its zero value is a test that never ran.
type TestRun struct {
	Started   time.Time
	Completed time.Time
	Phase     helmv2.TestPhase
}

// Pending reports whether Helm believes an operation on the revision is under
// way.
func (r *Revision) Pending() bool {
	return r.Status == helmv2.StatusPendingInstall ||
		r.Status == helmv2.StatusPendingUpgrade ||
		r.Status == helmv2.StatusPendingRollback
}

// CutOff reports whether the revision failed only because its action was not
// allowed to end.
func (r *Revision) EndedEarly() bool { return r.Interrupted || r.Outdated }

// Touched is the latest moment at which somebody is known to have written the
// revision.
func (r *Revision) LastWritten() time.Time {
	if r.Modified.IsZero() {
		return r.LastDeployed
	}
	return r.Modified
}

// SortNewestFirst orders revisions as Observed wants them, in place.
func SortNewestFirst(revisions []Revision) {
	slices.SortFunc(revisions, func(a, b Revision) int { return b.Version - a.Version })
}
