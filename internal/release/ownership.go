// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// ours reports whether Helm storage holds a release that this HelmRelease made
// or took over, that no other one owns, and that is not uninstalled yet.
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

// contested: another HelmRelease owns the release that this one asks for. Two on
// one release would undo each other's work for ever, and the deletion of one
// would take away what the other installed.
func ownershipConflict(in Input) *Decision {
	rival := owner(in)
	if rival == nil || moved(in.Desired, in.Recorded) != "" {
		return nil
	}
	return &Decision{Action: Stall{Reason: helmv2.ReasonContested}, Why: ownedBy(in.Desired.Target, rival)}
}

// ownedBy names the owner of the release t.
func ownedBy(t Target, rival *Conflict) string {
	how := "which asks for the same name in the same storage namespace"
	if rival.Elsewhere {
		how = "which made it and has not uninstalled it yet"
	}
	return fmt.Sprintf("Helm release %s/%s is owned by HelmRelease '%s/%s', %s", t.Namespace, t.Name, rival.Namespace, rival.Name, how)
}

// owner returns the rival that owns the release, nil if none does. It is the one
// that made the newest revision that a living HelmRelease made, or else the
// oldest of all that ask for it.
func owner(in Input) *Conflict {
	for i := range in.Observed.Revisions {
		r := &in.Observed.Revisions[i]
		if r.Status == helmv2.StatusUninstalled || r.Owner == "" {
			continue
		}
		if r.Owner == in.Desired.UID {
			return nil
		}
		for j := range in.Observed.Conflicts {
			if in.Observed.Conflicts[j].UID == r.Owner {
				return &in.Observed.Conflicts[j]
			}
		}
	}
	var oldest *Conflict
	for j := range in.Observed.Conflicts {
		r := &in.Observed.Conflicts[j]
		if r.Elsewhere {
			continue
		}
		if older(r, &Conflict{UID: in.Desired.UID, Created: in.Desired.Created}) && (oldest == nil || older(r, oldest)) {
			oldest = r
		}
	}
	return oldest
}

func older(a, b *Conflict) bool {
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	return a.UID < b.UID
}

// unlock: the newest revision is in the middle of something although nothing
// runs here. If we made it, the process that worked on it is dead. If somebody
// else works on it, it is left alone until it is older than any action may take.
// A revision that was to be uninstalled is uninstalled to the end, one that was
// to be anything else is marked failed.
func unlock(in Input) *Decision {
	newest := in.Observed.Newest()
	if newest == nil || owner(in) != nil {
		// What another HelmRelease owns is unlocked by that one; who has moved away
		// from it has nothing to unlock.
		return nil
	}
	target := ObservedTarget(in)
	d := &Decision{State: StateLocked, Why: fmt.Sprintf("release with status '%s'", newest.Status)}
	limit := max(in.Desired.Policy.Install.Timeout, in.Desired.Policy.Upgrade.Timeout)
	abandoned := newest.Owner == in.Desired.UID && in.Desired.UID != ""
	switch newest.Status {
	case helmv2.StatusDeployed, helmv2.StatusFailed, helmv2.StatusSuperseded, helmv2.StatusUninstalled:
		return nil
	case helmv2.StatusUninstalling:
		// That we made the revision does not say who uninstalls it; that we recorded
		// it in this very state does.
		last := Latest(in.Recorded.History)
		abandoned = last != nil && last.Status == newest.Status && last.Version == newest.Version && Verified(last, newest)
		limit = in.Desired.Policy.UninstallTimeout
		// Where failures are counted it was a remedy, and they still count.
		remedy := in.Observed.Stray == nil && moved(in.Desired, in.Recorded) == "" && activePolicy(in).failures > 0
		d.Action = Uninstall{Timeout: limit, Target: target, Remediation: remedy}
	case helmv2.StatusPendingInstall, helmv2.StatusPendingUpgrade, helmv2.StatusPendingRollback, helmv2.StatusUnknown:
		d.Action = Unlock{Version: newest.Version, Status: newest.Status, Target: target}
	default:
		d.Action = Unlock{Version: newest.Version, Status: newest.Status, Target: target}
	}
	if left := newest.LastWritten().Add(limit).Sub(in.Now); !abandoned && left > 0 {
		d.Action = Wait{After: left}
		d.Why = fmt.Sprintf("revision %d is %s by somebody else", newest.Version, newest.Status)
	}
	return d
}

// moved names what of the recorded release's place the spec has changed; empty
// if nothing, or if nothing is recorded.
func moved(want Desired, recorded helmv2.HelmReleaseStatus) string {
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

// TakenOver returns the revision of somebody else that a decision takes over and
// that can be returned to: the newest that works, if any. It is nil for decisions
// that take nothing over.
func TakenOver(in Input, d Decision) *Revision {
	if u, ok := d.Action.(Upgrade); !ok || !u.TakeOver {
		return nil
	}
	for i := range in.Observed.Revisions {
		if r := in.Observed.Revisions[i]; r.Status == helmv2.StatusDeployed {
			return &r
		}
	}
	return nil
}
