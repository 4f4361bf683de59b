// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/release"
)

// deaf is a receiver that takes requests and never answers.
type deaf struct{}

func (deaf) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// TestDeafReceiverDelaysNothing: reconciliations that make events take no longer for a receiver
// that is slow, or does not answer. Time stands still while a goroutine runs, so that a wait
// would be noticed.
func TestDeafReceiverDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := testReconciler(t, &stub{})
		made := record.NewFakeRecorder(10000)
		sender := events.NewSender(t.Context(), events.Options{
			URL: "http://receiver/", Flush: time.Second, Observer: r.metrics, Log: logr.Discard(), Now: time.Now, Base: deaf{},
		})
		defer sender.Close()
		r.events = events.NewRecorder(made, controller.Scheme(), sender)
		begun := time.Now()
		// More than the queue holds.
		const reconciliations = 300
		for i := range reconciliations {
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			obstacle := &release.Blocked{Reason: helmv2.ReasonDependencyNotReady, Message: fmt.Sprintf("for the %d. reason", i), Retry: release.Never()}
			if _, err := r.publisher.publishObstacle(t.Context(), reconciliation{read: hr, hr: hr}, obstacle); err != nil {
				t.Fatal(err)
			}
		}
		if len(made.Events) != reconciliations {
			t.Errorf("%d events were made by %d reconciliations", len(made.Events), reconciliations)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the reconciliations took %s", took)
		}
	})
}
