// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Believe returns a stored revision without the claims that nothing proves, for the HelmRelease with
// the given UID and history. Everyone who may write Secrets can write the labels and annotations of
// a record. So a revision without a seal has no attempt. It has an owner, and the labels that count
// for revisions of an owner, only if the owner is the HelmRelease itself, whose history has the
// digest of the revision.
func Believe(r Revision, uid string, history helmv2.Snapshots) Revision {
	if r.Sealed {
		return r
	}
	r.Attempt = nil
	if r.Owner == "" || r.Owner == uid && Proves(history, &r) {
		return r
	}
	r.Claimed = r.Owner == uid
	r.Owner, r.Plan, r.TestRequest = "", "", ""
	r.Applied, r.Rollback, r.RolledBackTo = false, false, 0
	return r
}

// BelieveAll is Believe for all revisions of a release, which it does not change.
func BelieveAll(all []Revision, uid string, history helmv2.Snapshots) []Revision {
	believed := slices.Clone(all)
	for i := range believed {
		believed[i] = Believe(believed[i], uid, history)
	}
	return believed
}

// Proven reports whether the content of a stored revision comes from the HelmRelease with the given
// UID, or was recorded by it: the history has the digest of the revision, or its record has a seal.
// Only the content of proven revisions is applied again, only their hooks are run, and only they
// enter the history.
func Proven(r *Revision, uid string, history helmv2.Snapshots) bool {
	return !r.Altered && (Proves(history, r) || sealedBy(r, uid, history))
}

// sealedBy reports whether the record of a revision was sealed for the HelmRelease with the given
// UID, in the present life of the release. The record of a release that was uninstalled since may
// have been stored again. All revisions from an install to an uninstall have the same time of the
// first deployment.
func sealedBy(r *Revision, uid string, history helmv2.Snapshots) bool {
	if r.Unread || !r.Sealed || r.Owner != uid || uid == "" {
		return false
	}
	last := Latest(history)
	return last == nil || last.FirstDeployed.Time.Equal(r.FirstDeployed.Truncate(time.Second))
}

// goesOn reports whether the action of the newest revision may still be unfinished: its record has a
// seal, and the history has neither its end nor a newer revision. The record of a finished action may
// have been stored again.
func goesOn(in Input) bool {
	newest, last := in.Observed.Newest(), Latest(in.Recorded.History)
	if newest == nil || !sealedBy(newest, in.Desired.UID, in.Recorded.History) {
		return false
	}
	return last == nil || last.Version < newest.Version || last.Version == newest.Version && pending(last.Status)
}

// proven is Proven for the HelmRelease of the input.
func proven(in Input, r *Revision) bool { return Proven(r, in.Desired.UID, in.Recorded.History) }
