// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Addresses are the addresses that an archive may have. The zero value allows public addresses only:
// private ranges include those of Pods and Services.
type Addresses struct {
	// Allowed are ranges that are allowed nevertheless.
	Allowed []netip.Prefix
}

// sharedRanges returns the ranges beside the private ones that clusters and their nodes use, or that
// lead to other addresses.
func sharedRanges() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
		netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"),
	}
}

// Allows reports whether an archive may be downloaded from an address.
func (a Addresses) Allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(a.Allowed, contains) {
		return true
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(sharedRanges(), contains)
}

// control rejects a connection after its name was resolved, so that a name cannot change its address
// in between.
func (a Addresses) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !a.Allows(at.Addr()) {
		return fmt.Errorf("the address %s is not public: allow its range with --helmchart-archive-cidr", at.Addr())
	}
	return nil
}

// Transport returns a transport that connects to allowed addresses only. It uses no proxy, which would
// choose the address.
func (a Addresses) Transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: a.control}
	return &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 10, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second}
}
