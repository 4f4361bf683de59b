// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// forgedVersion is the application version of all content that an attacker has written.
const forgedVersion = "forged"

// forge changes records of the release as someone can who may write Secrets only. Such an attacker
// can also copy labels, annotations and whole records, and store them again. "unseal" makes all seals
// invalid, as the loss of the key does.
func (w script) forge(args arguments) error {
	store, verb := w.current(), args.at(0)
	if verb == "unseal" {
		store.ran.sealed = map[string]bool{}
		return nil
	}
	w.attacked = true
	version, err := strconv.Atoi(args.at(1))
	if err != nil {
		return fmt.Errorf("forge %s: %w", verb, err)
	}
	r := store.version(version)
	switch {
	case verb == "record":
		w.replaceRecord(store, w.forged(store, version, helmv2.ReleaseStatus(args.at(2))))
	case verb == "restore" && w.saved[version] != nil:
		w.replaceRecord(store, clone(w.saved[version]))
	case r == nil:
	case verb == "save":
		if w.saved == nil {
			w.saved = map[int]*release.Revision{}
		}
		w.saved[version] = clone(r)
		return nil
	case verb == "content":
		changed := clone(r)
		changed.AppVersion = forgedVersion
		changed.Status = helmv2.ReleaseStatus(args.value("status", string(r.Status)))
		w.replaceRecord(store, changed)
	case verb == "labels":
		changed := clone(r)
		changed.Interrupted, changed.Outdated, changed.Applied = args.has("interrupted"), args.has("outdated"), args.has("applied")
		if changed.RolledBackTo, err = args.number("rolled-back-to", r.RolledBackTo); err != nil {
			return err
		}
		changed.Rollback = changed.Rollback || changed.RolledBackTo > 0
		if args.has("other") {
			changed.Owner = conflictUID
		}
		w.replaceRecord(store, changed)
	case verb == "drop":
		w.overtake(store, version)
		store.revisions = slices.DeleteFunc(store.revisions, func(r *release.Revision) bool { return r.Version == version })
	}
	w.out.stored(store.observed())
	return nil
}

// forged returns a revision with content of an attacker. It has the label and the attempt that a
// revision of this HelmRelease would have whose action was interrupted.
func (w script) forged(store *storage, version int, status helmv2.ReleaseStatus) *release.Revision {
	d := w.desired()
	r := &release.Revision{
		Name: d.Target.Name, Namespace: d.Target.Namespace, Version: version, Status: status, Description: "Upgrade complete",
		ChartName: d.Chart.Name, ChartVersion: d.Chart.Version, AppVersion: forgedVersion, ConfigDigest: d.ConfigDigest,
		FirstDeployed: w.now, LastDeployed: w.now.Add(-time.Hour), Modified: w.now.Add(-time.Hour), Owner: uid,
	}
	if newest := store.newest(); newest != nil {
		r.FirstDeployed = newest.FirstDeployed
	}
	action := map[string]helmv2.ReleaseAction{
		string(helmv2.StatusPendingInstall): helmv2.ActionInstall, string(helmv2.StatusPendingRollback): helmv2.ActionRollback,
		string(helmv2.StatusUninstalling): helmv2.ActionUninstall,
	}[string(status)]
	if action == "" {
		action = helmv2.ActionUpgrade
	}
	r.Attempt = &release.Attempt{ID: fmt.Sprintf("%s.%d.forged", uid, version), Run: 1, Action: action, Inputs: release.InputsOf(d), RollbackTo: d.Hold.To, Hold: d.Hold.Active}
	r.Rollback, r.RolledBackTo = action == helmv2.ActionRollback, d.Hold.To
	return r
}

// clone returns a deep copy of a revision.
func clone(r *release.Revision) *release.Revision {
	c := digested(r)
	c.Digest, c.DeployedDigest, c.HelmControllerDigest = r.Digest, r.DeployedDigest, r.HelmControllerDigest
	return &c
}

// replaceRecord stores a record in place of the one with the same number.
func (w script) replaceRecord(store *storage, r *release.Revision) {
	w.overtake(store, r.Version)
	store.revisions = slices.DeleteFunc(store.revisions, func(old *release.Revision) bool { return old.Version == r.Version })
	store.revisions = append(store.revisions, r)
	slices.SortFunc(store.revisions, func(a, b *release.Revision) int { return a.Version - b.Version })
}

// overtake ends the running action if another client writes a record that it has read: its next
// write meets a conflict.
func (w script) overtake(store *storage, version int) {
	if a := w.running; a != nil && a.store == store && a.refused == nil {
		for _, r := range []*release.Revision{a.made, a.replaced} {
			if r != nil && r.Version == version {
				w.finish(ending{cause: fmt.Errorf("revision %d: %w", version, release.ErrResumedElsewhere), elsewhere: true})
				return
			}
		}
	}
}

// noteRecorded notes the attempts whose ends are in the history, and returns an error if content of an
// attacker is.
func (w *World) noteRecorded() error {
	for _, s := range w.hr.Status.History {
		if s.AppVersion == forgedVersion {
			return fmt.Errorf("revision %d of an attacker enters the history", s.Version)
		}
		if strings.HasPrefix(string(s.Status), "pending-") {
			continue
		}
		for _, store := range w.stores {
			if r := store.version(s.Version); r != nil && r.Attempt != nil && r.Name == s.Name {
				store.ran.recorded[r.Attempt.ID] = true
			}
		}
	}
	return nil
}

// checkProven returns an error if a decision applies content that an attacker has written, runs its
// hooks, or deletes what only such a record contains. An attacker may also have stored an old record
// again.
func (s steps) checkProven(in release.Input, d release.Decision) error {
	newest := in.Observed.Newest()
	used := 0
	switch a := d.Action.(type) {
	case release.Rollback:
		// A rollback that is resumed reads its target again, and is refused if nothing proves it.
		if used = a.Version; a.Resume > 0 {
			used = a.Resume
		}
	case release.Test, release.CorrectDrift, release.Recheck, release.FailBake, release.Adopt:
		used = newest.Version
	case release.Uninstall:
		last := release.Latest(in.Recorded.History)
		began := s.current().ran.uninstalling || last != nil && last.Status == helmv2.StatusUninstalling
		if d.Rule == release.RuleUnlock && !began {
			return fmt.Errorf("the release is uninstalled because of a record: %+v", d)
		}
	case release.Install:
		used = a.Resume
	case release.Upgrade:
		used = a.Resume
	case release.Unlock, release.ComputePlan, release.Finalize, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	if used > 0 && s.forgedAt(in, used) {
		return fmt.Errorf("revision %d of an attacker is used: %+v", used, d)
	}
	if resumed := release.Resumed(d.HelmAction()); resumed > 0 && s.current().ran.recorded[newest.Attempt.ID] {
		return fmt.Errorf("revision %d is resumed, whose action has ended: %+v", resumed, d)
	}
	if taken := release.TakenOver(in, d); taken != nil && taken.AppVersion == forgedVersion {
		return fmt.Errorf("revision %d of an attacker becomes a rollback target", taken.Version)
	}
	return nil
}

// forgedAt reports whether an attacker has written the content of a stored revision.
func (s steps) forgedAt(in release.Input, version int) bool {
	r := s.store(release.ObservedTarget(in)).version(version)
	return r != nil && r.AppVersion == forgedVersion
}
