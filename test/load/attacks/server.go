// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"net/http"
	"net/http/httputil"
	"net/url"

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
