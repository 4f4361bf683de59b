// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// TestAddressRate: an address may send a burst, and another address is not affected, nor are assets.
// Headers do not change the address.
func TestAddressRate(t *testing.T) {
	h := guard(stub{}, NewLimits(frozen), true, logr.Discard())
	for n := range addressBurst {
		if got := serve(h, request("GET", "/")); got.Code != 200 {
			t.Fatalf("request %d: %d", n, got.Code)
		}
	}
	for _, tc := range []struct {
		r    *http.Request
		want int
	}{
		{request("GET", "/", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.9") }), 429},
		{request("GET", "/", from("192.0.2.2:1000")), 200},
		{request("GET", "/assets/page.css"), 200},
	} {
		if got := serve(h, tc.r); got.Code != tc.want {
			t.Errorf("%s of %s: %d, want %d", tc.r.URL, tc.r.RemoteAddr, got.Code, tc.want)
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

// enter counts a request of a user, and returns the code of its answer.
func enter(l *Limits, path, user string) (leave func(), code int) {
	leave, code, _ = l.Enter(request("GET", path), user)
	return leave, code
}

// TestUserLimits: a user may have some requests and streams at the same time, and send some a second.
func TestUserLimits(t *testing.T) {
	l := NewLimits(frozen)
	var all []func()
	for range maxRequestsOfUser {
		leave, code := enter(l, "/", "ann")
		if code != 0 {
			t.Fatal("refused")
		}
		all = append(all, leave)
	}
	if _, code := enter(l, "/", "ann"); code != 429 {
		t.Errorf("a request over the maximum: %d", code)
	}
	for _, tc := range []struct{ path, user string }{{"/", "bob"}, {"/events", "ann"}} {
		leave, code := enter(l, tc.path, tc.user)
		if code != 0 {
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
		leave, code := enter(l, "/", "ann")
		if code != 0 {
			t.Fatal("refused within the burst")
		}
		leave()
	}
	if _, code := enter(l, "/", "ann"); code != 429 {
		t.Errorf("a request over the rate: %d", code)
	}
}

// TestConcurrentRequests: more requests of all users than the maximum wait, and are refused then. Event
// streams are counted apart.
func TestConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(time.Now)
		var all []func()
		for n := range maxRequests {
			leave, code := enter(l, "/", fmt.Sprint(n/maxRequestsOfUser))
			if code != 0 {
				t.Fatalf("request %d: %d", n, code)
			}
			all = append(all, leave)
		}
		if _, code := enter(l, "/", "ann"); code != 503 {
			t.Errorf("one more request: %d", code)
		}
		if leave, code := enter(l, "/events", "ann"); code != 0 {
			t.Errorf("a stream: %d", code)
		} else {
			leave()
		}
		time.AfterFunc(maxWait/2, all[0])
		if _, code := enter(l, "/", "ann"); code != 0 {
			t.Errorf("a request after another one has ended: %d", code)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := l.open[counted{user: "ann"}]; n != 1 {
			t.Errorf("%d requests are open", n)
		}
	})
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
