// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// SnapshotScheme is the scheme of snapshots whose digest was computed by Pintle. It differs from
// helm-controller's "v2". Each controller skips the verification of digests of the other's scheme,
// so a release can change hands without an upgrade.
const SnapshotScheme = "pintle.dev/v2"

// HistoryLimit is the largest number of snapshots in status.history.
const HistoryLimit = 5

// Latest returns the snapshot with the highest revision, or nil.
func Latest(history helmv2.Snapshots) *helmv2.Snapshot {
	var latest *helmv2.Snapshot
	for _, s := range history {
		if s != nil && (latest == nil || s.Version > latest.Version) {
			latest = s
		}
	}
	return latest
}

// Verified reports whether the stored revision matches its snapshot, which may be older than the
// revision that has superseded it. A snapshot of an unknown scheme is trusted, and so is a snapshot
// of helm-controller with an unknown digest algorithm; see Proven.
func Verified(snapshot *helmv2.Snapshot, revision *Revision) bool {
	switch snapshot.APIVersion {
	case SnapshotScheme:
		if SupersededSince(snapshot, revision) && snapshot.Digest == revision.DeployedDigest {
			return true
		}
		return snapshot.Digest == revision.Digest
	case helmv2.SnapshotAPIVersionV2:
		return revision.HelmControllerDigest == "" || snapshot.Digest == revision.HelmControllerDigest
	}
	return true
}

// SupersededSince reports whether a revision was superseded after its snapshot was taken.
func SupersededSince(snapshot *helmv2.Snapshot, revision *Revision) bool {
	return snapshot.Status == helmv2.StatusDeployed && revision.Status == helmv2.StatusSuperseded
}

// StoredTarget returns the target of the stored release: the target in the spec or, for a
// HelmRelease that is being deleted or has moved, the recorded one.
func StoredTarget(want Desired, recorded helmv2.HelmReleaseStatus) Target {
	target := want.Target
	if !want.Deleted && targetChange(want, recorded) == "" {
		return target
	}
	if last := Latest(recorded.History); last != nil {
		target.Name, target.Namespace = last.Name, last.Namespace
	}
	if recorded.StorageNamespace != "" {
		target.StorageNamespace = recorded.StorageNamespace
	}
	return target
}

// MustReadHistory reports whether the decision could depend on the contents of Helm storage. It
// saves the read otherwise.
func MustReadHistory(want Desired, recorded helmv2.HelmReleaseStatus, running *Running) bool {
	switch {
	case running != nil, want.Suspension.Active && !want.Requests.PlanRequested(), want.Deleted && want.Deletion.Orphan:
		return false
	case want.Deleted:
		// An empty storage namespace means that no action was ever attempted.
		return recorded.StorageNamespace != ""
	}
	return true
}

// MustConfirm reports whether the decision finalizes a HelmRelease because storage has no release
// of its own. That is final, so it must be repeated with data from the API server instead of a
// cache.
func MustConfirm(in Input) bool {
	if !in.Desired.Deleted || in.Observed.Unreachable != "" || !MustReadHistory(in.Desired, in.Recorded, in.Observed.Running) {
		return false
	}
	_, final := decideGated(in).Action.(Finalize)
	return final
}

// MustRead reports whether a decision, or the status after it, can depend on fields of stored[i]
// that are unknown while the revision is Unread. stored holds all revisions, newest first. Only
// stored[0] must have been read, and i must be positive.
func MustRead(recorded helmv2.Snapshots, stored []Revision, i int) bool {
	newest, last := &stored[0], Latest(recorded)
	if newest.Status != helmv2.StatusDeployed || last == nil || testsFailed(last) ||
		last.Name != newest.Name || last.Namespace != newest.Namespace || last.Version != newest.Version || !Verified(last, newest) {
		// A revision will be recovered, taken over, or rolled back to.
		return true
	}
	for _, s := range recorded {
		if s != nil && s.Version == stored[i].Version && s.Name == stored[i].Name && s.Status != stored[i].Status {
			return true
		}
	}
	return false
}

