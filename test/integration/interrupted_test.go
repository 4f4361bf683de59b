// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestInterrupted: an upgrade is interrupted, not failed, if the API server does not answer within
// the retry budget. The message of Ready has the start of the outage and is equal at every retry.
// The upgrade follows once the API server answers.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	var down atomic.Bool
	ours := []string{"/api/v1/namespaces/" + w.namespace + "/configmaps", "/api/v1/namespaces/" + w.namespace + "/secrets"}
	own := w.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			helms := strings.HasPrefix(req.URL.Path, ours[0]) || strings.HasPrefix(req.URL.Path, ours[1]) || req.URL.Path == "/readyz"
			if !down.Load() || !helms || req.URL.Query().Get("watch") != "" {
				return next.RoundTrip(req)
			}
			const code = http.StatusServiceUnavailable
			body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","message":"try again at %s","code":%d}`, time.Now(), code)
			return &http.Response{
				StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
				Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		})
	}})
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "one"}, own, expires)
	w.untilReady(hr)

	began := time.Now().Truncate(time.Second)
	down.Store(true)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	interrupted := func(hr *helmv2.HelmRelease) bool {
		return condition(hr, helmv2.ConditionReady).Reason == helmv2.ReasonInterrupted
	}
	// An action has at least 30 s for its retries.
	w.until(hr, "an interruption", interrupted)
	ended := time.Now()
	first := condition(hr, helmv2.ConditionReady)
	since, err := time.Parse(time.RFC3339, first.LastTransitionTime.UTC().Format(time.RFC3339))
	if err != nil || since.Before(began) || ended.Sub(since) < 30*time.Second {
		t.Errorf("the outage is from %s to %s, and is said to have begun at %s", began, ended, since)
	}
	if first.Status != metav1.ConditionFalse || !strings.Contains(first.Message, "has been unavailable since "+since.UTC().Format(time.RFC3339)+": ") ||
		!strings.Contains(first.Message, "'upgrade' action of release "+w.namespace+"/app") {
		t.Errorf("Ready is %+v", first)
	}
	w.until(hr, "another try", func(hr *helmv2.HelmRelease) bool {
		return strings.HasPrefix(condition(hr, helmv2.ConditionReconciling).Message, "Running 'upgrade'") &&
			hr.Status.LastAttemptedGeneration == hr.Generation
	})
	if again := condition(hr, helmv2.ConditionReady); again.Message != first.Message || !again.LastTransitionTime.Equal(&first.LastTransitionTime) {
		t.Errorf("while it is tried again, Ready is %+v, before %+v", again, first)
	}

	down.Store(false)
	w.untilReady(hr)
	if s := hr.Status; s.Failures != 0 || s.UpgradeFailures != 0 || newest(hr) != 2 || w.configMap("app").Data["message"] != "two" {
		t.Errorf("newest revision %d, %d and %d failures", newest(hr), s.Failures, s.UpgradeFailures)
	}
	for reason, want := range map[string]int{
		helmv2.ReasonInterrupted: 1, helmv2.ReasonUpgradeSucceeded: 1, helmv2.ReasonUpgradeFailed: 0, helmv2.ReasonStateError: 0,
	} {
		w.expectEvents(hr, reason, want)
	}
}
