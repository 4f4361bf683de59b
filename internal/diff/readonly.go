// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"net/http"
	"slices"
)

// ReadOnly returns a transport that refuses requests that could change the cluster.
func ReadOnly(base http.RoundTripper) http.RoundTripper { return readOnly{base} }

type readOnly struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return r.base.RoundTrip(req)
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		if slices.Equal(req.URL.Query()["dryRun"], []string{"All"}) {
			return r.base.RoundTrip(req)
		}
	}
	if req.Body != nil {
		_ = req.Body.Close() // a RoundTripper must close it
	}
	return nil, fmt.Errorf("a diff must not write: %s %s is refused", req.Method, req.URL.Path)
}
