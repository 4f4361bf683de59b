// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"
)

// claimCandidate is a HelmRelease that requests a Helm release, or that created revisions of it.
type claimCandidate struct {
	UID string
	// Namespace is the namespace of the HelmRelease.
	Namespace string
	Created   time.Time
	// Elsewhere is true if its spec requests another release now.
	Elsewhere bool
	// Recorded are the versions of the stored revisions that status.history has with their digests.
	Recorded []int
}

// claimRevision is a stored revision. Both of its proofs need the right to write records in the storage
// namespace, or to read them.
type claimRevision struct {
	Version int
	// Creator is the UID of the HelmRelease in the labels of the record; empty if there is none.
	Creator string
	// Uninstalled is true if the revision no longer proves anything.
	Uninstalled bool
}

// claimedRelease is a Helm release and the HelmReleases that may own it.
type claimedRelease struct {
	StorageNamespace string
	// Revisions are the stored revisions, newest first.
	Revisions []claimRevision
	// Self is the HelmRelease that the decision is for.
	Self   claimCandidate
	Others []claimCandidate
}

// claimOwner returns the index of the owner in Others; -1 if Self is the owner, or if there is none.
// The newest revision that a candidate has created or recorded decides. Without one, Self is the
// owner unless a HelmRelease that counts without proof precedes it.
//
// Anyone may name any release in the spec of a HelmRelease. So a HelmRelease counts for others only
// with proof that its identity has written the release, or if others in its namespace are concerned,
// or if the release is stored in its namespace.
func claimOwner(r claimedRelease) int {
	all := append(slices.Clone(r.Others), r.Self)
	index := func(i int) int {
		if i == len(r.Others) {
			return -1
		}
		return i
	}
	for _, revision := range r.Revisions {
		if i := r.provenBy(revision, all); i >= 0 {
			return index(i)
		}
	}
	return index(r.first(all, func(c claimCandidate) bool {
		return !c.Elsewhere && (c.UID == r.Self.UID || c.Namespace == r.Self.Namespace || r.livesThere(c))
	}))
}

// provenBy returns the index of the candidate that created a revision or, if none did, of the first
// one that recorded it; -1 if there is none. Labels come first: status is readable by more users
// than records are, and a history can be copied.
func (r claimedRelease) provenBy(revision claimRevision, all []claimCandidate) int {
	if revision.Uninstalled {
		return -1
	}
	if revision.Creator != "" {
		if i := slices.IndexFunc(all, func(c claimCandidate) bool { return c.UID == revision.Creator }); i >= 0 {
			return i
		}
	}
	return r.first(all, func(c claimCandidate) bool { return !c.Elsewhere && slices.Contains(c.Recorded, revision.Version) })
}

// livesThere reports whether a candidate is in the storage namespace.
func (r claimedRelease) livesThere(c claimCandidate) bool { return c.Namespace == r.StorageNamespace }

// first returns the index of the first of some candidates; -1 if there is none. Those in the storage
// namespace precede others, and older ones precede younger ones.
func (r claimedRelease) first(all []claimCandidate, counts func(claimCandidate) bool) int {
	found := -1
	for i := range all {
		if counts(all[i]) && (found < 0 || r.precedes(all[i], all[found])) {
			found = i
		}
	}
	return found
}

func (r claimedRelease) precedes(a, b claimCandidate) bool {
	switch {
	case r.livesThere(a) != r.livesThere(b):
		return r.livesThere(a)
	case !a.Created.Equal(b.Created):
		return a.Created.Before(b.Created)
	}
	return a.UID < b.UID
}
