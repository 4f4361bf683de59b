// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// maxAnswer limits the body of an answer in bytes, after decompression. The largest answers are
	// lists, and a list of 10,000 objects with 6 KiB each reaches it. Gzip may compress a thousand
	// bytes into one.
	maxAnswer = 64 << 20
	// maxDiscovery is the limit for lists of API groups. Small objects take many times their size once
	// they are decoded. A thousand CRDs take less than a mebibyte.
	maxDiscovery = 16 << 20
)

// limitKey is the key of a limit in the context of a request.
type limitKey struct{}

// LimitedTo returns a context for requests whose answers are limited to fewer bytes than others.
func LimitedTo(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, limitKey{}, bytes)
}

// limitOf returns the limit for the answer to a request.
func limitOf(req *http.Request) int64 {
	if limit, ok := req.Context().Value(limitKey{}).(int64); ok {
		return min(limit, maxAnswer)
	}
	if strings.HasSuffix(req.URL.Path, "/api") || strings.HasSuffix(req.URL.Path, "/apis") {
		return maxDiscovery
	}
	return maxAnswer
}

// TooLargeError is the error of reading an answer that exceeds the limit. The same request gets the
// same answer again, so it is not repeated.
type TooLargeError struct {
	// Server is the host of the API server.
	Server string
	// Max is the limit in bytes.
	Max int64
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer of the API server at %s has more than %d bytes", e.Server, e.Max)
}

// RedirectError is the error of a request that was answered with a redirect. Redirects are not
// followed: client-go would send its credentials to the other host.
type RedirectError struct {
	// Server is the host of the API server.
	Server string
	// Code is the HTTP status code.
	Code int
}

// Error implements error.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("the API server at %s answers with a redirect (%d %s), which is not followed", e.Server, e.Code, http.StatusText(e.Code))
}

// Answered reports that the same request fails again.
func (e *RedirectError) Answered() bool { return true }

// NoRedirects returns a transport that follows no redirect: a redirect is an error.
func NoRedirects(next http.RoundTripper) http.RoundTripper { return &noRedirects{next: next} }

type noRedirects struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *noRedirects) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *noRedirects) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if code := resp.StatusCode; code >= http.StatusMultipleChoices && code < http.StatusBadRequest && code != http.StatusNotModified {
		_ = resp.Body.Close()
		return nil, &RedirectError{Server: req.URL.Host, Code: code}
	}
	return resp, nil
}

// LimitAnswers returns a transport that limits the bodies of answers. Watches and other streams have
// no limit: their readers decode one event at a time. It must be outside of the transport that
// decompresses, which is the innermost one.
func LimitAnswers(next http.RoundTripper) http.RoundTripper { return &limitAnswers{next: next} }

type limitAnswers struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *limitAnswers) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *limitAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || streams(req) || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	exceeded := &TooLargeError{Server: req.URL.Host, Max: limitOf(req)}
	if resp.ContentLength > exceeded.Max {
		_ = resp.Body.Close()
		return nil, exceeded
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, exceeded: exceeded, left: exceeded.Max}
	return resp, nil
}

// limitedBody fails once more than left bytes are read.
type limitedBody struct {
	io.ReadCloser

	exceeded *TooLargeError
	left     int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	// One byte above the limit shows that there are more.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, b.exceeded
	}
	return n, err
}
