// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"net/http"
)

// OnLeaderChange returns a transport that repeats a request once if etcd was changing its leader.
// It is for requests that are part of no action. Requests that create objects are sent once: the
// first may have been carried out.
func OnLeaderChange(next http.RoundTripper) http.RoundTripper { return &onLeaderChange{next: next} }

type onLeaderChange struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *onLeaderChange) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *onLeaderChange) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.StatusCode < http.StatusInternalServerError || !sendable(req) || creates(req) {
		return resp, err
	}
	if !leaderChanged(responseAnswer(resp, nil)) {
		return resp, nil
	}
	again, err := copyRequest(req)
	if err != nil {
		return resp, nil //nolint:nilerr // the first response is returned
	}
	_ = resp.Body.Close()
	return t.next.RoundTrip(again)
}
