// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// NewQueue returns the work queue of a controller with a name. The product sets none, which is
// controller-runtime's priority queue. Tests that run the controllers in their process wrap that
// queue: it receives every key that is enqueued, and the start, result and end of each
// reconciliation.
type NewQueue func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]
