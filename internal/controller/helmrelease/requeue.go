// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/pintle-dev/pintle/internal/release"
)

// soon is the delay of an immediate requeue: a zero RequeueAfter would mean never.
const soon = time.Millisecond

// requeue is the only place that decides when a reconciliation is repeated.
func (e *environment) requeue(key types.NamespacedName, retry release.Retry) ctrl.Result {
	switch {
	case retry.IsNever():
		return ctrl.Result{}
	case retry.IsNow():
		return ctrl.Result{RequeueAfter: soon}
	case retry.IsBackoff():
		delay := e.backoff.When(key)
		if limit := retry.Limit(); limit > 0 {
			delay = min(delay, limit)
		}
		return ctrl.Result{RequeueAfter: delay}
	}
	delay, spread := retry.Delay()
	if delay <= 0 {
		// Users set an interval of zero to disable reconciliations at intervals.
		return ctrl.Result{}
	}
	if spread {
		return lowPriority(ctrl.Result{RequeueAfter: e.spread(delay)})
	}
	return ctrl.Result{RequeueAfter: delay}
}

// lowPriority makes the next reconciliation come after those that are triggered by a change. A
// change of the release meanwhile raises it again.
func lowPriority(result ctrl.Result) ctrl.Result {
	low := handler.LowPriority
	result.Priority = &low
	return result
}

// spreadBy returns a function that changes a duration by up to percent either way.
func spreadBy(percent int) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		part := int64(d) * int64(percent) / 100
		if part <= 0 {
			return d
		}
		return d + time.Duration(rand.Int64N(2*part)-part) //nolint:gosec // spreading load needs no secrecy
	}
}

// staggerBy returns a function that returns a random duration up to d, or d itself if intervals are
// not spread at all. All releases are reconciled at the start. Spread by a few percent, they would
// take many intervals to come apart, and each would be a burst of reconciliations.
func staggerBy(percent int) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		if percent == 0 || d <= 0 {
			return d
		}
		return 1 + time.Duration(rand.Int64N(int64(d))) //nolint:gosec // spreading load needs no secrecy
	}
}
