// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Site has the pages.
type Site interface {
	http.Handler
	// Refuse writes the page of an error. The text is for the user.
	Refuse(w http.ResponseWriter, r *http.Request, code int, text string)
}

const (
	// policy is the content security policy: nothing from elsewhere, and no inline script.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// ownHost is a name of loopback, as browsers resolve it. Servers on other ports have another
	// host, so that they do not share its cookies and storage.
	ownHost = "pintle.localhost"
	// maxBodyBytes is the size of the largest body, which is the form of the login.
	maxBodyBytes = 64 << 10
)

// isForm reports whether a request may be a POST.
func isForm(r *http.Request) bool { return r.URL.Path == "/login" || r.URL.Path == "/logout" }

// guard returns a handler that refuses requests before the site sees them, and limits the others.
func guard(site Site, limits *Limits, secure bool, log logr.Logger) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &timed{ResponseWriter: rw, now: limits.now}
		setHeaders(w.Header(), secure)
		defer func() {
			if cause := recover(); cause != nil {
				log.Info("panic of the web page", "path", r.URL.Path, "cause", cause)
				site.Refuse(w, r, http.StatusInternalServerError, "This page could not be made.")
			}
		}()
		code, text := check(r, secure)
		if code == 0 && origins.Check(r) != nil {
			code, text = http.StatusForbidden, "This form was sent by another site."
		}
		if code != 0 {
			site.Refuse(w, r, code, text)
			return
		}
		if code, text := limits.admit(r); code != 0 {
			w.Header().Set("Retry-After", "2")
			site.Refuse(w, r, code, text)
			return
		}
		timeout := requestTimeout
		if isStream(r) {
			timeout = streamTimeout
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r.Body = http.MaxBytesReader(rw, r.Body, maxBodyBytes)
		site.ServeHTTP(w, r.WithContext(logr.NewContext(ctx, log)))
	})
}

// timed is a ResponseWriter with a deadline for the whole answer, which starts with its first byte. A
// client that does not read must not keep what a request holds.
type timed struct {
	http.ResponseWriter
	now     func() time.Time
	started bool
}

func (t *timed) start() {
	if !t.started {
		t.started = true
		// Without deadlines, as in tests, the deadline of the server remains.
		_ = http.NewResponseController(t.ResponseWriter).SetWriteDeadline(t.now().Add(answerTimeout))
	}
}

// WriteHeader implements http.ResponseWriter.
func (t *timed) WriteHeader(code int) {
	t.start()
	t.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (t *timed) Write(b []byte) (int, error) {
	t.start()
	return t.ResponseWriter.Write(b)
}

// Unwrap is called by http.ResponseController.
func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// setHeaders sets the headers of all answers.
func setHeaders(h http.Header, secure bool) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// check returns the status code and text of the answer to a request that is refused; 0 for others.
func check(r *http.Request, secure bool) (int, string) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead && (r.Method != http.MethodPost || !isForm(r)):
		return http.StatusMethodNotAllowed, "This page is read-only."
	case r.ContentLength > maxBodyBytes:
		return http.StatusRequestEntityTooLarge, "This request is too large."
	case !secure && !isLoopback(r.Host):
		// The name of another site may resolve to an address of loopback.
		return http.StatusMisdirectedRequest, "Without TLS, this page answers to localhost and addresses of loopback only."
	}
	return 0, ""
}

// isLoopback reports whether the host of a request, with or without a port, is one of loopback.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || strings.EqualFold(host, ownHost) || err == nil && address.IsLoopback()
}
