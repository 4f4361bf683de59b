// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
)

func had(snapshots ...*helmv2.Snapshot) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Status.History = snapshots }
}

func stored(spec, status string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace, hr.Status.StorageNamespace = spec, status }
}

func called(release, namespace string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName, hr.Spec.TargetNamespace = release, namespace }
}

func away(secret string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: secret}}
	}
}

func uid(u types.UID) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.UID = u }
}

// TestOwnersOfObjects: the HelmReleases behind a Helm release are those that ask for it or
// had it, in the same cluster, wherever they store it.
func TestOwnersOfObjects(t *testing.T) {
	old := &helmv2.Snapshot{Namespace: "apps", Name: "shop", Version: 1}
	elsewhere := controllertest.HelmRelease("sharded", "shop", uid("8"), called("shop", "apps"), stored("vault", ""))
	moved := controllertest.HelmRelease("sharded", "moved", uid("9"))
	cached := []*helmv2.HelmRelease{
		controllertest.HelmRelease("prod", "asks", uid("1"), called("shop", "apps"), stored("vault", "")),
		controllertest.HelmRelease("prod", "had", uid("2"), had(old), stored("", "vault")),
		controllertest.HelmRelease("prod", "other", uid("3"), called("web", "apps")),
		controllertest.HelmRelease("prod", "namesake", uid("4"), called("shop", "test")),
		controllertest.HelmRelease("prod", "remote", uid("5"), called("shop", "apps"), away("there")),
		controllertest.HelmRelease("prod", "self", uid("6"), had(old)),
		controllertest.HelmRelease("team-b", "asks", uid("11"), called("db", "apps"), stored("vault", "")),
		controllertest.HelmRelease("team-b", "had", uid("12"), had(&helmv2.Snapshot{Namespace: "apps", Name: "db", Version: 1}), stored("vault", "")),
	}
	asks := release.OwnerCandidate{Namespace: "prod", Name: "asks", Near: true, StorageNamespaces: []string{"vault"}}
	hadIt := release.OwnerCandidate{Namespace: "prod", Name: "had", Near: true, StorageNamespaces: []string{"prod", "vault"}}
	shop := release.OwnershipMetadata{Name: "shop", Namespace: "apps"}
	for name, tc := range map[string]struct {
		reason string
		self   *helmv2.HelmRelease
		marks  release.OwnershipMetadata
		broken bool
		want   []release.OwnerCandidate
		fails  bool
	}{
		"Asked":    {reason: "both, and not the one that looks", self: controllertest.HelmRelease("prod", "self", uid("6")), marks: shop, want: []release.OwnerCandidate{asks, hadIt}},
		"Cached":   {reason: "what is in the cache is not asked for", self: controllertest.HelmRelease("prod", "self", uid("6")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "apps", OriginName: "shop", OriginNamespace: "sharded"}, broken: true, want: []release.OwnerCandidate{asks, hadIt}},
		"Remote":   {reason: "in another cluster another one asks", self: controllertest.HelmRelease("prod", "late", uid("7"), away("there")), marks: shop, want: []release.OwnerCandidate{{Namespace: "prod", Name: "remote", Near: true, StorageNamespaces: []string{"prod"}}}},
		"Unknown":  {reason: "no HelmRelease asks for it", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "gone"}},
		"Sharded":  {reason: "the one that the object names is for another cluster", self: controllertest.HelmRelease("prod", "late", uid("7"), away("no")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "apps", OriginName: "shop", OriginNamespace: "sharded"}},
		"Moved":    {reason: "which asks for something else by now", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "moved", Namespace: "gone", OriginName: "moved", OriginNamespace: "sharded"}},
		"Gone":     {reason: "or is not there any more", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "gone", OriginName: "gone", OriginNamespace: "sharded"}},
		"Foreign":  {reason: "the spec of another namespace does not count", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "db", Namespace: "apps"}},
		"Labelled": {reason: "nor do labels alone", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "db", Namespace: "apps", OriginNamespace: "team-b", OriginName: "asks"}},
		"Recorded": {reason: "nor does a history alone", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "db", Namespace: "apps", OriginNamespace: "team-b", OriginName: "other"}},
		"Both":     {reason: "a history does that the labels name", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "db", Namespace: "apps", OriginNamespace: "team-b", OriginName: "had"}, want: []release.OwnerCandidate{{Namespace: "team-b", Name: "had", StorageNamespaces: []string{"vault"}}}},
		"Far":      {reason: "or has it in another shard", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "far", OriginName: "far", OriginNamespace: "sharded"}, want: []release.OwnerCandidate{{Namespace: "sharded", Name: "far", StorageNamespaces: []string{"vault"}}}},
		"FarFails": {reason: "what cannot be found out is an error", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "far", OriginName: "far", OriginNamespace: "sharded"}, broken: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := controllertest.NewClient()
			for _, hr := range cached {
				b = b.WithObjects(hr.DeepCopy())
			}
			far := controllertest.HelmRelease("sharded", "far", uid("10"), had(&helmv2.Snapshot{Namespace: "far", Name: "shop", Version: 1}), stored("vault", ""))
			live := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(elsewhere.DeepCopy(), moved.DeepCopy(), far).Build()
			o := owners{client: b.Build(), live: interceptor.NewClient(live, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if tc.broken {
						return errors.New("broken")
					}
					return c.Get(ctx, key, o, opts...)
				},
			})}
			got, err := o.ofObjects(tc.self)(t.Context(), tc.marks)
			if (err != nil) != tc.fails {
				t.Errorf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestProofs: histories are verified with stored records, which are read only if that can change the
// owner.
func TestProofs(t *testing.T) {
	const ours, theirs = "sha256:ours", "sha256:theirs"
	snapshot := func(version int, scheme, digest string) *helmv2.Snapshot {
		return &helmv2.Snapshot{APIVersion: scheme, Name: "shop", Namespace: "apps", Version: version, Digest: digest}
	}
	revision := func(version int, owner string) release.Revision {
		return release.Revision{Name: "shop", Namespace: "apps", Version: version, Status: helmv2.StatusDeployed, Sealed: true, Owner: owner, Digest: ours}
	}
	home := release.Target{Name: "shop", Namespace: "apps", StorageNamespace: "prod"}
	away := release.Target{Name: "shop", Namespace: "apps", StorageNamespace: "vault"}
	for name, tc := range map[string]struct {
		reason    string
		target    release.Target
		recorded  helmv2.Snapshots
		revisions []release.Revision
		history   helmv2.Snapshots
		want      []int
		reads     int
	}{
		"Nothing":        {reason: "nothing is stored", history: helmv2.Snapshots{snapshot(1, release.SnapshotScheme, ours)}},
		"None":           {reason: "a spec is no proof", revisions: []release.Revision{revision(1, "")}},
		"Verified":       {reason: "a digest of ours is compared at once", revisions: []release.Revision{revision(1, "")}, history: helmv2.Snapshots{snapshot(1, release.SnapshotScheme, ours)}, want: []int{1}},
		"Forged":         {reason: "another digest is no proof", revisions: []release.Revision{revision(1, "")}, history: helmv2.Snapshots{snapshot(1, release.SnapshotScheme, theirs)}},
		"Migrated":       {reason: "a digest of helm-controller needs the record", revisions: []release.Revision{revision(1, "")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}, want: []int{1}, reads: 1},
		"MigratedForged": {reason: "a forged one does, too", revisions: []release.Revision{revision(1, "")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, ours)}, reads: 1},
		"Unread":         {reason: "as does a record that was not read", revisions: []release.Revision{revision(2, ""), {Unread: true, Name: "shop", Version: 1}}, history: helmv2.Snapshots{snapshot(1, release.SnapshotScheme, "")}, reads: 1},
		"Labelled":       {reason: "a label decides without them", revisions: []release.Revision{revision(1, "uid-1")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}},
		"LabelledOther":  {reason: "so does that of the other one", revisions: []release.Revision{revision(1, "uid-2")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}},
		"LabelledGone":   {reason: "that of none does not", revisions: []release.Revision{revision(1, "gone")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}, want: []int{1}, reads: 1},
		"Own":            {reason: "the own history decides in the own namespace", target: home, recorded: helmv2.Snapshots{snapshot(1, release.SnapshotScheme, ours)}, revisions: []release.Revision{revision(1, "")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}},
		"OwnAway":        {reason: "but not elsewhere", recorded: helmv2.Snapshots{snapshot(1, release.SnapshotScheme, ours)}, revisions: []release.Revision{revision(1, "")}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}, want: []int{1}, reads: 1},
		"Uninstalled":    {reason: "a release that is uninstalled proves nothing", revisions: []release.Revision{{Name: "shop", Namespace: "apps", Version: 1, Status: helmv2.StatusUninstalled}}, history: helmv2.Snapshots{snapshot(1, helmv2.SnapshotAPIVersionV2, theirs)}},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			read := func(version int, _ helmv2.Snapshots) (*release.Revision, error) {
				reads++
				found := revision(version, "")
				found.HelmControllerDigest = theirs
				return &found, nil
			}
			if tc.target.Name == "" {
				tc.target = away
			}
			want := release.Desired{UID: "uid-1", Namespace: "prod"}
			got, err := withProofs(want, tc.target, tc.recorded, tc.revisions, []requester{{release.Conflict{UID: "uid-2", Namespace: "team-b"}, tc.history}}, read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got[0].Recorded); diff != "" || reads != tc.reads {
				t.Errorf("%s: %d reads (-want +got):\n%s", tc.reason, reads, diff)
			}
		})
	}
}

