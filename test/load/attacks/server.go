// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

// forwarder returns a handler that sends requests to the real API server, as its administrator.
func forwarder(config *rest.Config) (http.Handler, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {},
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) },
	}, nil
}

// serve serves requests at a free port of the loopback interface until stop is called.
func serve(ctx context.Context, handler http.Handler) (address string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}
