// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Serve serves requests at an address, whose port may be 0, until the server is closed. It returns
// the address with the selected port.
func Serve(ctx context.Context, address string, handler http.Handler) (*http.Server, string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", err
	}
	return serveOn(listener, handler), listener.Addr().String(), nil
}

func serveOn(listener net.Listener, handler http.Handler) *http.Server {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return server
}

// Reserved is an address of the loopback interface that refuses connections until Listen is called.
// No other process can take it meanwhile.
type Reserved struct {
	// Address is host and port.
	Address string

	socket int
}

// Reserve reserves an address.
func Reserve() (*Reserved, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	host := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: host.As4()}); err != nil {
		return nil, errors.Join(fmt.Errorf("bind: %w", err), syscall.Close(socket))
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("getsockname: %w", err), syscall.Close(socket))
	}
	var port int
	if v4, ok := bound.(*syscall.SockaddrInet4); ok {
		port = v4.Port
	}
	return &Reserved{Address: net.JoinHostPort(host.String(), strconv.Itoa(port)), socket: socket}, nil
}

// Listen accepts connections from now on. It is called once.
func (r *Reserved) Listen() (net.Listener, error) {
	file := os.NewFile(uintptr(r.socket), r.Address) // #nosec G115
	// The listener has a copy of the socket.
	defer func() { _ = file.Close() }()
	if err := syscall.Listen(r.socket, syscall.SOMAXCONN); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return net.FileListener(file)
}
