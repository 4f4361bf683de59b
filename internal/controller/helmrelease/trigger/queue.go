// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue enqueues HelmReleases from outside of watches, such as at the end of an action. The zero
// value is ready for use.
type Queue struct {
	mu    sync.Mutex
	queue queue
	early []types.NamespacedName
}

// Enqueue triggers a reconciliation of a HelmRelease. It never blocks. Keys that come before the
// controller has started are kept.
func (q *Queue) Enqueue(key types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		q.early = append(q.early, key)
		return
	}
	q.queue.Add(reconcile.Request{NamespacedName: key})
}

// EnqueueAll triggers reconciliations of HelmReleases with low priority. It never blocks. HelmReleases
// are reconciled at the start of the controller anyway.
func (q *Queue) EnqueueAll(keys []types.NamespacedName) {
	q.mu.Lock()
	to := q.queue
	q.mu.Unlock()
	low := handler.LowPriority
	for _, key := range keys {
		request := reconcile.Request{NamespacedName: key}
		switch prioritized, ok := to.(priorityqueue.PriorityQueue[reconcile.Request]); {
		case ok:
			prioritized.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, request)
		case to != nil:
			to.Add(request)
		}
	}
}

// Start implements source.Func.
func (q *Queue) Start(_ context.Context, to queue) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = to
	for _, key := range q.early {
		to.Add(reconcile.Request{NamespacedName: key})
	}
	q.early = nil
	return nil
}

// startTimeout is how long the first reconciliations wait for data that they need. The data may
// never be complete: the controller may not be allowed to watch.
const startTimeout = 10 * time.Second

// Index is a source without events. The first reconciliations wait until it is closed.
type Index <-chan struct{}

// SealKey is a source without events. The first reconciliations wait until it is closed: without the
// key of seals, interrupted actions would not be resumed.
type SealKey <-chan struct{}

// Start implements source.Source.
func (SealKey) Start(context.Context, queue) error { return nil }

// WaitForSync implements source.SyncingSource.
func (k SealKey) WaitForSync(ctx context.Context) error {
	select {
	case <-k:
	case <-ctx.Done():
	}
	return nil
}

// Policies is a source without events. The first reconciliations wait until all are closed: a
// release must not be reported as held because policies are not known yet.
type Policies []<-chan struct{}

// Start implements source.Source.
func (Policies) Start(context.Context, queue) error { return nil }

// WaitForSync implements source.SyncingSource.
func (p Policies) WaitForSync(ctx context.Context) error {
	end := time.After(startTimeout)
	for _, known := range p {
		select {
		case <-known:
		case <-end:
			ctrl.LoggerFrom(ctx).Info("the policies are not known yet: nothing is installed, upgraded or uninstalled until they are")
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// Start implements source.Source.
func (Index) Start(context.Context, queue) error { return nil }

// WaitForSync implements source.SyncingSource.
func (i Index) WaitForSync(ctx context.Context) error {
	select {
	case <-i:
	case <-time.After(startTimeout):
		ctrl.LoggerFrom(ctx).Info("the index of Helm storage is not there yet: releases are looked up one by one")
	case <-ctx.Done():
	}
	return nil
}
