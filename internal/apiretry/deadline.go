// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// withinKey is the key of a context in the context of a request. Its deadline applies to all reads
// together.
type withinKey struct{}

// Within returns a context whose reads and dry runs, all together, have a limited time. It limits no
// writes, so the outcome of a reconciliation can still be written. The reads end by Deadline. cancel
// releases the resources, and ends no request.
func Within(ctx context.Context, d time.Duration) (limited context.Context, cancel func()) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	return context.WithValue(ctx, withinKey{}, limit), cancel
}

// Unlimited returns a context without the limit of Within, for actions.
func Unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, withinKey{}, context.Context(nil))
}

// Deadline returns a transport that ends reads and dry runs with a context of Within at their
// deadline. Their error is a SlowError. Each write ends after tryTimeout, with a transient error: it
// may have been carried out, so the next reconciliation must read before it writes again. Watches and
// other streams have no limit.
func Deadline(next http.RoundTripper) http.RoundTripper { return &deadline{next: next} }

type deadline struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *deadline) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	limit, _ := req.Context().Value(withinKey{}).(context.Context)
	if streams(req) || reads(req) && limit == nil {
		return t.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	var stop func() bool
	if reads(req) {
		stop = context.AfterFunc(limit, func() {
			if errors.Is(limit.Err(), context.DeadlineExceeded) {
				cancel(&SlowError{Server: req.URL.Host, Total: true})
			}
		})
	} else {
		stop = time.AfterFunc(tryTimeout, func() { cancel(errSilent) }).Stop
	}
	body := &boundedBody{ctx: ctx, end: func() { stop(); cancel(context.Canceled) }}
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = explainEnd(ctx, err)
		body.end()
		return nil, err
	}
	body.ReadCloser, resp.Body = resp.Body, body
	return resp, nil
}

// explainEnd returns why Deadline has ended a request, and err if it has not.
func explainEnd(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return &lostError{errSilent}
	}
	return explainSlow(ctx, err)
}

// boundedBody is the body of an answer with a deadline.
type boundedBody struct {
	io.ReadCloser

	ctx context.Context //nolint:containedctx // of one request
	end func()
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader returns io.EOF unwrapped
		err = explainEnd(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
