// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// stub is a site that writes the code and text of errors, and "shown" for its pages.
type stub struct {
	serve func(w http.ResponseWriter, r *http.Request)
}

func (s stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.serve != nil {
		s.serve(w, r)
		return
	}
	_, _ = io.WriteString(w, "shown")
}

func (stub) Refuse(w http.ResponseWriter, _ *http.Request, code int, text string) {
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// frozen returns the same time always.
func frozen() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func request(method, path string, edit ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Host, r.RemoteAddr = "localhost:9443", "192.0.2.1:1000"
	for _, e := range edit {
		e(r)
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestHeaders: all answers have the headers, also those to refused requests.
func TestHeaders(t *testing.T) {
	for _, secure := range []bool{false, true} {
		h := guard(stub{}, NewLimits(frozen), secure, logr.Discard())
		for _, r := range []*http.Request{request("GET", "/"), request("PUT", "/"), request("GET", "/assets/page.css")} {
			got := serve(h, r).Header()
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
			} {
				if got.Get(name) != want {
					t.Errorf("%s %s: %s: %q", r.Method, r.URL, name, got.Get(name))
				}
			}
			csp := got.Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
				if !strings.Contains(csp, want) {
					t.Errorf("the policy %q lacks %q", csp, want)
				}
			}
			if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
				t.Errorf("the policy is open: %q", csp)
			}
			if has := got.Get("Strict-Transport-Security") != ""; has != secure {
				t.Errorf("secure=%v: Strict-Transport-Security: %v", secure, has)
			}
		}
	}
}

// TestRefused: requests that the page does not serve do not reach the site.
func TestRefused(t *testing.T) {
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, tc := range map[string]struct {
		r      *http.Request
		secure bool
		want   int
	}{
		"Get":                {r: request("GET", "/"), want: 200},
		"Head":               {r: request("HEAD", "/releases/a/b"), want: 200},
		"Login":              {r: request("POST", "/login"), want: 200},
		"Logout":             {r: request("POST", "/logout"), want: 200},
		"Post":               {r: request("POST", "/"), want: 405},
		"PostBelow":          {r: request("POST", "/login/x"), want: 405},
		"Put":                {r: request("PUT", "/login"), want: 405},
		"Delete":             {r: request("DELETE", "/releases/a/b"), want: 405},
		"Options":            {r: request("OPTIONS", "/"), want: 405},
		"Large":              {r: request("POST", "/login", func(r *http.Request) { r.ContentLength = 64<<10 + 1 }), want: 413},
		"Rebinding":          {r: request("GET", "/", host("evil.example:9443")), want: 421},
		"RebindingSubdomain": {r: request("GET", "/", host("localhost.evil.example")), want: 421},
		"RebindingAddress":   {r: request("GET", "/", host("10.0.0.1")), want: 421},
		"NoHost":             {r: request("GET", "/", host("")), want: 421},
		"Loopback":           {r: request("GET", "/", host("127.0.0.1:8080")), want: 200},
		"LoopbackNoPort":     {r: request("GET", "/", host("127.0.0.1")), want: 200},
		"LoopbackIPv6":       {r: request("GET", "/", host("[::1]:9443")), want: 200},
		"OwnHost":            {r: request("GET", "/", host("pintle.localhost:9443")), want: 200},
		"OtherHostOfLocal":   {r: request("GET", "/", host("app.localhost:9443")), want: 421},
		"LoopbackIPv6NoPort": {r: request("GET", "/", host("[::1]")), want: 200},
		"AnyHostWithTLS":     {r: request("GET", "/", host("page.example")), secure: true, want: 200},
		"SameOrigin":         {r: request("POST", "/login", header("Sec-Fetch-Site", "same-origin")), want: 200},
		"CrossSite":          {r: request("POST", "/login", header("Sec-Fetch-Site", "cross-site")), want: 403},
		"SameSite":           {r: request("POST", "/logout", header("Sec-Fetch-Site", "same-site")), want: 403},
		"OtherOrigin":        {r: request("POST", "/login", header("Origin", "https://evil.example")), want: 403},
		"NullOrigin":         {r: request("POST", "/login", header("Origin", "null")), want: 403},
		"OwnOrigin":          {r: request("POST", "/login", header("Origin", "http://localhost:9443")), want: 200},
		"LinkFromElsewhere":  {r: request("GET", "/", header("Sec-Fetch-Site", "cross-site")), want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			reached := false
			h := guard(stub{serve: func(http.ResponseWriter, *http.Request) { reached = true }}, NewLimits(frozen), tc.secure, logr.Discard())
			got := serve(h, tc.r)
			if got.Code != tc.want || reached != (tc.want == 200) {
				t.Errorf("%d %s, reached: %v", got.Code, got.Body, reached)
			}
		})
	}
}

// TestBody: no more than the maximum of a body without a length is read.
func TestBody(t *testing.T) {
	var err error
	h := guard(stub{serve: func(_ http.ResponseWriter, r *http.Request) { _, err = io.ReadAll(r.Body) }}, NewLimits(frozen), true, logr.Discard())
	r := request("POST", "/login", func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", maxBodyBytes+1))), -1
	})
	if serve(h, r); err == nil {
		t.Error("a body over the maximum was read")
	}
}

// TestPanic: a panic becomes a page, and the server goes on.
func TestPanic(t *testing.T) {
	h := guard(stub{serve: func(http.ResponseWriter, *http.Request) { panic("secret") }}, NewLimits(frozen), true, logr.Discard())
	for range 2 {
		if got := serve(h, request("GET", "/")); got.Code != 500 || strings.Contains(got.Body.String(), "secret") {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
}

// TestTimes: a request ends after its time, and an event stream later.
func TestTimes(t *testing.T) {
	for path, want := range map[string]time.Duration{"/": requestTimeout, "/releases/a/b": requestTimeout, "/events": streamTimeout} {
		h := guard(stub{serve: func(_ http.ResponseWriter, r *http.Request) {
			end, ok := r.Context().Deadline()
			if left := time.Until(end); !ok || left > want || left < want-10*time.Second {
				t.Errorf("%s: %s left", path, left)
			}
		}}, NewLimits(frozen), true, logr.Discard())
		serve(h, request("GET", path))
	}
}
