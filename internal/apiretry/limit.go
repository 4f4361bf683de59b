// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"fmt"
	"io"
	"net/http"
)

// maxAnswer limits the body of an answer in bytes, after decompression. The largest answers are
// lists, and a list of 10,000 objects with 6 KiB each reaches it. Gzip may compress a thousand
// bytes into one.
const maxAnswer = 64 << 20

// TooLargeError is the error of reading an answer that exceeds the limit. The same request gets the
// same answer again, so it is not repeated.
type TooLargeError struct {
	// Server is the host of the API server.
	Server string
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer of the API server at %s has more than %d bytes", e.Server, maxAnswer)
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
	if resp.ContentLength > maxAnswer {
		_ = resp.Body.Close()
		return nil, &TooLargeError{Server: req.URL.Host}
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, server: req.URL.Host, left: maxAnswer}
	return resp, nil
}

// limitedBody fails once more than left bytes are read.
type limitedBody struct {
	io.ReadCloser

	server string
	left   int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	// One byte above the limit shows that there are more.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, &TooLargeError{Server: b.server}
	}
	return n, err
}
