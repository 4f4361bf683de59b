// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// SnapshotScheme marks the snapshots whose digest was computed by this program.
// It must differ from the reference's "v2": each side skips the verification of
// a digest it did not make, which is what lets a release change hands without
// an upgrade.
const SnapshotScheme = "pintle.dev/v2"

// historyLimit is how many snapshots stay at most.
const historyLimit = 5

// Latest returns the snapshot with the highest revision, nil if there is none.
func Latest(history helmv2.Snapshots) *helmv2.Snapshot {
	var latest *helmv2.Snapshot
	for _, s := range history {
		if s != nil && (latest == nil || s.Version > latest.Version) {
			latest = s
		}
	}
	return latest
}

// Verified reports whether the stored revision still is what the snapshot
// describes. A snapshot of a scheme that is not known is taken on trust, as is one
// of the reference's whose algorithm is not known.
func Verified(snapshot *helmv2.Snapshot, revision *Revision) bool {
	switch snapshot.APIVersion {
	case SnapshotScheme:
		return snapshot.Digest == revision.Digest
	case helmv2.SnapshotAPIVersionV2:
		return revision.HelmControllerDigest == "" || snapshot.Digest == revision.HelmControllerDigest
	}
	return true
}

// StoredTarget returns where the release to look at lives: where the spec says,
// except for an object that is being deleted or has moved, whose release is where
// it was recorded to be.
func StoredTarget(want Desired, recorded helmv2.HelmReleaseStatus) Target {
	target := want.Target
	if !want.Deleted && moved(want, recorded) == "" {
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

// MustReadHistory reports whether the decision could depend on what Helm
// storage holds. It saves the read where it could not.
func MustReadHistory(want Desired, recorded helmv2.HelmReleaseStatus, running *Running) bool {
	switch {
	case running != nil, want.Suspended, want.Deleted && want.Deletion.Orphan:
		return false
	case want.Deleted:
		// An empty storage namespace means that nothing was ever attempted.
		return recorded.StorageNamespace != ""
	}
	return true
}

// MustConfirm reports whether the decision lets a HelmRelease go because no release of its
// own is stored. Nothing looks for the release afterwards, so that is decided again on what
// the API server answers, and never on a cache alone.
func MustConfirm(in Input) bool {
	if !in.Desired.Deleted || in.Observed.Unreachable != "" || !MustReadHistory(in.Desired, in.Recorded, in.Observed.Running) {
		return false
	}
	_, final := Decide(in).Action.(Finalize)
	return final
}

// MustRead reports whether a decision, or what is written down after it, can depend
// on more of the revision at index i than Revision tells of one that is Unread.
// Stored are all revisions, newest first; only the first has to have been read, and
// i is greater than zero.
func MustRead(recorded helmv2.Snapshots, stored []Revision, i int) bool {
	newest, last := &stored[0], Latest(recorded)
	if newest.Status != helmv2.StatusDeployed || last == nil || testsFailed(last) ||
		last.Name != newest.Name || last.Namespace != newest.Namespace || last.Version != newest.Version || !Verified(last, newest) {
		// Something is to be recovered, taken over, or returned to.
		return true
	}
	for _, s := range recorded {
		if s != nil && s.Version == stored[i].Version && s.Name == stored[i].Name && s.Status != stored[i].Status {
			return true
		}
	}
	return false
}

// ResetCounters returns the status with its failure counters at zero if what is
// wanted differs from what was last attempted or a user asks for it, and
// unchanged otherwise.
func ResetCounters(status helmv2.HelmReleaseStatus, want Desired) helmv2.HelmReleaseStatus {
	if status.LastAttemptedGeneration != want.Generation ||
		status.LastAttemptedRevision != want.Chart.Version ||
		status.LastAttemptedConfigDigest != want.ConfigDigest ||
		want.Requests.ResetRequested(&status) {
		status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
	}
	return status
}

// Previous returns the newest snapshot older than the latest that was deployed
// once and, unless tests are ignored, has no failed test; nil if there is none.
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

// Truncate keeps a history short, newest first: everything down to the newest
// older snapshot that can be returned to, and never more than five. That one
// stays in any case: failures in a row must not push it out.
func Truncate(history helmv2.Snapshots) helmv2.Snapshots {
	sorted := newestFirst(history)
	target := Previous(sorted, false)
	if target == nil {
		target = Previous(sorted, true)
	}
	for i, s := range sorted {
		if s == target {
			return append(sorted[:min(i, historyLimit-1)], s)
		}
	}
	return sorted[:min(len(sorted), historyLimit)]
}

// newestFirst returns a sorted copy without empty entries.
func newestFirst(history helmv2.Snapshots) helmv2.Snapshots {
	sorted := slices.DeleteFunc(slices.Clone(history), func(s *helmv2.Snapshot) bool { return s == nil })
	slices.SortFunc(sorted, func(a, b *helmv2.Snapshot) int { return b.Version - a.Version })
	return sorted
}

// Tested reports whether a revision's tests were run to an end: all of them
// succeeded, or one failed, which keeps the others from being run. Nil was not
// tested.
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

func testsFailed(s *helmv2.Snapshot) bool {
	hooks, _ := s.GetTestHooks()
	for _, h := range hooks {
		if h != nil && h.Phase == helmv2.TestPhaseFailed {
			return true
		}
	}
	return false
}
