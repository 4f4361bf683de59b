// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// ours reports whether Helm storage holds a release that this HelmRelease created or took over,
// that no other HelmRelease owns, and that is not uninstalled.
func ours(in Input) bool {
	newest := in.Observed.Newest()
	if newest == nil || newest.Status == helmv2.StatusUninstalled || owner(in) != nil {
		return false
	}
	if len(in.Recorded.History) > 0 {
		return true
	}
	for i := range in.Observed.Revisions {
		if in.Observed.Revisions[i].Owner == in.Desired.UID {
			return true
		}
	}
	return false
}

// ownershipConflict applies if another HelmRelease owns the release. Two HelmReleases on one
// release would undo each other's changes for ever, and the deletion of one would uninstall the
// other's objects.
func ownershipConflict(in Input) *Decision {
	other := owner(in)
	if other == nil || targetChange(in.Desired, in.Recorded) != "" {
		return nil
	}
	return &Decision{Action: Stall{Reason: helmv2.ReasonContested}, Why: ownedBy(in.Desired.Target, other)}
}

// ownedBy returns a message that names the owner of the release t.
func ownedBy(t Target, other *Conflict) string {
	how := "which has the same release name and storage namespace"
	if other.Elsewhere {
		how = "which installed it and has not uninstalled it yet"
	}
	return fmt.Sprintf("Helm release %s/%s is owned by HelmRelease '%s/%s', %s", t.Namespace, t.Name, other.Namespace, other.Name, how)
}

// owner returns the other HelmRelease that owns the release; nil if there is none.
func owner(in Input) *Conflict {
	r := claimedRelease{
		StorageNamespace: ObservedTarget(in).StorageNamespace,
		Self:             claimCandidate{UID: in.Desired.UID, Namespace: in.Desired.Namespace, Created: in.Desired.Created},
	}
	for i := range in.Observed.Revisions {
		rev := &in.Observed.Revisions[i]
		r.Revisions = append(r.Revisions, claimRevision{Version: rev.Version, Creator: rev.Owner, Uninstalled: rev.Status == helmv2.StatusUninstalled})
		if Proves(in.Recorded.History, rev) {
			r.Self.Recorded = append(r.Self.Recorded, rev.Version)
		}
	}
	for _, c := range in.Observed.Conflicts {
		r.Others = append(r.Others, claimCandidate{UID: c.UID, Namespace: c.Namespace, Created: c.Created, Elsewhere: c.Elsewhere, Recorded: c.Recorded})
	}
	if i := claimOwner(r); i >= 0 {
		return &in.Observed.Conflicts[i]
	}
	return nil
}

// Unproven returns the indices of the stored revisions, newest first, of which it matters whether a
// conflict has them in its history. A revision with the label of an existing HelmRelease proves its
// owner, and older ones do not matter. So does one in the own history if no other HelmRelease could
// precede.
func Unproven(want Desired, recorded helmv2.Snapshots, revisions []Revision, conflicts []Conflict) []int {
	if len(conflicts) == 0 {
		return nil
	}
	var unproven []int
	for i := range revisions {
		r := &revisions[i]
		if r.Status == helmv2.StatusUninstalled {
			continue
		}
		labelled := r.Owner != "" && (r.Owner == want.UID || slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.UID == r.Owner }))
		if labelled || want.Namespace == want.Target.StorageNamespace && Proves(recorded, r) {
			break
		}
		unproven = append(unproven, i)
	}
	return unproven
}

// targetChange returns a message that names the change of the recorded target; empty if there is no
// change or no recorded release.
func targetChange(want Desired, recorded helmv2.HelmReleaseStatus) string {
	last := Latest(recorded.History)
	if last == nil || recorded.StorageNamespace == "" || want.Deleted || want.Target == (Target{}) {
		return ""
	}
	switch {
	case recorded.StorageNamespace != want.Target.StorageNamespace:
		return fmt.Sprintf("release storage namespace changed from '%s' to '%s'", recorded.StorageNamespace, want.Target.StorageNamespace)
	case last.Namespace != want.Target.Namespace:
		return fmt.Sprintf("release namespace changed from '%s' to '%s'", last.Namespace, want.Target.Namespace)
	case last.Name != want.Target.Name:
		return fmt.Sprintf("release name changed from '%s' to '%s'", last.Name, want.Target.Name)
	case want.Policy.Reinstall && want.Chart.Name != "" && last.ChartName != want.Chart.Name && last.Status != helmv2.StatusUninstalled:
		return fmt.Sprintf("chart name changed from '%s' to '%s'", last.ChartName, want.Chart.Name)
	}
	return ""
}

// TakenOver returns the newest deployed revision of a release that the decision takes over, so that a
// rollback can return to it. It returns nil for decisions that take nothing over, and for revisions
// of other clients: nothing proves which of those a user has made.
func TakenOver(in Input, d Decision) *Revision {
	if u, ok := d.Action.(Upgrade); !ok || !u.TakeOver {
		return nil
	}
	for i := range in.Observed.Revisions {
		if r := in.Observed.Revisions[i]; r.Status == helmv2.StatusDeployed {
			if !proven(in, &r) {
				return nil
			}
			return &r
		}
	}
	return nil
}

