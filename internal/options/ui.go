// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// UI configures the web page. The zero value serves none.
type UI struct {
	// Address is a listen address; empty serves no page.
	Address string
	// CertFile and KeyFile are files with the certificate and the key of TLS. Without them, the page
	// is served on loopback only.
	CertFile, KeyFile string
	// AnonymousUser is the user for requests without a token; empty requires one.
	AnonymousUser string
}

func (u *UI) validate() error {
	if u.Address == "" {
		if u.CertFile != "" || u.KeyFile != "" || u.AnonymousUser != "" {
			return errors.New("--ui-tls-cert-file, --ui-tls-key-file and --ui-anonymous-user need --ui-addr")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(u.Address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err != nil:
		return fmt.Errorf("--ui-addr=%s: not a host and a port, such as :9443, 127.0.0.1:9443 or [::1]:9443", u.Address)
	case (u.CertFile == "") != (u.KeyFile == ""):
		return errors.New("--ui-tls-cert-file and --ui-tls-key-file: both or none")
	case u.CertFile == "" && !isLoopback(host):
		return fmt.Errorf("--ui-addr=%s: without --ui-tls-cert-file, only an address of loopback, such as 127.0.0.1:9443, [::1]:9443 or localhost:9443", u.Address)
	}
	return nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
