// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// TestAddressRate: an address may send a burst, and another address is not affected. Headers do not
// change the address.
func TestAddressRate(t *testing.T) {
	h := guard(stub{}, NewLimits(frozen), true, logr.Discard())
	for n := range addressBurst {
		if got := serve(h, request("GET", "/")); got.Code != 200 {
			t.Fatalf("request %d: %d", n, got.Code)
		}
	}
	for want, r := range map[int]*http.Request{
		429: request("GET", "/", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.9") }),
		200: request("GET", "/", from("192.0.2.2:1000")),
	} {
		if got := serve(h, r); got.Code != want {
			t.Errorf("%s: %d, want %d", r.RemoteAddr, got.Code, want)
		}
	}
}

// TestAddresses: a host is one client, with any port and any address of its network.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:1":           "192.0.2.1",
		"192.0.2.1:2":           "192.0.2.1",
		"[::ffff:192.0.2.1]:1":  "192.0.2.1",
		"[2001:db8:0:1::1]:1":   "2001:db8:0:1::/64",
		"[2001:db8:0:1:f::2]:1": "2001:db8:0:1::/64",
		"[2001:db8:0:2::1]:1":   "2001:db8:0:2::/64",
		"[fe80::1%eth0]:1":      "fe80::/64",
		"@":                     "@",
	} {
		if got := addressOf(request("GET", "/", from(address))); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestLoginRate: logins have a lower rate.
func TestLoginRate(t *testing.T) {
	now := frozen()
	h := guard(stub{}, NewLimits(func() time.Time { return now }), true, logr.Discard())
	for n := range loginBurst {
		if got := serve(h, request("POST", "/login")); got.Code != 200 {
			t.Fatalf("login %d: %d", n, got.Code)
		}
	}
	if got := serve(h, request("POST", "/login")); got.Code != 429 {
		t.Errorf("got %d", got.Code)
	}
	if got := serve(h, request("GET", "/login")); got.Code != 200 {
		t.Errorf("the form: %d", got.Code)
	}
	now = now.Add(2 * time.Second)
	if got := serve(h, request("POST", "/login")); got.Code != 200 {
		t.Errorf("later: %d", got.Code)
	}
}

// TestUserLimits: a user may have some requests and streams at the same time, and send some a second.
func TestUserLimits(t *testing.T) {
	l := NewLimits(frozen)
	var all []func()
	for range maxRequestsOfUser {
		leave, ok := l.Enter(request("GET", "/"), "ann")
		if !ok {
			t.Fatal("refused")
		}
		all = append(all, leave)
	}
	if _, ok := l.Enter(request("GET", "/"), "ann"); ok {
		t.Error("a request over the maximum is not refused")
	}
	for _, tc := range []struct{ path, user string }{{"/", "bob"}, {"/events", "ann"}} {
		leave, ok := l.Enter(request("GET", tc.path), tc.user)
		if !ok {
			t.Errorf("%+v is refused", tc)
			continue
		}
		leave()
	}
	for _, leave := range all {
		leave()
	}
	if len(l.open) != 0 {
		t.Errorf("still open: %v", l.open)
	}
	for range userBurst - maxRequestsOfUser - 2 {
		leave, ok := l.Enter(request("GET", "/"), "ann")
		if !ok {
			t.Fatal("refused within the burst")
		}
		leave()
	}
	if _, ok := l.Enter(request("GET", "/"), "ann"); ok {
		t.Error("a request over the rate is not refused")
	}
}

// TestRatesAreBounded: the table does not grow, buckets that are full make room, and keys without a
// bucket share one.
func TestRatesAreBounded(t *testing.T) {
	now := frozen()
	r := newRates(1, 2, 3, func() time.Time { return now })
	for n := range 10 {
		r.allow(fmt.Sprint(n))
	}
	if len(r.byKey) != 3 {
		t.Errorf("%d buckets", len(r.byKey))
	}
	if r.allow("a") || r.allow("b") {
		t.Error("keys without a bucket do not share one")
	}
	if !r.allow("0") {
		t.Error("a key with a bucket is refused")
	}
	now = now.Add(time.Second)
	r.allow("new")
	if len(r.byKey) != 2 || r.byKey["0"] == nil || r.byKey["new"] == nil {
		t.Errorf("buckets after a second: %v", r.byKey)
	}
}
