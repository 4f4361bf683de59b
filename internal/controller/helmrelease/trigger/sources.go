// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// Sources enqueues the HelmReleases that use a source of a kind for their chart, except those that
// already run its revision.
func (h *Handlers) Sources(kind string) handler.EventHandler {
	enqueue := func(ctx context.Context, obj client.Object, exists bool, q queue) {
		for _, hr := range h.listByIndex(ctx, controller.IndexSource, kind+"/"+client.ObjectKeyFromObject(obj).String()) {
			if exists && isAttempted(&hr, obj) {
				continue
			}
			if exists && inputs.HasFiles(&hr) {
				h.ArtifactChanged(client.ObjectKeyFromObject(&hr))
			}
			q.Add(request(&hr))
		}
		source := inputs.FileSource{Kind: kind, Key: client.ObjectKeyFromObject(obj)}
		if !exists {
			obj = nil
		}
		h.FilesChanged(ctx, source, obj)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, true, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, true, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, false, q) },
	}
}

// isAttempted reports whether a HelmRelease has installed the revision of a source, or is
// installing it.
func isAttempted(hr *helmv2.HelmRelease, source client.Object) bool {
	reconciling := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReconciling)
	// With another reason it waits, perhaps for this source.
	acting := reconciling != nil && reconciling.Status == metav1.ConditionTrue && reconciling.Reason == helmv2.ReasonProgressing
	return (acting || isReady(hr)) &&
		inputs.HasRevision(source, hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest)
}
