// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// targetRecheck is the delay before a target is checked that could not be checked in this
// reconciliation.
const targetRecheck = 30 * time.Second

// TargetCheck is the result of checking the target in the spec before the release at the recorded
// target is uninstalled. The check writes nothing.
type TargetCheck struct {
	// Revisions are stored under the new name, newest first. They are empty if name and storage
	// namespace do not change.
	Revisions []Revision
	// Conflicts are the other HelmReleases that request the new name or created Revisions.
	Conflicts []Conflict
	// Refused states why the release cannot be installed at the target; empty if it can.
	Refused string
}

// targetMoved applies if the spec requests another name, namespace, storage namespace or chart than
// the recorded release has. The old release is uninstalled only after a check has shown that the
// new one can be installed.
func targetMoved(in Input) *Decision {
	why := moved(in.Desired, in.Recorded)
	if why == "" {
		return nil
	}
	if owner(in) != nil {
		return &Decision{Action: Forget{}, Why: why + ", and another HelmRelease owns the old release"}
	}
	if movedManually(in) {
		return nil
	}
	uninstall := &Decision{
		Action: Uninstall{Timeout: in.Desired.Policy.UninstallTimeout, Target: StoredTarget(in.Desired, in.Recorded)},
		Why:    why,
	}
	if newest := in.Observed.Newest(); newest == nil || newest.Status == helmv2.StatusUninstalled {
		// There is no release to destroy.
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

// movedManually reports whether the desired release was installed without the controller, under the
// recorded name, in the desired namespace. The recorded release no longer exists then, and the new
// one is taken over.
func movedManually(in Input) bool {
	newest, last, want := in.Observed.Newest(), Latest(in.Recorded.History), in.Desired.Target
	return newest != nil && newest.Namespace != last.Namespace && newest.Namespace == want.Namespace &&
		newest.Name == want.Name && in.Recorded.StorageNamespace == want.StorageNamespace
}

// obstacle returns the reason of condition Ready and a message if the new release cannot be
// installed, and empty strings otherwise.
func (c *TargetCheck) obstacle(in Input) (reason, why string) {
	there := Input{Desired: in.Desired, Observed: Observed{Revisions: c.Revisions, Conflicts: c.Conflicts}}
	if other := owner(there); other != nil {
		return helmv2.ReasonContested, ownedBy(in.Desired.Target, other)
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
	return d.Rule == RuleTargetMoved && uninstalls && newest != nil && newest.Status != helmv2.StatusUninstalled
}

// SameRecords reports whether two targets have the same records in Helm storage.
func SameRecords(a, b Target) bool {
	return a.Name == b.Name && a.StorageNamespace == b.StorageNamespace
}

// MustFindStray reports whether storage may have a release of this HelmRelease that status does not
// name. An install was announced, its result is missing, and no revision of this HelmRelease is
// stored at the target in the spec. That happens if the process died and the target in the spec
// changed afterwards. A rejected attempt may have been to resume such an install.
func MustFindStray(in Input) bool {
	recorded := in.Recorded
	if len(recorded.History) > 0 || recorded.StorageNamespace == "" || recorded.LastAttemptedReleaseAction == "" {
		return false
	}
	took := recorded.LastAttemptedReleaseActionDuration
	if took != nil && (took.Duration > 0 || recorded.LastAttemptedGeneration == in.Desired.Generation) {
		return false
	}
	for i := range in.Observed.Revisions {
		if in.Observed.Revisions[i].Owner == in.Desired.UID {
			return false
		}
	}
	return true
}

// Stray reports whether the newest revision of a release was created by the HelmRelease with the
// given UID and must still be recorded or unlocked.
func Stray(newest *Revision, uid string) bool {
	return uid != "" && newest.Owner == uid &&
		newest.Status != helmv2.StatusUninstalled && newest.Status != helmv2.StatusSuperseded
}

// ObservedTarget returns the target whose revisions were observed.
func ObservedTarget(in Input) Target {
	if in.Observed.Stray != nil {
		return *in.Observed.Stray
	}
	return StoredTarget(in.Desired, in.Recorded)
}
