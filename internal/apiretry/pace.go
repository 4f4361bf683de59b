// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// paceAfter is the time after which an answer must be complete, or have arrived at leastRate on
	// average. It is checked again every paceEvery.
	paceAfter = 15 * time.Second
	paceEvery = 5 * time.Second
	// leastRate is in bytes a second.
	leastRate = 64 << 10
)

// SlowError is the error of a read of a server that answers too slowly. It does not count as an
// outage: the server can be reached.
type SlowError struct {
	// Server is the host of the API server.
	Server string
	// Silent is true if no answer has started.
	Silent bool
	// Total is true if all reads of a reconciliation have taken too long together.
	Total bool
}

// Error implements error.
func (e *SlowError) Error() string {
	if e.Total {
		return fmt.Sprintf("the API server at %s has not answered all reads of the reconciliation in time", e.Server)
	}
	if e.Silent {
		return fmt.Sprintf("the API server at %s has sent no answer within %s", e.Server, paceAfter)
	}
	return fmt.Sprintf("the API server at %s sends fewer than %d bytes a second", e.Server, leastRate)
}

// pacedKey is the key of a bool in the context of a request, whether it is paced.
type pacedKey struct{}

// Paced returns a context for reads and dry runs that Pace ends if the server is too slow.
func Paced(ctx context.Context) context.Context { return context.WithValue(ctx, pacedKey{}, true) }

// unpaced returns a context for requests of actions to the controller's own cluster. They run in the
// background and may take longer.
func unpaced(ctx context.Context) context.Context { return context.WithValue(ctx, pacedKey{}, false) }

// Pace returns a transport that ends reads and dry runs with a context of Paced, and discovery, if the server
// answers too slowly. Reconciliations wait for them.
func Pace(next http.RoundTripper) http.RoundTripper { return &pace{next: next} }

type pace struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *pace) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *pace) RoundTrip(req *http.Request) (*http.Response, error) {
	if !isPaced(req) {
		return t.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	b := &pacedBody{ctx: ctx, cancel: cancel, server: req.URL.Host, elapsed: paceAfter}
	b.timer = time.AfterFunc(b.elapsed, b.check)
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = explainSlow(b.ctx, err)
		b.end()
		return nil, err
	}
	b.answered.Store(true)
	b.ReadCloser, resp.Body = resp.Body, b
	return resp, nil
}

// reads reports whether a request changes nothing and ends by itself.
func reads(req *http.Request) bool {
	return !streams(req) && (req.Method == http.MethodGet || req.URL.Query().Has("dryRun"))
}

// explainSlow returns the SlowError that has ended a request, and err if there is none.
func explainSlow(ctx context.Context, err error) error {
	if slow, ok := errors.AsType[*SlowError](context.Cause(ctx)); ok {
		return slow
	}
	return err
}

// isPaced reports whether a request must be answered soon.
func isPaced(req *http.Request) bool {
	if !reads(req) {
		return false
	}
	if wanted, known := req.Context().Value(pacedKey{}).(bool); known {
		return wanted
	}
	return Discovers(req.URL.Path)
}

// Discovers reports whether a path returns the version of a server or a list of its APIs. client-go
// sends such requests without a context.
func Discovers(path string) bool {
	for _, list := range []struct {
		root   string
		depths int
	}{{"/api", 1}, {"/apis", 2}, {"/version", 0}} {
		if i := strings.LastIndex(path, list.root); i >= 0 {
			rest := path[i+len(list.root):]
			if (rest == "" || rest[0] == '/') && strings.Count(rest, "/") <= list.depths {
				return true
			}
		}
	}
	return false
}

// pacedBody is the body of an answer that must arrive soon.
type pacedBody struct {
	io.ReadCloser

	ctx    context.Context //nolint:containedctx // of one request
	cancel context.CancelCauseFunc
	server string
	timer  *time.Timer
	// elapsed is the time from the start of the request to the next check.
	elapsed time.Duration
	// answered is true once the answer has started. received is the number of its bytes.
	answered atomic.Bool
	received atomic.Int64
}

// check ends the request if it is too slow.
func (b *pacedBody) check() {
	if b.received.Load() >= int64(b.elapsed.Seconds()*leastRate) {
		b.elapsed += paceEvery
		b.timer.Reset(paceEvery)
		return
	}
	b.cancel(&SlowError{Server: b.server, Silent: !b.answered.Load()})
}

// end releases the resources.
func (b *pacedBody) end() {
	b.timer.Stop()
	b.cancel(context.Canceled)
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.received.Add(int64(n))
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader returns io.EOF unwrapped
		err = explainSlow(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *pacedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
