// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
)

// StrayError is the error of a request to another host than the API server. It is not sent.
type StrayError struct {
	// Server is the host of the API server.
	Server string
}

// Error implements error.
func (e *StrayError) Error() string {
	return "requests to the API server at " + e.Server + " are sent to no other host"
}

// Answered reports that the same request fails again.
func (e *StrayError) Answered() bool { return true }

// ForeignError is the error of a successful answer without an object of Kubernetes.
type ForeignError struct {
	// Server is the host of the API server, and Answer the code and media type of the answer.
	Server, Answer string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the server at %s is no API server: it answers %s, which is no object of Kubernetes", e.Server, e.Answer)
}

// Answered reports that the same request fails again.
func (e *ForeignError) Answered() bool { return true }

// WithoutQuotes wraps the innermost transport. Errors of net/http about invalid answers quote
// them: any service that is no web server answers so. The errors stay, and their text loses the
// quotations.
func WithoutQuotes(next http.RoundTripper) http.RoundTripper { return &withoutQuotes{next: next} }

type withoutQuotes struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *withoutQuotes) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *withoutQuotes) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, withoutAnswer(err)
	}
	return resp, nil
}

// quoted matches a text of the server in an error of net/http.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// withoutAnswer returns an error whose text quotes no answer. Errors about the connection and about
// certificates quote none.
func withoutAnswer(err error) error {
	var (
		operation   *net.OpError
		certificate *tls.CertificateVerificationError
		header      textproto.ProtocolError
		described   interface{ Cause() string }
	)
	switch {
	case errors.As(err, &operation), errors.As(err, &certificate), errors.As(err, &described),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &header):
		return &hidden{text: "the answer has an invalid header", cause: err}
	}
	if text := quoted.ReplaceAllString(err.Error(), "(not shown)"); text != err.Error() {
		return &hidden{text: text, cause: err}
	}
	return err
}

// hidden is an error with another text.
type hidden struct {
	text  string
	cause error
}

// Error implements error.
func (e *hidden) Error() string { return e.text }

// Unwrap returns the original error.
func (e *hidden) Unwrap() error { return e.cause }

// ProxyAnswer is a function for OnProxyConnectResponse of http.Transport. The error of net/http
// would quote the reason phrase of the proxy.
func ProxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}
