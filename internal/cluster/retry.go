// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
)

// maxError is how much of an error's body is looked at.
const maxError = 16 << 10

// retryOnLeaderChange returns a transport that sends a request once more if the
// API server's storage was changing its leader, which takes a moment and is no
// fault of the request.
func retryOnLeaderChange(next http.RoundTripper) http.RoundTripper { return &retrier{next: next} }

type retrier struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport that holds connections.
func (r *retrier) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip implements http.RoundTripper.
func (r *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil || !leaderChanged(resp) {
		return resp, err
	}
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return resp, nil
		}
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the first answer is one
		}
	}
	_ = resp.Body.Close()
	return r.next.RoundTrip(again)
}

// leaderChanged looks into the error that an API server answers with. The body
// can be read afterwards as if nobody had.
func leaderChanged(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || resp.StatusCode < http.StatusInternalServerError || kind != "application/json" {
		return false
	}
	// What cannot be read now cannot be read later either: the reader of the rest
	// meets the same error.
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	resp.Body = &rewound{Reader: io.MultiReader(bytes.NewReader(head), resp.Body), Closer: resp.Body}
	text := string(head)
	return strings.Contains(text, "etcdserver: leader changed") || strings.Contains(text, "raft proposal dropped")
}

type rewound struct {
	io.Reader
	io.Closer
}
