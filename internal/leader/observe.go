// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"fmt"
	"net/http"
	"strings"
)

// ErrObserves is the error of a write of a process that only observes.
var ErrObserves error = observesError{}

type observesError struct{}

func (observesError) Error() string { return "not sent: this process only observes (--observe)" }

// NotSent reports true: clients must not repeat the request.
func (observesError) NotSent() bool { return true }

// ObserveOwn returns a transport for the controller's own identity in a process that only observes.
// It sends reads, events, requests for tokens of ServiceAccounts, and reviews of the own rights.
// They change no other object.
func ObserveOwn(next http.RoundTripper) http.RoundTripper {
	return &observer{next: next, passes: func(r *http.Request) bool { return unfenced(r) || isTokenRequest(r) || isSelfReview(r) }}
}

// ObserveReleases returns a transport for the identities of releases in a process that only
// observes, in any cluster. It sends reads and reviews of the own rights.
func ObserveReleases(next http.RoundTripper) http.RoundTripper {
	return &observer{next: next, passes: func(r *http.Request) bool { return isRead(r) || isSelfReview(r) }}
}

type observer struct {
	next   http.RoundTripper
	passes func(*http.Request) bool
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (o *observer) WrappedRoundTripper() http.RoundTripper { return o.next }

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.passes(req) {
		return o.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, ErrObserves)
}

// isTokenRequest reports whether a request is for a token of a ServiceAccount.
func isTokenRequest(req *http.Request) bool {
	parts := apiPath(req)
	// api/v1/namespaces/NAMESPACE/serviceaccounts/NAME/token
	return req.Method == http.MethodPost && len(parts) == 7 && parts[0] == "api" && parts[2] == "namespaces" &&
		parts[4] == "serviceaccounts" && parts[6] == "token"
}

// isSelfReview reports whether a request reads the rights of the identity that sends it.
func isSelfReview(req *http.Request) bool {
	parts := apiPath(req)
	// apis/authorization.k8s.io/v1/RESOURCE
	return req.Method == http.MethodPost && len(parts) == 4 && parts[0] == "apis" && parts[1] == "authorization.k8s.io" &&
		strings.HasPrefix(parts[3], "selfsubject")
}

func apiPath(req *http.Request) []string {
	return strings.Split(strings.TrimPrefix(req.URL.Path, "/"), "/")
}
