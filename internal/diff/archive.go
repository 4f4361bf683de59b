// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"sync"
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

// Given are archives of charts that are given in place of artifacts. It is safe for concurrent use.
type Given struct{ archives sync.Map }

// givenHost is the host of the URLs of given archives.
const givenHost = "given.invalid"

// Artifact returns an artifact with the content of an archive. The name is unique, and is in messages.
func (g *Given) Artifact(name string, archive []byte) chart.Artifact {
	at := url.URL{Scheme: "http", Host: givenHost, Path: "/" + name}
	g.archives.Store(at.Path, archive)
	return chart.Artifact{URL: at.String(), Digest: digest.FromBytes(archive).String()}
}

// Before returns a transport that serves the archives, and sends all other requests through base: values
// may come from artifacts, too.
func (g *Given) Before(base http.RoundTripper) http.RoundTripper {
	return sender(func(req *http.Request) (*http.Response, error) {
		if req.URL.Host != givenHost {
			return base.RoundTrip(req)
		}
		found, _ := g.archives.Load(req.URL.Path)
		archive, _ := found.([]byte)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(archive)), ContentLength: int64(len(archive)), Request: req}, nil
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
