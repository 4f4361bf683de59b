// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Addresses are the addresses that an archive may have. The zero value allows public addresses only:
// private ranges include the ranges of Pods and Services.
type Addresses struct {
	// Allowed are ranges that are allowed nevertheless.
	Allowed []netip.Prefix
	// Instead is what to do about another address, in errors.
	Instead string
}

// Private returns the private ranges, which a user may reach.
func Private() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7"),
	}
}

// notPublic returns the ranges of IPv4, and of IPv6 within publicIPv6, that clusters, their nodes and
// clouds use, or that lead to other addresses.
func notPublic() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
		// The host agent of Azure, which has the secrets of a node.
		netip.MustParsePrefix("168.63.129.16/32"),
		// Teredo and other protocols, 6to4, and documentation.
		netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"),
	}
}

// Allows reports whether an archive may be downloaded from an address.
func (a Addresses) Allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(a.Allowed, contains) {
		return true
	}
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(ip) {
		// A gateway translates it to the IPv4 address in its last bytes.
		all := ip.As16()
		return a.Allows(netip.AddrFrom4([4]byte(all[12:])))
	}
	if publicIPv6 := netip.MustParsePrefix("2000::/3"); ip.Is6() && !publicIPv6.Contains(ip) {
		return false
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(notPublic(), contains)
}

// control rejects a connection after its name was resolved, so that a name cannot change its address
// in between.
func (a Addresses) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !a.Allows(at.Addr()) {
		return fmt.Errorf("the address %s is not public: %s", at.Addr(), a.Instead)
	}
	return nil
}

// Transport returns a transport for one archive. It connects to allowed addresses only, without a
// proxy, which would choose the address. Connections are not kept: they may have client credentials.
func (a Addresses) Transport(config *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: a.control}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 1 << 20, DisableKeepAlives: true,
		// The digest is one of the bytes that were sent, and unpacking has limits of its own.
		DisableCompression: true,
	}
}
