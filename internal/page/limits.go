// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	// An address may send addressRate requests a second, and addressBurst at once. Behind a proxy, all
	// users have one address.
	addressRate, addressBurst = 50, 200
	userRate, userBurst       = 10, 60
	loginRate, loginBurst     = 0.5, 10
	// maxKeys is the number of addresses, and of users, that have buckets of their own.
	maxKeys = 4096

	// maxRequests is the number of concurrent requests of all users, and maxRequestsOfUser of each
	// user. maxWait is how long a request waits until it is one of them. Requests before the
	// login are not counted: they read no objects, so a client without a login takes nothing from users.
	maxRequests, maxRequestsOfUser = 32, 8
	maxWait                        = 2 * time.Second
	// maxStreams is the number of event streams, and maxStreamsOfUser of each user.
	maxStreams, maxStreamsOfUser = 200, 16
	// maxOfConnection is the number of concurrent requests of an HTTP/2 connection: as many as a user
	// may have. A client that may send more opens another connection.
	maxOfConnection = maxRequestsOfUser + maxStreamsOfUser

	// requestTimeout ends a request, answerTimeout the writing of its answer, and writeTimeout both.
	requestTimeout = 30 * time.Second
	answerTimeout  = 10 * time.Second
	writeTimeout   = requestTimeout + answerTimeout
	// streamTimeout ends an event stream that does not end by itself. The browser opens another one.
	streamTimeout = 10 * time.Minute
)

// Limits limits the requests to the page. It is safe for concurrent use.
type Limits struct {
	now                      func() time.Time
	addresses, users, logins *rates
	requests, streams        chan struct{}

	mu sync.Mutex
	// open counts the requests of each user, and the event streams.
	open map[counted]int
}

// counted is the kind of a request of a user.
type counted struct {
	user   string
	stream bool
}

// NewLimits returns the limits of one server.
func NewLimits(now func() time.Time) *Limits {
	return &Limits{
		now: now, addresses: newRates(addressRate, addressBurst, maxKeys, now), users: newRates(userRate, userBurst, maxKeys, now),
		logins: newRates(loginRate, loginBurst, maxKeys, now), requests: make(chan struct{}, maxRequests), streams: make(chan struct{}, maxStreams),
		open: map[counted]int{},
	}
}

// admit counts a request. The code is not 0 if the request is refused. The stylesheet and the script
// are always sent.
func (l *Limits) admit(r *http.Request) (code int, text string) {
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		return 0, ""
	}
	from := addressOf(r)
	if !l.addresses.allow(from) {
		return http.StatusTooManyRequests, "There are too many requests from your address."
	}
	if r.Method == http.MethodPost && !l.logins.allow(from) {
		return http.StatusTooManyRequests, "There are too many logins from your address."
	}
	return 0, ""
}

// Enter counts a request of a user until leave is called. The code is not 0 if the request is refused.
func (l *Limits) Enter(r *http.Request, user string) (leave func(), code int, text string) {
	v := counted{user: user, stream: isStream(r)}
	if !l.users.allow(user) || !l.join(v) {
		return nil, http.StatusTooManyRequests, "You have sent too many requests."
	}
	slots := l.requests
	if v.stream {
		slots = l.streams
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	select {
	case slots <- struct{}{}:
		return func() {
			<-slots
			l.leave(v)
		}, 0, ""
	case <-ctx.Done():
		l.leave(v)
		return nil, http.StatusServiceUnavailable, "There are too many requests at the same time."
	}
}

// join counts a request of a user. It returns false if the user has as many as are allowed.
func (l *Limits) join(v counted) bool {
	most := maxRequestsOfUser
	if v.stream {
		most = maxStreamsOfUser
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[v] >= most {
		return false
	}
	l.open[v]++
	return true
}

func (l *Limits) leave(v counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[v]--; l.open[v] == 0 {
		delete(l.open, v)
	}
}

// isStream reports whether a request is for an event stream, which stays open.
func isStream(r *http.Request) bool { return r.URL.Path == "/events" }

// addressOf returns the address of a client. A host has all addresses of an IPv6 network of 64 bits.
// Headers about clients are ignored, because clients can set them.
func addressOf(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := from.Addr().Unmap()
	if address.Is4() {
		return address.String()
	}
	network, err := address.WithZone("").Prefix(64)
	if err != nil {
		return address.String()
	}
	return network.String()
}