// ResetCounters returns the status with zero failure counters if the desired inputs differ from the
// last attempt or a user requests it. Otherwise it returns the status unchanged.
func ResetCounters(status helmv2.HelmReleaseStatus, want Desired) helmv2.HelmReleaseStatus {
	if !sameInputs(status, want) || want.Requests.ResetRequested(&status) {
		ResetFailures(&status)
	}
	return status
}

// sameInputs reports whether the last attempt had the desired inputs.
func sameInputs(status helmv2.HelmReleaseStatus, want Desired) bool {
	return status.LastAttemptedGeneration == want.Generation &&
		status.LastAttemptedRevision == want.Chart.Version &&
		status.LastAttemptedConfigDigest == want.ConfigDigest
}

// ResetFailures sets all failure counters to zero.
func ResetFailures(status *helmv2.HelmReleaseStatus) {
	status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
}

// Previous returns the newest snapshot before the latest that was deployed and, unless ignoreTests
// is set, has no failed test. It returns nil if there is none.
func Previous(history helmv2.Snapshots, ignoreTests bool) *helmv2.Snapshot {
	sorted := newestFirst(history)
	for i, s := range sorted {
		worked := s.Status == helmv2.StatusDeployed || s.Status == helmv2.StatusSuperseded
		if i > 0 && worked && (ignoreTests || !testsFailed(s)) {
			return s
		}
	}
	return nil
}

// Truncate returns the newest snapshots of a history, newest first and at most five. It keeps all
// snapshots down to the rollback target, and the target itself in any case: a series of failures
// must not remove it.
func Truncate(history helmv2.Snapshots) helmv2.Snapshots {
	sorted := newestFirst(history)
	target := Previous(sorted, false)
	if target == nil {
		target = Previous(sorted, true)
	}
	for i, s := range sorted {
		if s == target {
			return append(sorted[:min(i, HistoryLimit-1)], s)
		}
	}
	return sorted[:min(len(sorted), HistoryLimit)]
}

// newestFirst returns a sorted copy without nil entries.
func newestFirst(history helmv2.Snapshots) helmv2.Snapshots {
	sorted := slices.DeleteFunc(slices.Clone(history), func(s *helmv2.Snapshot) bool { return s == nil })
	slices.SortFunc(sorted, func(a, b *helmv2.Snapshot) int { return b.Version - a.Version })
	return sorted
}

// Tested reports whether the tests of a revision ran to their end: all of them succeeded, or one
// failed and so prevented the others. It is false for nil.
func Tested(s *helmv2.Snapshot) bool {
	hooks, tested := s.GetTestHooks()
	if !tested || testsFailed(s) {
		return tested
	}
	for _, h := range hooks {
		if h == nil || h.Phase != helmv2.TestPhaseSucceeded {
			return false
		}
	}
	return true
}

// testsFailed reports whether a test of the revision failed. It is false for nil.
func testsFailed(s *helmv2.Snapshot) bool {
	hooks, _ := s.GetTestHooks()
	for _, h := range hooks {
		if h != nil && h.Phase == helmv2.TestPhaseFailed {
			return true
		}
	}
	return false
}

// Trust states how far a stored revision agrees with its snapshot in status.history. Every client
// with write access to Secrets can change a record. Only the controller writes status.
type Trust int

const (
	// Unrecorded is a revision without a snapshot.
	Unrecorded Trust = iota
	// Altered is a revision that differs from its snapshot.
	Altered
	// Unverifiable is a revision whose snapshot has a digest that cannot be computed here.
	Unverifiable
	// VerifiedWithoutTests is a revision that agrees with its snapshot, which does not cover
	// the hooks of its tests.
	VerifiedWithoutTests
	// VerifiedInFull is a revision that agrees with its snapshot.
	VerifiedInFull
)

// TrustOf compares a stored revision with its snapshot. labelled has the fields from the labels of
// the record. Those labels select the record, and no digest covers them.
func TrustOf(history helmv2.Snapshots, labelled, stored *Revision) Trust {
	if labelled.Name != stored.Name || labelled.Version != stored.Version || labelled.Status != stored.Status {
		return Altered
	}
	i := slices.IndexFunc(history, func(s *helmv2.Snapshot) bool { return s != nil && s.Name == stored.Name && s.Version == stored.Version })
	if i < 0 {
		return Unrecorded
	}
	s := history[i]
	known := s.APIVersion == SnapshotScheme || s.APIVersion == helmv2.SnapshotAPIVersionV2 && stored.HelmControllerDigest != ""
	switch {
	case s.Namespace != stored.Namespace:
		return Altered
	case !known:
		return Unverifiable
	case !Verified(s, stored):
		return Altered
	case s.APIVersion != SnapshotScheme:
		return VerifiedWithoutTests
	}
	return VerifiedInFull
}

