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

// TestDeafReceiverDelaysNobody: visits that make events take no longer for a
// receiver that takes them slowly, or not at all. Time stands still while anybody
// works, so any wait would be seen.
func TestDeafReceiverDelaysNobody(t *testing.T) {
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
		const visits = 300
		for i := range visits {
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			obstacle := &release.Blocked{Reason: helmv2.ReasonDependencyNotReady, Message: fmt.Sprintf("for the %d. reason", i), Retry: release.Never()}
			if _, err := r.publisher.blocked(t.Context(), reconciliation{read: hr, hr: hr}, obstacle); err != nil {
				t.Fatal(err)
			}
		}
		if len(made.Events) != visits {
			t.Errorf("%d events were made by %d visits", len(made.Events), visits)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the visits took %s", took)
		}
	})
}
