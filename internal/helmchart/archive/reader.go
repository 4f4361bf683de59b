// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/internal/chart"
)

// Reader downloads archives. All fields are required.
type Reader struct {
	// Chart returns a HelmChart.
	Chart func(ctx context.Context, namespace, name string) (*cattlev1.HelmChart, error)
	// Access returns what an archive by URL is downloaded with.
	Access func(ctx context.Context, c *cattlev1.HelmChart) (Access, error)
	// Transport returns a transport for one archive. It must only connect to allowed addresses.
	Transport func(config *tls.Config) http.RoundTripper
	// Timeout limits one download, and MaxBytes its size.
	Timeout  time.Duration
	MaxBytes int64
}

// HelmCharts returns a function that returns HelmCharts.
func HelmCharts(reader client.Reader) func(ctx context.Context, namespace, name string) (*cattlev1.HelmChart, error) {
	return func(ctx context.Context, namespace, name string) (*cattlev1.HelmChart, error) {
		c := &cattlev1.HelmChart{}
		return c, reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
	}
}

// Version is an archive as it was read.
type Version struct {
	// Digest is the digest of its bytes.
	Digest string
	// ETag and LastModified are what the server named it; empty if it did not.
	ETag, LastModified string
}

// conditions returns the headers of a request for another version.
func (v Version) conditions() http.Header {
	h := http.Header{}
	switch {
	case v.Digest == "":
	case v.ETag != "":
		h.Set("If-None-Match", v.ETag)
	case v.LastModified != "":
		h.Set("If-Modified-Since", v.LastModified)
	}
	return h
}

// Read downloads the archive at the URL of a HelmChart, unless the server says that it still is the
// version that is known. A zero version is none.
func (r *Reader) Read(ctx context.Context, c *cattlev1.HelmChart, known Version) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	conditions := known.conditions()
	resp, err := r.get(ctx, c, conditions)
	if err != nil {
		return Version{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	shown := shownOf(c)
	if resp.StatusCode == http.StatusNotModified && len(conditions) > 0 {
		return known, nil
	}
	if resp.StatusCode != http.StatusOK {
		return Version{}, chart.StatusError(shown, resp)
	}
	d := digest.SHA256.Digester()
	n, err := io.Copy(d.Hash(), io.LimitReader(resp.Body, r.MaxBytes+1))
	if err != nil {
		return Version{}, fmt.Errorf("artifact %s was not received completely", shown)
	}
	if n > r.MaxBytes {
		return Version{}, fmt.Errorf("artifact %s is larger than the limit of %d bytes", shown, r.MaxBytes)
	}
	return Version{Digest: d.Digest().String(), ETag: resp.Header.Get("Etag"), LastModified: resp.Header.Get("Last-Modified")}, nil
}

// shownOf returns what messages name.
func shownOf(c *cattlev1.HelmChart) string {
	artifact, _ := ArtifactURL(c)
	location, _ := Locate(artifact)
	return location.String()
}

var errURL = errors.New("spec.chart is not an http or https URL without credentials")

// get requests the archive at the URL of a HelmChart. Errors have no secrets of URLs.
func (r *Reader) get(ctx context.Context, c *cattlev1.HelmChart, header http.Header) (*http.Response, error) {
	of, err := url.Parse(c.Spec.Chart)
	if err != nil || !usable(of) {
		return nil, errURL
	}
	access, err := r.Access(ctx, c)
	if err != nil {
		return nil, err
	}
	config, err := access.config()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, of.String(), nil)
	if err != nil {
		return nil, errURL
	}
	if header != nil {
		req.Header = header
	}
	// Redirects are followed here, so that the rules for addresses and credentials hold for them.
	download := &http.Client{
		Timeout: r.Timeout, CheckRedirect: chart.CheckRedirect,
		Transport: &authorized{base: r.Transport(config), access: access, host: of.Host, scheme: of.Scheme},
	}
	resp, err := download.Do(req)
	if err != nil {
		return nil, chart.RequestError(shownOf(c), download, err)
	}
	return resp, nil
}
