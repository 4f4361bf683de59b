// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
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

// TestClaimants: the HelmReleases behind a Helm release are those that ask for it or
// had it, in the same cluster, wherever they store it.
func TestClaimants(t *testing.T) {
	old := &helmv2.Snapshot{Namespace: "apps", Name: "shop", Version: 1}
	elsewhere := named("sharded", "shop", uid("8"), called("shop", "apps"), stored("vault", ""))
	moved := named("sharded", "moved", uid("9"))
	cached := []*helmv2.HelmRelease{
		named("prod", "asks", uid("1"), called("shop", "apps"), stored("vault", "")),
		named("prod", "had", uid("2"), had(old), stored("", "vault")),
		named("prod", "other", uid("3"), called("web", "apps")),
		named("prod", "namesake", uid("4"), called("shop", "test")),
		named("prod", "remote", uid("5"), called("shop", "apps"), away("there")),
		named("prod", "self", uid("6"), had(old)),
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
		"Asked":    {reason: "both, and not the one that looks", self: named("prod", "self", uid("6")), marks: shop, want: []release.OwnerCandidate{asks, hadIt}},
		"Cached":   {reason: "what is in the cache is not asked for", self: named("prod", "self", uid("6")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "apps", OriginName: "shop", OriginNamespace: "sharded"}, broken: true, want: []release.OwnerCandidate{asks, hadIt}},
		"Remote":   {reason: "in another cluster another one asks", self: named("prod", "late", uid("7"), away("there")), marks: shop, want: []release.OwnerCandidate{{Namespace: "prod", Name: "remote", StorageNamespaces: []string{"prod"}}}},
		"Unknown":  {reason: "nobody asks for it", self: named("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "gone"}},
		"Sharded":  {reason: "the one that the object names is for another cluster", self: named("prod", "late", uid("7"), away("no")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "apps", OriginName: "shop", OriginNamespace: "sharded"}},
		"Moved":    {reason: "which asks for something else by now", self: named("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "moved", Namespace: "gone", OriginName: "moved", OriginNamespace: "sharded"}},
		"Gone":     {reason: "or is not there any more", self: named("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "gone", OriginName: "gone", OriginNamespace: "sharded"}},
		"Far":      {reason: "or asks for it", self: named("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "far", OriginName: "far", OriginNamespace: "sharded"}, want: []release.OwnerCandidate{{Namespace: "sharded", Name: "far", StorageNamespaces: []string{"vault"}}}},
		"FarFails": {reason: "what cannot be found out is an error", self: named("prod", "late", uid("7")), marks: release.OwnershipMetadata{Name: "shop", Namespace: "far", OriginName: "far", OriginNamespace: "sharded"}, broken: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := fake.NewClientBuilder().WithScheme(Scheme()).WithIndex(&helmv2.HelmRelease{}, bearerIndex, bearerKeys)
			for _, hr := range cached {
				b = b.WithObjects(hr.DeepCopy())
			}
			far := named("sharded", "far", uid("10"), called("shop", "far"), stored("vault", ""))
			live := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(elsewhere.DeepCopy(), moved.DeepCopy(), far).Build()
			r := &HelmReleaseReconciler{client: b.Build(), live: interceptor.NewClient(live, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if tc.broken {
						return errors.New("broken")
					}
					return c.Get(ctx, key, o, opts...)
				},
			})}
			got, err := r.claimants(tc.self)(t.Context(), tc.marks)
			if (err != nil) != tc.fails {
				t.Errorf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWaitingAreWoken: who waits for objects of a release is visited when that may
// have let go of them, and at no other time.
func TestWaitingAreWoken(t *testing.T) {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	at := func(version int, status helmv2.ReleaseStatus) *helmv2.Snapshot {
		return &helmv2.Snapshot{Namespace: "apps", Name: "shop", Version: version, Status: status}
	}
	before := named("prod", "shop", called("shop", "apps"), had(at(1, helmv2.StatusDeployed)))
	after := func(edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
		hr := before.DeepCopy()
		for _, e := range edit {
			e(hr)
		}
		return hr
	}
	update := func(after *helmv2.HelmRelease) func(*HelmReleaseReconciler, queue) {
		return func(r *HelmReleaseReconciler, q queue) {
			r.yielders().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		happens func(*HelmReleaseReconciler, queue)
		want    []string
	}{
		"Gone": {"it is deleted", func(r *HelmReleaseReconciler, q queue) {
			r.yielders().Delete(t.Context(), event.DeleteEvent{Object: before}, q)
		}, []string{"prod/late"}},
		"Upgraded":    {"its objects may be others", update(after(had(at(2, helmv2.StatusDeployed), at(1, helmv2.StatusSuperseded)))), []string{"prod/late"}},
		"Uninstalled": {"it was moved", update(after(had(), called("else", "apps"))), []string{"prod/late"}},
		"Failed":      {"nothing of it was deployed, but its status changed", update(after(had(at(1, helmv2.StatusFailed)))), []string{"prod/late"}},
		"Announced":   {"nothing has changed yet", update(after(readyAt(1))), nil},
		"Other": {"nobody waits for that one", func(r *HelmReleaseReconciler, q queue) {
			r.yielders().Delete(t.Context(), event.DeleteEvent{Object: named("prod", "web")}, q)
		}, nil},
		"Itself": {"who waits is not woken by itself", func(r *HelmReleaseReconciler, q queue) {
			r.yielders().Delete(t.Context(), event.DeleteEvent{Object: named("prod", "late", called("shop", "apps"))}, q)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := woken(t, nil, func(r *HelmReleaseReconciler, q queue) {
				r.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](1, 1)
				r.standoffs.note(named("prod", "late"), []release.Target{{Name: "shop", Namespace: "apps"}})
				r.standoffs.note(named("prod", "served"), []release.Target{{Name: "shop", Namespace: "apps"}})
				r.standoffs.note(named("prod", "served"), nil)
				tc.happens(r, q)
			})
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: woken are %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
