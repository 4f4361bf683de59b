// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// ReleaseOwners enqueues the HelmReleases that request a Helm release when its owner gives it up:
// the owner is deleted, requests another release, or has uninstalled a release that it no longer
// requests. A HelmRelease that cannot be the owner enqueues no other.
func (h *Handlers) ReleaseOwners() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			h.enqueueOthers(ctx, e.Object, ownedReleases(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			after := ownedReleases(e.ObjectNew)
			h.enqueueOthers(ctx, e.ObjectOld, slices.DeleteFunc(ownedReleases(e.ObjectOld), func(key string) bool {
				return slices.Contains(after, key)
			}), q)
		},
	}
}

// ownedReleases returns the Helm releases that a HelmRelease requests and has, as keys of
// IndexRelease.
func ownedReleases(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	keys := []string{inputs.RequestedKey(hr)}
	if key := recordedRelease(obj); key != "" {
		keys = append(keys, key)
	}
	return slices.Compact(keys)
}

// recordedRelease returns the Helm release that a HelmRelease has, as a key of IndexRelease; empty
// if there is none.
func recordedRelease(obj client.Object) string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return ""
	}
	last := release.Latest(hr.Status.History)
	if last == nil {
		return ""
	}
	return inputs.ReleaseKey(hr, hr.Status.StorageNamespace, last.Name)
}

// enqueueOthers enqueues the HelmReleases other than owner that request any of some releases.
func (h *Handlers) enqueueOthers(ctx context.Context, owner client.Object, keys []string, q queue) {
	for _, key := range keys {
		var list helmv2.HelmReleaseList
		if err := h.Client.List(ctx, &list, client.MatchingFields{controller.IndexRelease: key}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the HelmReleases that ask for the same release", "release", key)
			return
		}
		for i := range list.Items {
			other := &list.Items[i]
			near := owner.GetNamespace() == other.Namespace || owner.GetNamespace() == other.GetStorageNamespace()
			if other.UID != owner.GetUID() && (near || key == recordedRelease(owner)) {
				q.Add(request(other))
			}
		}
	}
}

// ObjectOwners enqueues the HelmReleases that wait for objects of another release when its
// HelmRelease is deleted or has another history: the objects may have no owner then. Those of other
// namespaces wait for releases in the history only.
func (h *Handlers) ObjectOwners() handler.EventHandler {
	enqueue := func(hr *helmv2.HelmRelease, histories []*helmv2.HelmRelease, q queue) {
		var requested, recorded []string
		for _, of := range histories {
			requested, recorded = append(requested, inputs.HistoryKeys(of)...), append(recorded, inputs.RecordedKeys(of)...)
		}
		far := h.Waiting(recorded)
		for _, key := range h.Waiting(requested) {
			if key != client.ObjectKeyFromObject(hr) && (key.Namespace == hr.Namespace || slices.Contains(far, key)) {
				h.ResetBackoff(key)
				q.Add(reconcile.Request{NamespacedName: key})
			}
		}
	}
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if hr, ok := e.Object.(*helmv2.HelmRelease); ok {
				enqueue(hr, []*helmv2.HelmRelease{hr}, q)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*helmv2.HelmRelease)
			after, isToo := e.ObjectNew.(*helmv2.HelmRelease)
			if ok && isToo && !sameHistory(before.Status.History, after.Status.History) {
				enqueue(after, []*helmv2.HelmRelease{before, after}, q)
			}
		},
	}
}

// sameHistory reports whether two histories contain the same revisions in the same states.
func sameHistory(a, b helmv2.Snapshots) bool {
	return slices.EqualFunc(a, b, func(a, b *helmv2.Snapshot) bool {
		return a != nil && b != nil && a.Namespace == b.Namespace && a.Name == b.Name && a.Version == b.Version && a.Status == b.Status
	})
}
