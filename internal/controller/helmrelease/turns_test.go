// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/attempt"
)

// mute is a server that does not answer.
type mute struct{}

// RoundTrip implements http.RoundTripper.
func (mute) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// readOf sends a read with the context of a reconciliation, and returns the error that ends it.
func readOf(ctx context.Context, t *testing.T, transport http.RoundTripper) *apiretry.SlowError {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api/api/v1/secrets", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	slow, ok := errors.AsType[*apiretry.SlowError](err)
	if !ok {
		t.Fatalf("the read has no limit: %v, %v", resp, err)
	}
	return slow
}

// TestTurns: reconciliations that read other clusters are limited in their number, and their reads in
// time. They occupy no slot meanwhile. The reads of all reconciliations are limited in time together.
// All of them end their turns.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			reason  string
			remote  bool
			waiting int
			want    bool
		}{
			{"the own cluster", false, 3, true},
			{"another cluster", true, 2, true},
			{"one too many", true, 3, false},
		} {
			s := &stub{}
			r := testReconciler(t, s)
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			if tc.remote {
				hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "there"}}
				if err := r.client.Update(t.Context(), hr); err != nil {
					t.Fatal(err)
				}
			}
			r.turns = attempt.NewTurns(attempt.TurnOptions{Slots: 1, Enqueue: func(types.NamespacedName) {}, Now: time.Now})
			for range tc.waiting {
				other, err := r.turns.Begin(t.Context(), key)
				if err != nil || !other.Remote() {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				defer other.End()
			}
			s.meanwhile = func() {
				begun := time.Now()
				if tc.remote {
					other, err := r.turns.Begin(t.Context(), types.NamespacedName{Namespace: "other", Name: "web"})
					if took := time.Since(begun); err != nil || took != 0 {
						t.Fatalf("%s: another tenant has waited for a slot for %s: %v", tc.reason, took, err)
					}
					other.End()
				}
				if err := readOf(s.context, t, apiretry.Deadline(mute{})); time.Since(begun) > deadline || !err.Total {
					t.Errorf("%s: all reads together are not limited: %v", tc.reason, err)
				}
			}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if (s.context != nil) != tc.want || err != nil || !tc.want && result.RequeueAfter != attempt.TurnRetry {
				t.Errorf("%s: %v, %v", tc.reason, result, err)
			}
			if last, err := r.turns.Begin(t.Context(), key); err != nil || (tc.waiting == 2) != last.Remote() {
				t.Errorf("%s: the turn was not ended: %v", tc.reason, err)
			} else {
				last.End()
			}
			if tc.remote && tc.want {
				if err := readOf(s.context, t, apiretry.Pace(mute{})); !err.Silent {
					t.Errorf("the read is not limited: %v", err)
				}
			}
		}
	})
}
