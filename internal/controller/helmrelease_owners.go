// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// bearerIndex finds the HelmReleases that ask for a Helm release, or have it in their
// history, by what objects are marked with: where claimIndex has the namespace of
// the storage, this has that of the release.
const bearerIndex = ".status.history.release"

// bearerKeys indexes a HelmRelease by what it asks for and what it has.
func bearerKeys(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	keys := []string{claim(hr, hr.GetReleaseNamespace(), inputs.ReleaseName(hr))}
	for _, s := range hr.Status.History {
		if s != nil {
			keys = append(keys, claim(hr, s.Namespace, s.Name))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// claimants finds the HelmReleases behind other Helm releases in the cluster that hr
// leads to. The cache has those that this controller looks after; one of a shard or
// namespace of another controller, which may store revisions anywhere, is asked for
// if the object names it.
func (r *HelmReleaseReconciler) claimants(hr *helmv2.HelmRelease) helm.Claimants {
	return func(ctx context.Context, marks release.OwnershipMetadata) ([]release.OwnerCandidate, error) {
		var list helmv2.HelmReleaseList
		key := claim(hr, marks.Namespace, marks.Name)
		if err := r.client.List(ctx, &list, client.MatchingFields{bearerIndex: key}); err != nil {
			return nil, err
		}
		if len(list.Items) == 0 && marks.OriginName != "" && marks.OriginNamespace != "" {
			var origin helmv2.HelmRelease
			err := r.live.Get(ctx, client.ObjectKey{Namespace: marks.OriginNamespace, Name: marks.OriginName}, &origin)
			if client.IgnoreNotFound(err) != nil {
				return nil, err
			}
			if err == nil && slices.Contains(bearerKeys(&origin), key) {
				list.Items = append(list.Items, origin)
			}
		}
		var all []release.OwnerCandidate
		for i := range list.Items {
			if other := &list.Items[i]; other.UID != hr.UID {
				all = append(all, claimantOf(other))
			}
		}
		return all, nil
	}
}

func claimantOf(hr *helmv2.HelmRelease) release.OwnerCandidate {
	c := release.OwnerCandidate{Namespace: hr.Namespace, Name: hr.Name, StorageNamespaces: []string{hr.GetStorageNamespace()}}
	if was := hr.Status.StorageNamespace; was != "" && was != c.StorageNamespaces[0] {
		c.StorageNamespaces = append(c.StorageNamespaces, was)
	}
	return c
}

// standoffs remembers which HelmReleases wait for objects of other releases, and of
// which. Nothing of it survives the process: at the start each is tried anyway. The
// zero value is ready for use.
type standoffs struct {
	mu sync.Mutex
	// owners are keys of the bearer index.
	owners map[types.NamespacedName][]string
}

// note takes down what came of an action: whose objects were in its way, if any.
func (s *standoffs) note(hr *helmv2.HelmRelease, owners []release.Target) {
	key := client.ObjectKeyFromObject(hr)
	if len(owners) == 0 {
		s.forget(key)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners == nil {
		s.owners = map[types.NamespacedName][]string{}
	}
	s.owners[key] = nil
	for _, o := range owners {
		s.owners[key] = append(s.owners[key], claim(hr, o.Namespace, o.Name))
	}
}

func (s *standoffs) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, key)
}

// waiting returns who waits for objects of any of some releases.
func (s *standoffs) waiting(keys []string) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []types.NamespacedName
	for key, owners := range s.owners {
		if slices.ContainsFunc(owners, func(o string) bool { return slices.Contains(keys, o) }) {
			all = append(all, key)
		}
	}
	return all
}

// yielders wakes those that wait for objects of a release when its HelmRelease is
// gone, or has another history: that is when it may have let go of them.
func (r *HelmReleaseReconciler) yielders() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(obj client.Object, keys []string, q queue) {
		for _, key := range r.standoffs.waiting(keys) {
			if key != client.ObjectKeyFromObject(obj) {
				r.backoff.Forget(key)
				q.Add(reconcile.Request{NamespacedName: key})
			}
		}
	}
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(e.Object, bearerKeys(e.Object), q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*helmv2.HelmRelease)
			after, isToo := e.ObjectNew.(*helmv2.HelmRelease)
			if ok && isToo && !sameHistory(before.Status.History, after.Status.History) {
				wake(after, append(bearerKeys(before), bearerKeys(after)...), q)
			}
		},
	}
}

// sameHistory reports whether two histories are of the same revisions in the same
// states.
func sameHistory(a, b helmv2.Snapshots) bool {
	return slices.EqualFunc(a, b, func(a, b *helmv2.Snapshot) bool {
		return a != nil && b != nil && a.Namespace == b.Namespace && a.Name == b.Name && a.Version == b.Version && a.Status == b.Status
	})
}
