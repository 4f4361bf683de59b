// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestListening: the address of a process that listens at port 0 is found.
func TestListening(t *testing.T) {
	if address, err := listening(os.Getpid(), HealthHost); err == nil {
		t.Errorf("nothing listens, but %s was found", address)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", HealthHost+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	if address, err := listening(os.Getpid(), HealthHost); err != nil || address != listener.Addr().String() {
		t.Errorf("found %s, want %s: %v", address, listener.Addr(), err)
	}
	// It is a socket of another process.
	if address, err := listening(os.Getppid(), HealthHost); err == nil {
		t.Errorf("the parent listens at %s", address)
	}
}

// TestReserve: a reserved address refuses connections until it is listened at.
func TestReserve(t *testing.T) {
	reserved, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", reserved.Address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection before Listen: %v", err)
	}
	listener, err := reserved.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", reserved.Address)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
}
