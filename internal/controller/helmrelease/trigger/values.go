// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// configDelay is how long a change of a ConfigMap or Secret waits for others: the objects that one
// commit changes should be one upgrade.
const configDelay = time.Second

// Values enqueues the HelmReleases that an index has for a ConfigMap or Secret, after configDelay.
func (h *Handlers) Values(index string) handler.EventHandler {
	enqueue := func(ctx context.Context, obj client.Object, changed bool, q queue) {
		for _, hr := range h.listByIndex(ctx, index, client.ObjectKeyFromObject(obj).String()) {
			if changed {
				h.Changed(&hr, obj)
			}
			q.AddAfter(request(&hr), configDelay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, false, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, true, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, false, q) },
	}
}
