// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Handlers makes the event handlers.
type Handlers struct {
	// Client reads HelmReleases from the cache.
	Client client.Reader
	// Changed is called when the object obj changes that hr takes values from.
	Changed func(hr *helmv2.HelmRelease, obj client.Object)
	// ArtifactChanged is called when the source of the chart of a HelmRelease has another artifact, and
	// values come from files of sources.
	ArtifactChanged func(key types.NamespacedName)
	// FilesChanged is called when a source changes that values may come from. obj is nil if it is deleted.
	FilesChanged func(ctx context.Context, source inputs.FileSource, obj client.Object)
	// Waiting returns the HelmReleases that wait for objects of any of some Helm releases, which
	// are keys of the index by history.
	Waiting func(releases []string) []types.NamespacedName
	// ResetBackoff makes the next retry of a HelmRelease come soon.
	ResetBackoff func(key types.NamespacedName)
	// Received is called with each HelmRelease that the cache has received, and with those that were
	// deleted.
	Received func(hr client.Object, deleted bool)
}

// listByIndex returns every HelmRelease that an index has under key.
func (h *Handlers) listByIndex(ctx context.Context, index, key string) []helmv2.HelmRelease {
	var users helmv2.HelmReleaseList
	if err := h.Client.List(ctx, &users, client.MatchingFields{index: key}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the HelmReleases that use an object", "index", index, "object", key)
		return nil
	}
	return users.Items
}

// isReady reports whether a HelmRelease is ready for its present spec: it waits for nothing.
func isReady(hr *helmv2.HelmRelease) bool {
	return hr.Status.ObservedGeneration == hr.Generation &&
		apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReady)
}

func request(hr *helmv2.HelmRelease) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(hr)}
}
