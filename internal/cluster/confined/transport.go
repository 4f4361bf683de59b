// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// maxType limits a media type in a message.
const maxType = 60

// Transport returns a wrapper for transports to the API server at host, a URL. Requests to other
// hosts are not sent, so that they carry no credentials. An error answer that is no Status of
// Kubernetes is replaced by its code and its media type.
func Transport(host string) (func(http.RoundTripper) http.RoundTripper, error) {
	server, err := url.Parse(host)
	if err != nil {
		return nil, err
	}
	return func(next http.RoundTripper) http.RoundTripper { return &transport{server: server, next: next} }, nil
}

type transport struct {
	server *url.URL
	next   http.RoundTripper
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != t.server.Scheme || !strings.EqualFold(req.URL.Host, t.server.Host) {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &StrayError{Server: t.server.Host}
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code >= http.StatusBadRequest:
		return t.errorAnswer(resp)
	case code >= http.StatusOK && code < http.StatusMultipleChoices && holdsObject(req):
		resp.Body = &objectBody{ReadCloser: resp.Body, missing: &ForeignError{Server: t.server.Host, Answer: describe(resp)}}
	}
	return resp, nil
}

// errorAnswer returns an error answer with the Status in its body, or with a description of it.
func (t *transport) errorAnswer(resp *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	kind := "application/json"
	if body, err = statusIn(resp.Header.Get("Content-Type"), body); err != nil {
		// client-go shows texts, and derives the reason from the code.
		kind, body = "text/plain; charset=utf-8", []byte(describe(resp)+", "+err.Error())
	}
	resp.Header.Set("Content-Type", kind)
	resp.Header.Del("Content-Encoding")
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.ContentLength, resp.TransferEncoding, resp.Uncompressed = int64(len(body)), nil, false
	resp.Status = fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// describe returns the code and the media type of an answer.
func describe(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || len(kind) > maxType {
		kind = "no known media type"
	}
	return fmt.Sprintf("%d %s with %s", resp.StatusCode, http.StatusText(resp.StatusCode), kind)
}

// holdsObject reports whether a successful answer to a request holds one object of Kubernetes.
// Streams, logs and OpenAPI documents hold none. Discovery is decoded into a known type, and
// decoding errors quote nothing.
func holdsObject(req *http.Request) bool {
	query, path := req.URL.Query(), req.URL.Path
	switch {
	case req.Method == http.MethodHead, req.Header.Get("Upgrade") != "",
		query.Get("watch") == "true", query.Get("watch") == "1",
		strings.HasSuffix(path, "/log"), strings.Contains(path, "/openapi/"), apiretry.Discovers(path):
		return false
	}
	return true
}
