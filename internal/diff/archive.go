// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/worker"
)

// downloadTimeout limits the download of an artifact.
const downloadTimeout = time.Minute

// Archive is the archive of a chart that is given in place of an artifact.
type Archive []byte

// givenHost is the host of the URL of a given archive.
const givenHost = "given.invalid"

// Artifact returns the artifact with the content of the archive. Name is the name in messages.
func (a Archive) Artifact(name string) chart.Artifact {
	return chart.Artifact{URL: "http://" + givenHost + "/" + name, Digest: digest.FromBytes(a).String()}
}

// Before returns a transport that serves the archive, and sends all other requests through base: values
// may come from artifacts, too.
func (a Archive) Before(base http.RoundTripper) http.RoundTripper {
	return sender(func(req *http.Request) (*http.Response, error) {
		if req.URL.Host != givenHost {
			return base.RoundTrip(req)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a)), ContentLength: int64(len(a)), Request: req}, nil
	})
}

// Archives returns a transport that also reads the archives of HelmCharts of k3s, with the rights of the
// reader. Services of the cluster are reached through base, as other artifacts are. Addresses of this
// machine and of its link are not: the author of a HelmChart chooses the URL.
func Archives(base http.RoundTripper, isService func(host string) bool, reader client.Reader) http.RoundTripper {
	from := archive.Addresses{Allowed: archive.Private(), Instead: "give the archive with --chart"}
	return &archive.Transport{Base: base, Reader: &archive.Reader{
		Chart: archive.HelmCharts(reader),
		Access: func(ctx context.Context, c *cattlev1.HelmChart) (archive.Access, error) {
			return archive.ReadAccess(ctx, reader, c)
		},
		Transport: func(config *tls.Config) http.RoundTripper {
			direct := from.Transport(config)
			return sender(func(req *http.Request) (*http.Response, error) {
				if req.URL.Scheme == "http" && isService(req.URL.Hostname()) {
					return base.RoundTrip(req)
				}
				return direct.RoundTrip(req)
			})
		},
		Timeout: downloadTimeout, MaxBytes: chart.DefaultArtifactBytes,
	}}
}

type sender func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f sender) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Store returns a store of charts that are downloaded with transport.
func Store(transport http.RoundTripper, workers worker.Caller) *chart.Store {
	return chart.NewStore(chart.Options{
		Client:   &http.Client{Transport: transport, Timeout: downloadTimeout, CheckRedirect: chart.CheckRedirect},
		Workers:  workers,
		MaxBytes: chart.DefaultArtifactBytes, Grace: downloadTimeout,
	})
}
