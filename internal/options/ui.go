// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"net/netip"
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
		return nil
	}
	address, err := netip.ParseAddrPort(u.Address)
	loopback := err == nil && address.Addr().IsLoopback()
	switch {
	case (u.CertFile == "") != (u.KeyFile == ""):
		return errors.New("--ui-tls-cert-file and --ui-tls-key-file: both or none")
	case u.CertFile == "" && !loopback:
		return fmt.Errorf("--ui-addr=%s: without --ui-tls-cert-file, only an IP address of loopback, such as 127.0.0.1:9443", u.Address)
	}
	return nil
}
