// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/controllertest"
	"github.com/pintle-dev/pintle/internal/release"
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
	}
	asks := release.OwnerCandidate{Namespace: "prod", Name: "asks", StorageNamespaces: []string{"vault"}}
	hadIt := release.OwnerCandidate{Namespace: "prod", Name: "had", StorageNamespaces: []string{"prod", "vault"}}
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
		"Remote":   {reason: "in another cluster another one asks", self: controllertest.HelmRelease("prod", "late", uid("7"), away("there")), marks: shop, want: []release.OwnerCandidate{{Namespace: "prod", Name: "remote", StorageNamespaces: []string{"prod"}}}},
		"Unknown":  {reason: "no HelmRelease asks for it", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "gone"}},
		"Sharded":  {reason: "the one that the object names is for another cluster", self: controllertest.HelmRelease("prod", "late", uid("7"), away("no")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "apps", OriginName: "shop", OriginNamespace: "sharded"}},
		"Moved":    {reason: "which asks for something else by now", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "moved", Namespace: "gone", OriginName: "moved", OriginNamespace: "sharded"}},
		"Gone":     {reason: "or is not there any more", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "gone", OriginName: "gone", OriginNamespace: "sharded"}},
		"Far":      {reason: "or asks for it", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "far", OriginName: "far", OriginNamespace: "sharded"}, want: []release.OwnerCandidate{{Namespace: "sharded", Name: "far", StorageNamespaces: []string{"vault"}}}},
		"FarFails": {reason: "what cannot be found out is an error", self: controllertest.HelmRelease("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "far", OriginName: "far", OriginNamespace: "sharded"}, broken: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := controllertest.NewClient()
			for _, hr := range cached {
				b = b.WithObjects(hr.DeepCopy())
			}
			far := controllertest.HelmRelease("sharded", "far", uid("10"), called("shop", "far"), stored("vault", ""))
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