// OwnershipMetadata holds the Helm release and the HelmRelease that the labels and annotations of
// an object name. Fields are empty if the metadata is missing.
type OwnershipMetadata struct {
	// Name and Namespace name the Helm release.
	Name      string
	Namespace string
	// OriginNamespace and OriginName name the HelmRelease that rendered the object.
	OriginNamespace string
	OriginName      string
}

// OwnerCandidate is a HelmRelease that may own objects of a Helm release.
type OwnerCandidate struct {
	Namespace string
	Name      string
	// Near is true if it is in the namespace of the HelmRelease that finds an object. Its spec alone
	// may name the release.
	Near bool
	// StorageNamespaces lists the namespaces that may store revisions of the release.
	StorageNamespaces []string
}

// Owner describes the release that the ownership metadata of an object names.
type Owner struct {
	// Stored is true if Helm storage has the release and its newest revision is not uninstalled.
	Stored bool
	// HasObject is true if the newest or the deployed revision contains the object. An upgrade that
	// drops an object deletes it only at its end.
	HasObject bool
	// Requested is true if another HelmRelease in the same namespace refers to the release in its
	// spec or its history.
	Requested bool
	// Unread is true if some of the facts could not be read.
	Unread bool
	// Busy is true if an action of another release is about to create or adopt the object. The
	// metadata of the object does not matter then.
	Busy bool
}

// Ownership classifies an object that a release is about to create or adopt.
type Ownership string

// The zero Ownership is none of these.
const (
	// OwnershipFree is an object that does not exist.
	OwnershipFree Ownership = "free"
	// OwnershipOrphan is an object that no existing release owns.
	OwnershipOrphan Ownership = "orphan"
	// OwnershipOurs is an object with the ownership metadata of the release itself.
	OwnershipOurs Ownership = "ours"
	// OwnershipOwned is an object of another existing release. It is also the result if other
	// ownership cannot be excluded.
	OwnershipOwned Ownership = "owned"
)

// Classify returns the ownership of an object that release us is about to create or adopt. The
// owner matters only if the metadata names another release.
func Classify(exists bool, metadata OwnershipMetadata, us Target, owner Owner) Ownership {
	switch {
	case owner.Busy:
		return OwnershipOwned
	case !exists:
		return OwnershipFree
	case !metadata.NamesRelease():
		return OwnershipOrphan
	case metadata.Name == us.Name && metadata.Namespace == us.Namespace:
		return OwnershipOurs
	case owner.HasObject, owner.Unread:
		return OwnershipOwned
	case owner.Requested && !owner.Stored:
		// No stored revision shows which objects the release will contain.
		return OwnershipOwned
	}
	return OwnershipOrphan
}

// NamesRelease reports whether the metadata names a release. Both name and namespace are required.
func (m OwnershipMetadata) NamesRelease() bool { return m.Name != "" && m.Namespace != "" }

// HoldsData reports whether the content of an object is lost when the object is deleted and created
// anew, because no manifest has it. A Namespace is deleted with all its objects.
func HoldsData(group, kind string) bool {
	switch group {
	case "":
		return kind == "PersistentVolumeClaim" || kind == "PersistentVolume" || kind == "Namespace"
	case "snapshot.storage.k8s.io":
		return kind == "VolumeSnapshot" || kind == "VolumeSnapshotContent"
	}
	return false
}

// Leftover describes a live object of a revision that failed, when the next action has succeeded
// without it or when the release is uninstalled.
type Leftover struct {
	Metadata OwnershipMetadata
	// Keep is true if the resource policy of the object is keep.
	Keep bool
	// Deployed is true if the deployed revision contains the object.
	Deployed bool
	// Deletes is true if Helm itself deletes the object, because the revision that the action
	// replaces contains it.
	Deletes bool
	// Unproven is true if only revisions contain the object that nothing proves.
	Unproven bool
	// Created is the creation time of the object. Recorded is the creation time of the record of
	// Version, the oldest stored revision that contains the object. Both are set by the clock of
	// the API server, in seconds. A zero time is unknown.
	Created  time.Time
	Recorded time.Time
	Version  int
	// Preceded is true if the revision before Version is stored, or if there was none. Otherwise an
	// older failed revision may have created the object.
	Preceded bool
}

// WhyKept returns the reason why a leftover of release us is not deleted; empty if it is deleted. A
// leftover is deleted if a failed revision created it or the deployed one contains it. An object
// that a failed revision only adopted is older than its record, and stays. If that is unknown, Helm
// decides. What only unproven revisions contain is deleted if its own metadata names the release.
func (l Leftover) WhyKept(us Target) string {
	known := !l.Created.IsZero() && !l.Recorded.IsZero()
	switch {
	case l.Keep:
		return "its resource policy is keep"
	case l.Metadata.NamesRelease() && (l.Metadata.Name != us.Name || l.Metadata.Namespace != us.Namespace):
		return fmt.Sprintf("it is of Helm release %s/%s by now", l.Metadata.Namespace, l.Metadata.Name)
	case !l.Metadata.NamesRelease() && (!l.Deletes || l.Unproven):
		return "it has no metadata of a Helm release"
	case l.Deployed, known && !l.Created.Before(l.Recorded):
		return ""
	case known && l.Preceded:
		return fmt.Sprintf("it is older than revision %d, which adopted it and failed", l.Version)
	case l.Deletes:
		return ""
	}
	return fmt.Sprintf("whether revision %d created it is not known", l.Version)
}

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
	why := targetChange(in.Desired, in.Recorded)
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
	d := decideUngated(in)
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
