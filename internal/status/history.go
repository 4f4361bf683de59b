// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maker is what only the attempt that made a revision can tell about it. It
// holds for revisions that carry the owner's stamp: an attempt also touches those
// of others, as when it supersedes them.
type maker struct {
	owner     string
	action    helmv2.ReleaseAction
	ociDigest string
}

// lastMaker describes the attempt that was announced last.
func lastMaker(owner string, status *helmv2.HelmReleaseStatus) maker {
	return maker{owner, status.LastAttemptedReleaseAction, status.LastAttemptedRevisionDigest}
}

// renew updates the snapshots of revisions that an action has written: the digest
// of whoever made a snapshot does not fit the record any more.
func renew(history helmv2.Snapshots, stored []release.Revision) helmv2.Snapshots {
	renewed := slices.Clone(history)
	for _, r := range stored {
		if i := find(renewed, r); i >= 0 {
			renewed[i] = snapshotAgain(renewed[i], r)
		}
	}
	return renewed
}

// merge adds the revisions an action stored to a history, newest first, and
// keeps it short. A revision the history knows already is refreshed and keeps
// what only the history knows: its action, artifact digest and tests.
func merge(history helmv2.Snapshots, stored []release.Revision, by maker) helmv2.Snapshots {
	merged := renew(history, stored)
	for _, r := range stored {
		if find(merged, r) >= 0 {
			continue
		}
		s := snapshot(r)
		if by.owner != "" && r.Owner == by.owner {
			s.Action, s.OCIDigest = by.action, by.ociDigest
		}
		merged = append(merged, s)
	}
	return release.Truncate(merged)
}

// refresh brings a history up to what storage holds, as far as that follows from
// what we do ourselves: a revision was superseded by an action whose end nobody
// recorded. Anything else somebody did who is not us, and the old snapshot is what
// tells.
func refresh(history helmv2.Snapshots, stored []release.Revision) helmv2.Snapshots {
	if len(history) == 0 {
		return nil
	}
	fresh := make(helmv2.Snapshots, 0, len(history)+len(stored))
	for _, s := range history {
		fresh = append(fresh, s.DeepCopy())
	}
	for _, r := range stored {
		if i := find(fresh, r); i >= 0 && superseded(fresh[i], r) {
			fresh[i] = snapshotAgain(fresh[i], r)
		}
	}
	return fresh
}

// superseded reports whether a revision was superseded since the snapshot of it
// was made, as by an action whose end nobody could record. Whoever made the
// snapshot cannot verify it any more, and the revision must stay one to return to.
func superseded(s *helmv2.Snapshot, r release.Revision) bool {
	return s.Status == helmv2.StatusDeployed && r.Status == helmv2.StatusSuperseded
}

// snapshotAgain is a snapshot of what is stored now, with what only the old one
// knew.
func snapshotAgain(old *helmv2.Snapshot, r release.Revision) *helmv2.Snapshot {
	s := snapshot(r)
	s.OCIDigest, s.Action, s.TestHooks = old.OCIDigest, old.Action, old.TestHooks
	return s
}

func find(history helmv2.Snapshots, r release.Revision) int {
	return slices.IndexFunc(history, func(s *helmv2.Snapshot) bool {
		return s.Name == r.Name && s.Namespace == r.Namespace && s.Version == r.Version
	})
}

func snapshot(r release.Revision) *helmv2.Snapshot {
	return &helmv2.Snapshot{
		APIVersion:    release.SnapshotScheme,
		Digest:        r.Digest,
		Name:          r.Name,
		Namespace:     r.Namespace,
		Version:       r.Version,
		Status:        r.Status,
		ChartName:     r.ChartName,
		ChartVersion:  r.ChartVersion,
		AppVersion:    r.AppVersion,
		ConfigDigest:  r.ConfigDigest,
		FirstDeployed: seconds(r.FirstDeployed),
		LastDeployed:  seconds(r.LastDeployed),
		Deleted:       seconds(r.Deleted),
	}
}

// seconds drops what the API server would drop, so that a status compares equal
// with itself after a round trip.
func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}
