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
const SnapshotScheme = "pintle.dev/v1"

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
// describes. A snapshot of a foreign scheme is taken on trust.
func Verified(snapshot *helmv2.Snapshot, revision *Revision) bool {
	return snapshot.APIVersion != SnapshotScheme || snapshot.Digest == revision.Digest
}

// StoredTarget returns where the release to look at lives: where the spec says,
// except for an object being deleted, whose release is where it was recorded to
// be, whatever the spec has become since.
func StoredTarget(want Desired, recorded helmv2.HelmReleaseStatus) Target {
	target := want.Target
	if !want.Deleted {
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
	case running != nil, want.Suspended:
		return false
	case want.Deleted:
		// An empty storage namespace means that nothing was ever attempted.
		return recorded.StorageNamespace != ""
	}
	return true
}

// ResetCounters returns the status with its failure counters at zero if what is
// wanted differs from what was last attempted or a user asks for it, and
// unchanged otherwise.
func ResetCounters(status helmv2.HelmReleaseStatus, want Desired) helmv2.HelmReleaseStatus {
	if status.LastAttemptedGeneration != want.Generation ||
		status.LastAttemptedRevision != want.Chart.Version ||
		status.LastAttemptedConfigDigest != want.ConfigDigest ||
		want.Requests.ResetAsked(&status) {
		status.Failures, status.InstallFailures, status.UpgradeFailures = 0, 0, 0
	}
	return status
}

// Truncate keeps a history short, newest first: everything down to the newest
// older snapshot that was deployed once, and never more than five. That one
// stays in any case: failures in a row must not push out what can be returned
// to.
func Truncate(history helmv2.Snapshots) helmv2.Snapshots {
	sorted := slices.Clone(history)
	slices.SortFunc(sorted, func(a, b *helmv2.Snapshot) int { return b.Version - a.Version })
	for i, s := range sorted {
		if i > 0 && (s.Status == helmv2.StatusDeployed || s.Status == helmv2.StatusSuperseded) {
			return append(sorted[:min(i, historyLimit-1)], s)
		}
	}
	return sorted[:min(len(sorted), historyLimit)]
}