// TestProofsAreLimited: any number of histories costs a few reads, and a failing read is an error.
func TestProofsAreLimited(t *testing.T) {
	history := helmv2.Snapshots{{APIVersion: helmv2.SnapshotAPIVersionV2, Name: "shop", Namespace: "apps", Version: 1, Digest: "sha256:forged"}}
	var others []requester
	for range 100 {
		others = append(others, requester{release.Conflict{UID: "other"}, history})
	}
	revisions := []release.Revision{{Name: "shop", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed}}
	reads := 0
	_, err := withProofs(release.Desired{UID: "uid-1"}, release.Target{}, nil, revisions, others, func(int, helmv2.Snapshots) (*release.Revision, error) {
		reads++
		return nil, nil //nolint:nilnil // it is gone
	})
	if err != nil || reads != maxProofs {
		t.Errorf("%d reads, %v", reads, err)
	}
	broken := errors.New("broken")
	_, err = withProofs(release.Desired{UID: "uid-1"}, release.Target{}, nil, revisions, others, func(int, helmv2.Snapshots) (*release.Revision, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestUnreadableProofBlocks: while the record that would verify the history of another HelmRelease cannot
// be read, nothing is decided: the release may be that one's.
func TestUnreadableProofBlocks(t *testing.T) {
	s := &stub{
		stored:     []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed}},
		unreadable: errors.New("connection refused"),
	}
	r := testReconciler(t, s)
	snapshot := &helmv2.Snapshot{APIVersion: helmv2.SnapshotAPIVersionV2, Name: "web", Namespace: "apps", Version: 1, Digest: "sha256:theirs"}
	other := controllertest.HelmRelease("team-b", "asks", uid("uid-2"), called("web", "apps"), stored("apps", "apps"), had(snapshot))
	other.ResourceVersion = ""
	if err := r.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	hr := current(t, r)
	rec, err := r.withDesired(t.Context(), reconciliation{read: hr, hr: hr})
	if err != nil {
		t.Fatal(err)
	}
	var blocked *release.Blocked
	if _, err = r.observer.observe(t.Context(), rec); !errors.As(err, &blocked) || !strings.Contains(err.Error(), "Could not determine the owner of the release") {
		t.Errorf("error %v", err)
	}
}
