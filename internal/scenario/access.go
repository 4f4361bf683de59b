// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"

	"github.com/pintle-dev/pintle/internal/release"
)

// access is the access to the cluster of the release.
type access struct {
	// behind is true if the cache of Helm storage lacks the latest write.
	behind bool
	// missing is the error of reading an object that gives access; nil if it exists.
	missing error
	// ending is true if the namespace of the HelmRelease is being deleted.
	ending bool
}

// setAccess removes an object that gives access to the cluster, makes the cache of Helm storage
// stale, or restores both.
func (w *World) setAccess(args arguments) {
	w.access = access{ending: args.has("ending"), behind: args.has("behind")}
	if why := args.at(0); why != "restored" && why != "behind" {
		w.access.missing = errors.New(why)
	}
}

// unreachable returns the decision about a deleted HelmRelease without access to its release.
func (w *World) unreachable(want release.Desired) (why string, blocked *release.Blocked) {
	if w.access.missing == nil || !want.Deleted || w.running != nil || !release.MustReadHistory(want, w.hr.Status, nil) {
		return "", nil
	}
	return release.DeletionWithout(w.access.missing, w.access.ending)
}

// revisions returns the revisions in the cache, or those in storage if the decision must be
// confirmed.
func (w *World) revisions(in release.Input) []release.Revision {
	stored := read(w.hr.Status.History, w.store(release.StoredTarget(in.Desired, w.hr.Status)).observed())
	if w.access.behind && !release.MustConfirm(in) {
		return nil
	}
	return stored
}
