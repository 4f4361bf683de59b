// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/worker"
)

// downloadTimeout limits the download of an artifact.
const downloadTimeout = time.Minute

// Archive is the archive of a chart that is given in place of an artifact. It serves itself.
type Archive []byte

// givenHost is the host of the URL of a given archive.
const givenHost = "given.invalid"

// Artifact returns the artifact with the content of the archive. Name is the name in messages.
func (a Archive) Artifact(name string) chart.Artifact {
	return chart.Artifact{URL: "http://" + givenHost + "/" + name, Digest: digest.FromBytes(a).String()}
}

// RoundTrip implements http.RoundTripper.
func (a Archive) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != givenHost {
		return nil, fmt.Errorf("%s is not the given archive", req.URL.Redacted())
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a)), ContentLength: int64(len(a)), Request: req}, nil
}

// Store returns a store of charts that are downloaded with transport.
func Store(transport http.RoundTripper, workers worker.Caller) *chart.Store {
	return chart.NewStore(chart.Options{
		Client:   &http.Client{Transport: transport, Timeout: downloadTimeout, CheckRedirect: chart.CheckRedirect},
		Workers:  workers,
		MaxBytes: chart.DefaultArtifactBytes, Grace: downloadTimeout,
	})
}
