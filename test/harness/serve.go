// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"net"
	"net/http"
	"time"
)

// serve serves requests at an address, whose port may be 0, until the server is closed. It returns
// the address with the selected port.
func serve(ctx context.Context, address string, handler http.Handler) (*http.Server, string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return server, listener.Addr().String(), nil
}
