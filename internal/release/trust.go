// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Trust says how far a stored revision agrees with its snapshot in status.history. Every client
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

// MayBeRecorded reports whether a revision without a snapshot may still get one: it is newer than
// all snapshots.
func MayBeRecorded(history helmv2.Snapshots, version int) bool {
	last := Latest(history)
	return last == nil || last.Version < version
}
