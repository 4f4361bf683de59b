// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// setObstacle sets the result of a check of the target: another HelmRelease that owns it, a reason
// why the release cannot be installed, no answer of the API server, or no obstacle.
func (w script) setObstacle(args arguments) error {
	w.obstacle, w.unchecked = release.TargetCheck{}, args.at(0) == "unanswered"
	switch args.at(0) {
	case "taken":
		w.obstacle.Conflicts = []release.Conflict{{UID: conflictUID, Namespace: args.value("in", namespace), Name: "other", Created: w.want.Created.Add(-time.Hour)}}
	case "refused":
		w.obstacle.Refused = args.at(1)
	case "free", "unanswered":
	default:
		return fmt.Errorf("unknown state %q of a target", args.at(0))
	}
	return nil
}

// conflict adds or removes another HelmRelease that requests the same release.
func (w script) conflict(args arguments) error {
	w.conflicts = nil
	if args.has("gone") {
		return nil
	}
	age := time.Hour
	if args.has("younger") {
		age = -time.Hour
	}
	c := release.Conflict{
		Elsewhere: args.has("elsewhere"), UID: conflictUID, Namespace: args.value("in", namespace), Name: "other", Created: w.want.Created.Add(-age),
	}
	if text, ok := args.lookup("recorded"); ok {
		version, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		c.Recorded = []int{version}
	}
	w.conflicts = []release.Conflict{c}
	return nil
}

// checkTarget checks the target of the spec. It returns nil if the check cannot be completed.
func (o observation) checkTarget(in release.Input) *release.TargetCheck {
	var found *release.TargetCheck
	if !o.unchecked {
		check := o.obstacle
		found = &check
	}
	if want := in.Desired.Target; found != nil && !release.SameRecords(want, release.ObservedTarget(in)) {
		found.Revisions = release.BelieveAll(o.store(want).observed(), uid, in.Recorded.History)
	}
	return found
}

// storedRevision returns a revision; nil if it is not stored.
func (o observation) storedRevision(in release.Input, version int) *release.Revision {
	store := o.store(release.ObservedTarget(in))
	found := store.version(version)
	if found == nil {
		return nil
	}
	read := store.read(found)
	return &read
}

// findStray searches the recorded storage namespace for a release whose target is not recorded.
func (o observation) findStray(in release.Input) (*release.Target, []release.Revision) {
	prefix := in.Recorded.StorageNamespace + "/"
	for _, key := range slices.Sorted(maps.Keys(o.stores)) {
		name, found := strings.CutPrefix(key, prefix)
		newest := o.stores[key].newest()
		if !found || newest == nil {
			continue
		}
		if believed := release.Believe(o.stores[key].read(newest), uid, in.Recorded.History); !release.Stray(&believed, in.Desired.UID) {
			continue
		}
		target := &release.Target{Name: name, Namespace: newest.Namespace, StorageNamespace: in.Recorded.StorageNamespace}
		return target, read(nil, o.stores[key].observed())
	}
	return nil, nil
}

// current returns the storage of the observed release.
func (w *World) current() *storage {
	in := release.Input{Desired: w.desired(), Recorded: w.hr.Status}
	in.Observed.Revisions = w.store(release.ObservedTarget(in)).observed()
	if release.MustFindStray(in) {
		if stray, revisions := (observation{w, in.Desired}).findStray(in); stray != nil {
			in.Observed.Stray, in.Observed.Revisions = stray, revisions
		}
	}
	return w.store(release.ObservedTarget(in))
}

// target returns the storage of the release that an action changes.
func (w *World) target(a release.HelmAction, want release.Desired) *storage {
	if u, ok := a.(release.Uninstall); ok {
		return w.store(u.Target)
	}
	if u, ok := a.(release.Unlock); ok {
		return w.store(u.Target)
	}
	return w.store(want.Target)
}

// leftBehind returns an error if a release of this HelmRelease is stored at a target that is no
// longer observed. It ignores worlds with uses of the Helm CLI, which may be unnoticed before the
// release moves, and those with an attacker.
func (w *World) leftBehind() error {
	if w.usedCLI || w.attacked {
		return nil
	}
	for key, store := range w.stores {
		newest := store.newest()
		if newest == nil || newest.Owner != uid || store == w.current() && !w.gone {
			continue
		}
		if stored := store.read(newest); !stored.Sealed && !release.Proves(w.hr.Status.History, &stored) {
			// The seals were lost before the end of its action was recorded. A record that nothing proves
			// causes no deletion, so the release stays.
			continue
		}
		if newest.Status != helmv2.StatusUninstalled && newest.Status != helmv2.StatusSuperseded {
			return fmt.Errorf("revision %d of release %s, which is %s, is left behind", newest.Version, key, newest.Status)
		}
	}
	return nil
}

// dependent adds or removes a HelmRelease that depends on this one.
func (w script) dependent(args arguments) {
	w.dependents = nil
	if args.has("gone") {
		return
	}
	d := release.Dependent{Name: "apps/client", Deleted: args.has("deleted")}
	if args.has("cycle") {
		d.Cycle = "apps/web -> apps/client -> apps/web"
	}
	w.dependents = []release.Dependent{d}
}
