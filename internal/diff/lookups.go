// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/render/remote"
)

// Lookups states how templates read objects of the cluster. The author of a chart must not see what
// only the caller may read. The zero value reads with the identity of the connection.
type Lookups struct {
	// User is the user that is impersonated; empty for none.
	User string
	// Denied states why no object is read; empty if objects are.
	Denied string
}

// reads is how the templates of one diff read. It implements helm.Job.Lookups.
type reads struct {
	Lookups

	// missed is true if a template looked up an object that was not read.
	missed atomic.Bool
}

// connection returns the connection of templates.
func (r *reads) connection(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	if r.Denied != "" {
		own.Wrap(func(next http.RoundTripper) http.RoundTripper { return unread{next, config.Host, &r.missed} })
		return own
	}
	if r.User != "" {
		own.Impersonate = rest.ImpersonationConfig{UserName: r.User}
	}
	return own
}

// warnings returns the warning about objects that were not read.
func (r *reads) warnings() []string {
	if !r.missed.Load() {
		return nil
	}
	return []string{"the chart looks up objects, and found none: " + r.Denied}
}

// explain returns an error with the warning: a template may fail without the object.
func (r *reads) explain(err error) error {
	if err == nil || !r.missed.Load() {
		return err
	}
	return fmt.Errorf("%w; %s", err, r.warnings()[0])
}

// unread answers that no object exists. Lists of APIs are read.
type unread struct {
	base http.RoundTripper
	// server is the address of the API server, which may have a path.
	server string
	missed *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (u unread) RoundTrip(req *http.Request) (*http.Response, error) {
	if listsAPIs(remote.PathBelow(u.server, req.URL)) {
		return u.base.RoundTrip(req)
	}
	u.missed.Store(true)
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	return &http.Response{
		StatusCode: http.StatusNotFound, Proto: req.Proto, ProtoMajor: req.ProtoMajor, ProtoMinor: req.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}, nil
}

// listsAPIs reports whether a path is "/api/<version>" or "/apis/<group>/<version>".
func listsAPIs(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) == 3 && parts[1] == "api" || len(parts) == 4 && parts[1] == "apis"
}
