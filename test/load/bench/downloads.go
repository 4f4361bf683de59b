// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"github.com/pintle-dev/pintle/test/harness"
)

// proxy forwards requests of the controller for artifacts to source-controller, and counts the
// downloads.
type proxy struct {
	// address is host and port.
	address string

	server    *http.Server
	target    atomic.Pointer[url.URL]
	downloads atomic.Int64
	bytes     atomic.Int64
}

// startProxy listens before the address of artifacts is known, since source-controller gets the
// address of the proxy when it starts. Until setTarget is called, the proxy answers with errors.
func startProxy(ctx context.Context) (*proxy, error) {
	p := &proxy{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(p.target.Load()) }}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.target.Load() == nil {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodGet {
			p.downloads.Add(1)
		}
		forward.ServeHTTP(&meter{ResponseWriter: w, bytes: &p.bytes}, r)
	})
	var err error
	p.server, p.address, err = harness.Serve(ctx, "127.0.0.1:0", handler)
	return p, err
}

// setTarget sets the address of artifacts, as host and port.
func (p *proxy) setTarget(address string) { p.target.Store(&url.URL{Scheme: "http", Host: address}) }

func (p *proxy) close() error { return p.server.Close() }

// meter counts the bytes of an answer's body.
type meter struct {
	http.ResponseWriter

	bytes *atomic.Int64
}

func (m *meter) Write(content []byte) (int, error) {
	n, err := m.ResponseWriter.Write(content)
	m.bytes.Add(int64(n))
	return n, err
}

// Unwrap lets the proxy flush.
func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }
