// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"

	"github.com/pintle-dev/pintle/internal/release"
)

// access is what the cluster of the release is reached with.
type access struct {
	// behind is true if the process has not seen yet what was stored last.
	behind bool
	// missing says which object does not exist that leads there; nil if there is one.
	missing error
	// ending is true if the namespace of the HelmRelease is being deleted.
	ending bool
}

// setAccess removes an object that leads to the cluster of the release, or makes what the
// process knows of Helm's storage outdated, or puts both right.
func (w *World) setAccess(args arguments) {
	w.access = access{ending: args.has("ending"), behind: args.has("behind")}
	if why := args.at(0); why != "restored" && why != "behind" {
		w.access.missing = errors.New(why)
	}
}

// unreachable returns what the controller finds out if it cannot reach the release of a
// HelmRelease that is being deleted.
func (w *World) unreachable(want release.Desired) (why string, blocked *release.Blocked) {
	if w.access.missing == nil || !want.Deleted || w.running != nil || !release.MustReadHistory(want, w.hr.Status, nil) {
		return "", nil
	}
	return release.DeletionWithout(w.access.missing, w.access.ending)
}

// revisions returns what the process knows to be stored. It asks the API server before it
// decides that nothing is.
func (w *World) revisions(in release.Input) []release.Revision {
	stored := read(w.hr.Status.History, w.store(release.StoredTarget(in.Desired, w.hr.Status)).observed())
	if w.access.behind && !release.MustConfirm(in) {
		return nil
	}
	return stored
}
