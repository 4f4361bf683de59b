// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/test/stalled"
)

// Page is the web page of a controller.
type Page struct {
	// Dial opens a connection by TLS with a protocol, each from another address of loopback: the page
	// limits the requests of an address.
	Dial func(ctx context.Context, protocol string) (net.Conn, error)
	// Release is the path of the release of the attack, and Name is on the page of the release.
	Release, Name string
	// Token is the token of a user who may see everything.
	Token string
}

// pageAttacks are attacks of clients of the web page, beside a harmless release.
func pageAttacks() []Attack {
	page := func(name string, attack func(context.Context, Page) error) Attack {
		return Attack{Name: "page/" + name, Outcome: harmless(), Page: attack}
	}
	stalling := page("stalled-connection", stall)
	stalling.Worst = true
	return []Attack{page("replayed-cookie", replayCookie), stalling}
}

// answer is the answer to a request, without its body, which is text.
type answer struct {
	*http.Response
	text string
}

// send sends a GET, or a POST if there is a form. The header has names and values in turn. Redirects
// are not followed.
func (p Page) send(ctx context.Context, path string, form url.Values, header ...string) (answer, error) {
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://page.example"+path, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return p.Dial(ctx, "http/1.1")
	}}
	got, err := transport.RoundTrip(r)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", path, err)
	}
	text, err := io.ReadAll(got.Body)
	return answer{got, string(text)}, errors.Join(err, got.Body.Close())
}

// replayCookie sends the cookie of a login as a program would that has it, but not its key: an app on
// another port of the host gets it from the browser.
func replayCookie(ctx context.Context, p Page) error {
	key, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	login, err := p.send(ctx, "/login", url.Values{"token": {p.Token}, "key": {key}})
	if err != nil {
		return err
	}
	cookies := login.Cookies()
	if login.StatusCode != http.StatusSeeOther || len(cookies) != 1 {
		return fmt.Errorf("a valid login has %d cookies: %s", len(cookies), login.Status)
	}
	cookie, value := cookies[0].Name+"="+cookies[0].Value, cookies[0].Value
	plain, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		plain = nil
	}
	if strings.Contains(value, p.Token) || bytes.Contains(plain, []byte(p.Token)) {
		return errors.New("the cookie does not have the token: it has")
	}
	for _, tc := range []struct {
		what, path string
		form       url.Values
		code       int
		header     []string
	}{
		{"the cookie with its key", p.Release, nil, http.StatusOK, []string{"Cookie", cookie, "Pintle-Key", key}},
		{"the cookie alone", p.Release, nil, http.StatusSeeOther, []string{"Cookie", cookie}},
		{"the cookie in a page of another port", p.Release, nil, http.StatusSeeOther, []string{"Cookie", cookie, "Origin", "https://page.example:1", "Sec-Fetch-Site", "same-site"}},
		{"the cookie with another key", p.Release, nil, http.StatusSeeOther, []string{"Cookie", cookie, "Pintle-Key", other}},
		{"the cookie with itself as key", p.Release, nil, http.StatusSeeOther, []string{"Cookie", cookie, "Pintle-Key", value}},
		{"the cookie with its key in the address", p.Release + "?key=" + key, nil, http.StatusSeeOther, []string{"Cookie", cookie}},
		{"the cookie alone for a stream", "/events", nil, http.StatusSeeOther, []string{"Cookie", cookie}},
		{"the cookie as a bearer token", p.Release, nil, http.StatusSeeOther, []string{"Authorization", "Bearer " + value}},
		{"the cookie as the token of a login", "/login", url.Values{"token": {value}, "key": {other}}, http.StatusUnauthorized, nil},
	} {
		got, err := p.send(ctx, tc.path, tc.form, tc.header...)
		if err != nil {
			return err
		}
		if shown := strings.Contains(got.text, p.Name); got.StatusCode != tc.code || shown != (tc.code == http.StatusOK) {
			return fmt.Errorf("%s is answered with %d: %d, and the release is shown: %t", tc.what, tc.code, got.StatusCode, shown)
		}
		if to := got.Header.Get("Location"); tc.code == http.StatusSeeOther && !strings.HasPrefix(to, "/login") {
			return fmt.Errorf("%s leads to the login: it leads to %s", tc.what, to)
		}
	}
	return nil
}

// stall keeps connections of HTTP/2 that read no bodies, and requests pages as other clients.
func stall(ctx context.Context, p Page) error {
	for range 3 {
		conn, err := p.Dial(ctx, "h2")
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if err := fill(ctx, conn); err != nil {
			return err
		}
		for _, tc := range []struct {
			path   string
			header []string
		}{{p.Release, []string{"Authorization", "Bearer " + p.Token}}, {"/login", nil}, {"/assets/page.js", nil}} {
			got, err := p.send(ctx, tc.path, nil, tc.header...)
			if err != nil {
				return err
			}
			if got.StatusCode != http.StatusOK {
				return fmt.Errorf("other clients get %s: %s", tc.path, got.Status)
			}
		}
	}
	return nil
}

// fill sends many requests before a login by one connection, and waits until each is answered or
// refused.
func fill(ctx context.Context, conn net.Conn) error {
	const streams = 100
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return err
		}
	}
	c, err := stalled.New(conn)
	if err != nil {
		return err
	}
	for n := range uint32(streams) {
		if err := c.Request(2*n+1, []string{"/assets/page.css", "/assets/page.js", "/login"}[n%3]); err != nil {
			return err
		}
	}
	return c.Until(func() bool {
		for n := range uint32(streams) {
			if !c.Answered[2*n+1] && !c.Ended[2*n+1] {
				return false
			}
		}
		return true
	})
}
