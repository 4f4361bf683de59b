// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// setObstacle sets what a check of the target finds: another HelmRelease that asks for
// the release there, a reason why it cannot be installed, or nothing any more.
func (w *World) setObstacle(args arguments) error {
	w.obstacle = release.TargetCheck{}
	switch args.at(0) {
	case "taken":
		w.obstacle.Conflicts = []release.Conflict{{UID: conflictUID, Namespace: namespace, Name: "other", Created: w.want.Created.Add(-time.Hour)}}
	case "refused":
		w.obstacle.Refused = args.at(1)
	case "free":
	default:
		return fmt.Errorf("a target cannot be %q", args.at(0))
	}
	return nil
}

// checkTarget mirrors what the controller finds out about the target in the spec.
func (w *World) checkTarget(in release.Input) *release.TargetCheck {
	found := w.obstacle
	if want := in.Desired.Target; !release.SameRecords(want, release.ObservedTarget(in)) {
		found.Revisions = w.store(want).observed()
	}
	return &found
}

// findStray mirrors what the controller does to find an install that was begun and
// not recorded.
func (w *World) findStray(in *release.Input) {
	prefix := in.Recorded.StorageNamespace + "/"
	for _, key := range slices.Sorted(maps.Keys(w.stores)) {
		name, found := strings.CutPrefix(key, prefix)
		newest := w.stores[key].newest()
		if !found || newest == nil || !release.Stray(newest, in.Desired.UID) {
			continue
		}
		in.Observed.Stray = &release.Target{Name: name, Namespace: newest.Namespace, StorageNamespace: in.Recorded.StorageNamespace}
		in.Observed.Revisions = read(nil, w.stores[key].observed())
		return
	}
}

// current is the release that is looked at.
func (w *World) current() *storage {
	in := release.Input{Desired: w.desired(), Recorded: w.hr.Status}
	in.Observed.Revisions = w.store(release.ObservedTarget(in)).observed()
	if release.MustFindStray(in) {
		w.findStray(&in)
	}
	return w.store(release.ObservedTarget(in))
}

// target is the release an action works on.
func (w *World) target(a release.Action, want release.Desired) *storage {
	if u, ok := a.(release.Uninstall); ok {
		return w.store(u.Target)
	}
	if u, ok := a.(release.Unlock); ok {
		return w.store(u.Target)
	}
	return w.store(want.Target)
}

// leftBehind returns an error if a release of this HelmRelease is stored where
// nothing looks any more. What people do by hand is not always noticed before the
// release moves.
func (w *World) leftBehind() error {
	if w.usedCLI {
		return nil
	}
	for key, store := range w.stores {
		newest := store.newest()
		if newest == nil || newest.Owner != uid || store == w.current() && !w.gone {
			continue
		}
		if newest.Status != helmv2.StatusUninstalled && newest.Status != helmv2.StatusSuperseded {
			return fmt.Errorf("revision %d of release %s, which is %s, is left behind", newest.Version, key, newest.Status)
		}
	}
	return nil
}
