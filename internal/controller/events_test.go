// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
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
		r := newReconciler(t, &stub{})
		made := record.NewFakeRecorder(10000)
		sender := events.NewSender(t.Context(), events.Options{
			URL: "http://receiver/", Flush: time.Second, Observer: r.metrics, Log: logr.Discard(), Now: time.Now, Base: deaf{},
		})
		defer sender.Close()
		r.events = events.NewRecorder(made, Scheme(), sender)
		begun := time.Now()
		// More than the queue holds.
		const visits = 300
		for i := range visits {
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			obstacle := &release.Blocked{Reason: helmv2.ReasonDependencyNotReady, Message: fmt.Sprintf("for the %d. reason", i), Retry: release.Never()}
			if _, err := r.publishBlocked(t.Context(), hr.DeepCopy(), hr, obstacle); err != nil {
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

// counter counts requests, and answers well.
type counter struct{ requests atomic.Int32 }

func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: req}, nil
}

// TestHelmChartsAreNoNews: what is done to them is on the API server only.
func TestHelmChartsAreNoNews(t *testing.T) {
	r, posted := newReconciler(t, &stub{}), &counter{}
	sender := events.NewSender(t.Context(), events.Options{
		URL: "http://receiver/", Flush: time.Minute, Observer: r.metrics, Log: logr.Discard(), Now: time.Now, Base: posted,
	})
	made := record.NewFakeRecorder(10)
	r.events = events.NewRecorder(made, Scheme(), sender)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	r.tell(hr, helmv2.EventReasonHelmChartCreated, "Created")
	r.emit(hr, []status.Event{{Type: corev1.EventTypeNormal, Reason: helmv2.ReasonInstallSucceeded}})
	sender.Close()
	if n := posted.requests.Load(); n != 1 || len(made.Events) != 2 {
		t.Errorf("of %d events %d were posted", len(made.Events), n)
	}
}
