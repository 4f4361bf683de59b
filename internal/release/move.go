// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// targetRecheck is when a target is checked that could not be in this reconciliation.
const targetRecheck = 30 * time.Second

// TargetCheck is the result of checking the target of the present spec before the
// release that is recorded elsewhere is uninstalled. The check writes nothing.
type TargetCheck struct {
	// Revisions are stored under the new name, newest first; empty if the new release
	// has the name and storage namespace of the old one.
	Revisions []Revision
	// Rivals are the other HelmReleases that ask for the new name, or made Revisions.
	Conflicts []Conflict
	// Refused says why the release cannot be installed at the target; empty if it can.
	Refused string
}

// targetMoved applies if the recorded release has another place than the spec asks
// for, or is of another chart. The old release is uninstalled, with all its objects,
// only after a check has shown that the new one can be installed.
func targetMoved(in Input) *Decision {
	why := moved(in.Desired, in.Recorded)
	if why == "" {
		return nil
	}
	if owner(in) != nil {
		return &Decision{Action: Forget{}, Why: why + ", and another HelmRelease owns what was there"}
	}
	if movedManually(in) {
		return nil
	}
	uninstall := &Decision{
		Action: Uninstall{Timeout: in.Desired.Policy.UninstallTimeout, Target: StoredTarget(in.Desired, in.Recorded)},
		Why:    why,
	}
	if newest := in.Observed.Newest(); newest == nil || newest.Status == helmv2.StatusUninstalled {
		// Nothing is left that the uninstall could destroy.
		return uninstall
	}
	if in.Observed.Target == nil {
		return &Decision{Action: Wait{After: targetRecheck, Brief: true}, Why: why + ", and the new target is not checked yet"}
	}
	if reason, obstacle := in.Observed.Target.obstacle(in); reason != "" {
		return &Decision{
			Action: Wait{Obstacle: reason},
			Why:    why + "; the old release is kept, since the new one cannot be installed: " + obstacle,
		}
	}
	return uninstall
}

// movedByHand reports whether somebody has installed the wanted release, under the
// recorded name, in the wanted namespace. The recorded release is gone then, and the
// new one is taken over.
func movedManually(in Input) bool {
	newest, last, want := in.Observed.Newest(), Latest(in.Recorded.History), in.Desired.Target
	return newest != nil && newest.Namespace != last.Namespace && newest.Namespace == want.Namespace &&
		newest.Name == want.Name && in.Recorded.StorageNamespace == want.StorageNamespace
}

// obstacle returns why the new release cannot be installed, with the reason of
// condition Ready; empty if it can be.
func (c *TargetCheck) obstacle(in Input) (reason, why string) {
	there := Input{Desired: in.Desired, Observed: Observed{Revisions: c.Revisions, Conflicts: c.Conflicts}}
	if rival := owner(there); rival != nil {
		return helmv2.ReasonContested, ownedBy(in.Desired.Target, rival)
	}
	if newest := there.Observed.Newest(); newest != nil && newest.Status != helmv2.StatusUninstalled && newest.Owner != in.Desired.UID {
		t := in.Desired.Target
		return helmv2.ReasonTargetUnavailable, fmt.Sprintf("namespace %s stores another Helm release %s already", t.StorageNamespace, t.Name)
	}
	if c.Refused != "" {
		return helmv2.ReasonTargetUnavailable, c.Refused
	}
	return "", ""
}

// MustCheckTarget reports whether the decision depends on a TargetCheck.
func MustCheckTarget(in Input) bool {
	if in.Observed.Target != nil {
		return false
	}
	in.Observed.Target = &TargetCheck{}
	d := Decide(in)
	_, uninstalls := d.Action.(Uninstall)
	newest := in.Observed.Newest()
	return d.Rule == "TargetMoved" && uninstalls && newest != nil && newest.Status != helmv2.StatusUninstalled
}

// SameRecords reports whether two targets have the same records in Helm storage.
func SameRecords(a, b Target) bool {
	return a.Name == b.Name && a.StorageNamespace == b.StorageNamespace
}

// MustFindStray reports whether an install may have been begun whose release nothing
// in status names: its announcement is written, its result is not, and no revision of
// this HelmRelease is stored where the spec asks for the release by now. The process
// died, and the name or a namespace in the spec has changed since.
func MustFindStray(in Input) bool {
	recorded := in.Recorded
	if len(recorded.History) > 0 || recorded.StorageNamespace == "" ||
		recorded.LastAttemptedReleaseAction == "" || recorded.LastAttemptedReleaseActionDuration != nil {
		return false
	}
	for i := range in.Observed.Revisions {
		if in.Observed.Revisions[i].Owner == in.Desired.UID {
			return false
		}
	}
	return true
}

// Stray reports whether the newest revision of a release, under any name, is one that
// the HelmRelease uid made and that still has to be recorded or unlocked.
func Stray(newest *Revision, uid string) bool {
	return uid != "" && newest.Owner == uid &&
		newest.Status != helmv2.StatusUninstalled && newest.Status != helmv2.StatusSuperseded
}

// Place returns where the observed revisions are stored.
func ObservedTarget(in Input) Target {
	if in.Observed.Stray != nil {
		return *in.Observed.Stray
	}
	return StoredTarget(in.Desired, in.Recorded)
}
