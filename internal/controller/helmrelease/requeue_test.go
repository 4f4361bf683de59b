// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestIntervalYields: a reconciliation after an interval has low priority.
func TestIntervalYields(t *testing.T) {
	r := testReconciler(t, &stub{})
	for name, tc := range map[string]struct {
		retry  release.Retry
		yields bool
	}{
		"Interval": {release.Interval(time.Minute), true},
		"Wait":     {release.After(time.Minute), false},
		"Progress": {release.Now(), false},
		"Failure":  {release.Backoff(), false},
	} {
		result := r.requeue(key, tc.retry)
		if yields := result.Priority != nil && *result.Priority == handler.LowPriority; yields != tc.yields {
			t.Errorf("%s: yields %t, and after %s", name, yields, result.RequeueAfter)
		}
	}
	// A release that was enqueued without a change keeps the time of its next comparison.
	s := &stub{stored: []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1"}}}
	r = testReconciler(t, s)
	for range 4 {
		s.read = nil
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter > controller.StaleRetry && (result.Priority == nil || *result.Priority != handler.LowPriority) {
			t.Errorf("a reconciliation ends with %+v", result)
		}
	}
	if s.read != nil {
		t.Error("it never came to rest")
	}
}
