// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// connection is the connection of Helm's dry run. Its requests are reads of templates, which are
// sent to the caller.
type connection struct {
	server  string
	timeout time.Duration
	ask     worker.Ask
	// marks are those of a traced call; nil for all others.
	marks *marks
}

// errConnection means that Helm uses the connection for something else than lookups.
var errConnection = errors.New("a rendering has no connection to the cluster")

// ToRESTConfig implements action.RESTClientGetter.
func (c *connection) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: c.server, Timeout: c.timeout, Transport: c, QPS: -1, WarningHandler: rest.NoWarnings{}}, nil
}

// ToDiscoveryClient implements action.RESTClientGetter.
func (c *connection) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return nil, errConnection
}

// ToRESTMapper implements action.RESTClientGetter.
func (c *connection) ToRESTMapper() (meta.RESTMapper, error) { return nil, errConnection }

// errMethod means that a template would write.
var errMethod = errors.New("templates may only read")

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return nil, errMethod
	}
	at := remote.PathBelow(c.server, request.URL)
	answer, own := c.marks.answer(at)
	if !own {
		message, err := remote.EncodeGet(remote.Get{Path: at, Query: request.URL.RawQuery, Accept: request.Header.Get("Accept")})
		if err != nil {
			return nil, err
		}
		if message, err = c.ask(remote.FunctionGet, message); err != nil {
			return nil, err
		}
		if answer, err = remote.DecodeAnswer(message); err != nil {
			return nil, err
		}
	}
	header := http.Header{}
	for name, value := range map[string]string{"Content-Type": answer.ContentType, "Retry-After": answer.RetryAfter} {
		if value != "" {
			header.Set(name, value)
		}
	}
	return &http.Response{
		StatusCode: answer.Status, Status: http.StatusText(answer.Status), Header: header, Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(answer.Body)), Body: io.NopCloser(bytes.NewReader(answer.Body)),
	}, nil
}
