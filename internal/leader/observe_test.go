// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestObserves: a process that only observes sends reads, and as itself also its report and
// requests for tokens.
func TestObserves(t *testing.T) {
	t.Parallel()
	const token, review = "/api/v1/namespaces/n/serviceaccounts/a/token", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	for request, want := range map[string]struct{ own, releases bool }{
		"GET " + secret: {true, true}, "HEAD " + secret: {true, true}, "OPTIONS " + secret: {true, true},
		"POST /api/v1/namespaces/n/events":    {own: true},
		"PATCH /api/v1/namespaces/n/events/e": {own: true},
		"POST " + token:                       {own: true},
		"POST " + review:                      {true, true},
		"PUT " + token:                        {}, "POST /api/v1/namespaces/n/serviceaccounts": {}, "POST /api/v1/namespaces/n/secrets/a/token": {},
		"POST /base" + token: {}, "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": {}, "PUT " + review: {},
		"POST /apis/other.example/v1/selfsubjectaccessreviews": {},
		"PUT " + secret: {}, "POST " + secret: {}, "PATCH " + secret: {}, "DELETE " + secret: {}, "CONNECT " + secret: {},
		"PATCH " + secret + "?dryRun=All": {},
	} {
		for name, pass := range map[string]bool{"own": want.own, "releases": want.releases} {
			s := &server{answer: make(chan struct{})}
			close(s.answer)
			guard := ObserveOwn(s)
			if name == "releases" {
				guard = ObserveReleases(s)
			}
			method, path, _ := strings.Cut(request, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, "http://h"+path, io.NopCloser(strings.NewReader("content")))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := guard.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if pass && err != nil || !pass && (!errors.Is(err, ErrObserves) || len(s.sent) > 0) {
				t.Errorf("%s, %s: %v, want it to pass: %t", request, name, err, pass)
			}
		}
	}
}
