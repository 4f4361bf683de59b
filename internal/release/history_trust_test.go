// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestTrustOf: a record is trusted as far as it agrees with status.history.
func TestTrustOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edit   func(s *helmv2.Snapshot, labelled, stored *Revision)
		want   Trust
	}{
		"Agrees":   {"the revision matches", func(*helmv2.Snapshot, *Revision, *Revision) {}, VerifiedInFull},
		"Changed":  {"the digest differs", func(_ *helmv2.Snapshot, _, r *Revision) { r.Digest = "sha256:other" }, Altered},
		"NoDigest": {"an empty digest never matches", func(_ *helmv2.Snapshot, _, r *Revision) { r.Digest = "" }, Altered},
		"Other":    {"the record of another revision was copied into it", func(_ *helmv2.Snapshot, l, _ *Revision) { l.Version = 8 }, Altered},
		"Renamed":  {"it is the record of another release", func(_ *helmv2.Snapshot, l, _ *Revision) { l.Name = "other" }, Altered},
		"Relabelled": {"an older revision was labelled as deployed", func(_ *helmv2.Snapshot, _, r *Revision) {
			r.Status = helmv2.StatusSuperseded
		}, Altered},
		"Moved":   {"the record has another namespace", func(_ *helmv2.Snapshot, _, r *Revision) { r.Namespace = "other" }, Altered},
		"Missing": {"it has no snapshot", func(s *helmv2.Snapshot, _, _ *Revision) { s.Version = 6 }, Unrecorded},
		"HelmController": {"helm-controller made the snapshot", func(s *helmv2.Snapshot, _, r *Revision) {
			s.APIVersion, r.HelmControllerDigest, r.Digest = helmv2.SnapshotAPIVersionV2, s.Digest, "sha256:ours"
		}, VerifiedWithoutTests},
		"HelmControllerChanged": {"the digest of helm-controller differs", func(s *helmv2.Snapshot, _, r *Revision) {
			s.APIVersion, r.HelmControllerDigest = helmv2.SnapshotAPIVersionV2, "sha256:other"
		}, Altered},
		"HelmControllerUnknown": {"the algorithm of helm-controller's digest is not known", func(s *helmv2.Snapshot, _, _ *Revision) {
			s.APIVersion = helmv2.SnapshotAPIVersionV2
		}, Unverifiable},
		"Unknown": {"the scheme of the digest is not known", func(s *helmv2.Snapshot, _, _ *Revision) { s.APIVersion = "v1" }, Unverifiable},
	} {
		t.Run(name, func(t *testing.T) {
			stored := Revision{Name: "web", Namespace: "apps", Version: 7, Status: helmv2.StatusDeployed, Digest: "sha256:7"}
			labelled := stored
			labelled.Digest, labelled.Namespace = "", ""
			s := &helmv2.Snapshot{APIVersion: SnapshotScheme, Name: "web", Namespace: "apps", Version: 7, Digest: "sha256:7"}
			tc.edit(s, &labelled, &stored)
			if got := TrustOf(helmv2.Snapshots{nil, {Name: "web", Version: 9}, s}, &labelled, &stored); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// TestMayBeRecorded: only a revision newer than all snapshots may be recorded.
func TestMayBeRecorded(t *testing.T) {
	history := helmv2.Snapshots{{Version: 5}, {Version: 3}}
	for version, want := range map[int]bool{6: true, 5: false, 4: false, 1: false} {
		if got := MayBeRecorded(history, version); got != want {
			t.Errorf("revision %d: %t", version, got)
		}
	}
	if !MayBeRecorded(nil, 1) {
		t.Error("the history is empty")
	}
}
