// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// origin holds facts about a revision that only its action has. They apply to revisions with the
// revision label of owner. An action also updates revisions of other owners, when it supersedes
// them.
type origin struct {
	owner     string
	action    helmv2.ReleaseAction
	ociDigest string
}

// lastOrigin returns the origin of the revisions of the action that was announced last.
func lastOrigin(owner string, status *helmv2.HelmReleaseStatus) origin {
	return origin{owner, status.LastAttemptedReleaseAction, status.LastAttemptedRevisionDigest}
}

// update returns a history with new snapshots of revisions that an action has written. The digests
// in the old ones no longer match the records. A revision without a seal was not proven when the
// action read it, so that its snapshot stays.
func update(history helmv2.Snapshots, stored []release.Revision) helmv2.Snapshots {
	renewed := slices.Clone(history)
	for _, r := range stored {
		if i := find(renewed, r); i >= 0 && r.Sealed {
			renewed[i] = updatedSnapshot(renewed[i], r)
		}
	}
	return renewed
}

// merge adds the revisions that an action has stored to a history, newest first, and truncates it.
// The snapshot of a recorded revision is updated, and keeps its action, artifact digest and tests.
// A revision without a seal belongs to another client, and is not added.
func merge(history helmv2.Snapshots, stored []release.Revision, by origin) helmv2.Snapshots {
	merged := update(history, stored)
	for _, r := range stored {
		if find(merged, r) >= 0 || !r.Sealed {
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

// updateSuperseded returns a history in which snapshots of revisions that were superseded are
// updated, as an action does whose end was not recorded. All other differences from storage are
// changes by other clients of Helm. The old snapshots stay, so that those changes are detected.
func updateSuperseded(history helmv2.Snapshots, stored []release.Revision) helmv2.Snapshots {
	if len(history) == 0 {
		return nil
	}
	fresh := make(helmv2.Snapshots, 0, len(history)+len(stored))
	for _, s := range history {
		fresh = append(fresh, s.DeepCopy())
	}
	for _, r := range stored {
		if i := find(fresh, r); i >= 0 && superseded(fresh[i], r) {
			fresh[i] = updatedSnapshot(fresh[i], r)
		}
	}
	return fresh
}

// superseded reports whether a revision was superseded since its snapshot, and not changed
// otherwise. The digest of that snapshot no longer matches, and the revision must remain a rollback
// target.
func superseded(s *helmv2.Snapshot, r release.Revision) bool {
	sealed := r.Sealed && s.FirstDeployed.Equal(new(seconds(r.FirstDeployed)))
	return release.SupersededSince(s, &r) && (sealed || release.Proves(helmv2.Snapshots{s}, &r))
}

// updatedSnapshot returns a snapshot of a revision with the facts that only the old one has.
func updatedSnapshot(old *helmv2.Snapshot, r release.Revision) *helmv2.Snapshot {
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

// seconds truncates a time to whole seconds, as the API server stores it. A status then equals
// itself after it was stored and read.
func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}

// knownHistory returns the part of a history that precedes the unrecorded revisions. If the latest
// snapshot is not in storage, the release was taken over. Then it is the newest revision of that
// release that was deployed, as a rollback target, if the HelmRelease made it.
func knownHistory(history helmv2.Snapshots, in release.Input) helmv2.Snapshots {
	refreshed := update(updateSuperseded(history, in.Observed.Revisions), in.Observed.Revisions[:1])
	if last := release.Latest(history); last != nil {
		for i := range in.Observed.Revisions {
			r := &in.Observed.Revisions[i]
			if r.Version == last.Version && r.Name == last.Name && r.Namespace == last.Namespace {
				return refreshed
			}
		}
	}
	for _, r := range in.Observed.Revisions[1:] {
		if r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusSuperseded {
			if !release.Proven(&r, in.Desired.UID, history) {
				return nil
			}
			return helmv2.Snapshots{snapshot(r)}
		}
	}
	return refreshed
}

// unrecordedRevisions returns the revisions of this HelmRelease that are newer than a history, and
// of the same life of the release as the newest one.
func unrecordedRevisions(history helmv2.Snapshots, in release.Input) []release.Revision {
	var made []release.Revision
	newest, last := in.Observed.Newest(), release.Latest(history)
	for _, r := range in.Observed.Revisions {
		if r.Owner == in.Desired.UID && r.FirstDeployed.Equal(newest.FirstDeployed) && (last == nil || r.Version > last.Version) {
			made = append(made, r)
		}
	}
	return made
}

// inventory lists objects in the format of Flux: the identifier is
// "<namespace>_<name>_<group>_<kind>", and the version is a separate field.
func inventory(objects []release.Object) *helmv2.ResourceInventory {
	inv := &helmv2.ResourceInventory{Entries: make([]helmv2.ResourceRef, 0, len(objects))}
	for _, o := range objects {
		inv.Entries = append(inv.Entries, helmv2.ResourceRef{
			ID:      o.Namespace + "_" + identifierName(o) + "_" + o.Group + "_" + o.Kind,
			Version: o.Version,
		})
	}
	return inv
}

// identifierName returns the name of an object in identifiers. Only names of RBAC objects can have
// colons, which become two underscores, as in Flux.
func identifierName(o release.Object) string {
	if o.Group != "rbac.authorization.k8s.io" {
		return o.Name
	}
	return strings.ReplaceAll(o.Name, ":", "__")
}