// Proves reports whether a history contains a stored revision with its digest. Unlike Verified, it
// trusts no unknown scheme.
func Proves(history helmv2.Snapshots, stored *Revision) bool {
	if stored.Unread {
		return false
	}
	trust := TrustOf(history, stored, stored)
	return trust == VerifiedWithoutTests || trust == VerifiedInFull
}

// MustReadProof reports whether a stored revision must be read to know whether a history proves it.
// The digest of helm-controller depends on the snapshot.
func MustReadProof(history helmv2.Snapshots, stored *Revision) bool {
	i := slices.IndexFunc(history, func(s *helmv2.Snapshot) bool { return s != nil && s.Name == stored.Name && s.Version == stored.Version })
	return i >= 0 && (stored.Unread || history[i].APIVersion == helmv2.SnapshotAPIVersionV2 && !Proves(history, stored))
}

// MayBeRecorded reports whether a revision without a snapshot may still get one: it is newer than
// all snapshots.
func MayBeRecorded(history helmv2.Snapshots, version int) bool {
	last := Latest(history)
	return last == nil || last.Version < version
}

// FailedSince returns the number of the deployed revision, 0 if there is none, and the numbers of
// the revisions after it, oldest first. These have failed or were interrupted: no other action
// follows a deployed revision before the next one is deployed. Revisions from number before on are
// ignored, and 0 ignores none.
//
// If no revision is deployed, a superseded one has its place, or one that was deployed when its
// uninstall started. An uninstalled revision has no objects: the number is 0 then, and only later
// revisions are returned.
func FailedSince(stored []Revision, before int) (deployed int, failed []int) {
	var latest *Revision
	for i := range stored {
		r := &stored[i]
		if before > 0 && r.Version >= before || !wasDeployed(r) {
			continue
		}
		isDeployed := r.Status == helmv2.StatusDeployed
		if latest == nil || isDeployed && latest.Status != helmv2.StatusDeployed ||
			isDeployed == (latest.Status == helmv2.StatusDeployed) && r.Version > latest.Version {
			latest = r
		}
	}
	ended := 0
	if latest != nil {
		ended = latest.Version
		if latest.Status != helmv2.StatusUninstalled {
			deployed = ended
		}
	}
	for i := range stored {
		if v := stored[i].Version; v > ended && (before == 0 || v < before) {
			failed = append(failed, v)
		}
	}
	slices.Sort(failed)
	return deployed, failed
}

// ProvenSince is FailedSince for an action that deletes objects of the returned revisions. A deployed
// revision that is not proven counts as a later one, and the last proven one before it as deployed.
// taken are the deployed revisions that count as later ones.
func ProvenSince(stored []Revision, before int, proven func(version int) (bool, error)) (deployed int, later, taken []int, err error) {
	deployed, later = FailedSince(stored, before)
	for deployed > 0 {
		is, err := proven(deployed)
		if is || err != nil {
			return deployed, later, taken, err
		}
		later, taken = append([]int{deployed}, later...), append(taken, deployed)
		deployed, _ = FailedSince(stored, deployed)
	}
	return deployed, later, taken, nil
}

// wasDeployed reports whether a revision is or was deployed, as far as its status shows.
func wasDeployed(r *Revision) bool {
	switch r.Status {
	case helmv2.StatusDeployed, helmv2.StatusUninstalled:
		return true
	case helmv2.StatusSuperseded, helmv2.StatusUninstalling:
		return !r.Undeployed
	case helmv2.StatusFailed, helmv2.StatusPendingInstall, helmv2.StatusPendingUpgrade, helmv2.StatusPendingRollback, helmv2.StatusUnknown:
	}
	return false
}
