// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive reads the archives of HelmCharts: from the URL in spec.chart, or from
// spec.chartContent. The URLs of their artifacts have a host that only Transport knows, so that no other
// client is served.
//
//	archive.go    Transport: answers requests for artifacts of HelmCharts
//	location.go   the URLs of artifacts
//	addresses.go  the addresses that an archive may have
package archive

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Transport is an http.RoundTripper that answers requests for artifacts of HelmCharts, and sends all
// others through Base. All fields are required.
type Transport struct {
	Base http.RoundTripper
	// Archives downloads archives. Its transport must only connect to allowed addresses.
	Archives *http.Client
	// Content returns spec.chartContent of a HelmChart.
	Content func(ctx context.Context, namespace, name string) (string, error)
}

// RoundTrip implements http.RoundTripper. Redirects of an archive's server are followed here, so that
// the rules for addresses hold for them too.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != Host {
		return t.Base.RoundTrip(req)
	}
	if at, is := ArchiveURL(req.URL); is {
		get, err := http.NewRequestWithContext(req.Context(), http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, err
		}
		return t.Archives.Do(get)
	}
	namespace, name, is := ContentOf(req.URL)
	if !is {
		return nil, fmt.Errorf("%s has no such artifact", Host)
	}
	content, err := t.Content(req.Context(), namespace, name)
	if err != nil {
		return nil, err
	}
	archive, err := Decode(content)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(archive)), ContentLength: int64(len(archive)), Request: req,
	}, nil
}

// Decode returns the archive in spec.chartContent.
func Decode(content string) ([]byte, error) {
	archive, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	if err != nil {
		return nil, fmt.Errorf("spec.chartContent is not base64: %w", err)
	}
	return archive, nil
}

// Digest downloads an artifact, and returns the digest of its bytes.
func Digest(ctx context.Context, client *http.Client, url string, maxBytes int64) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	d := digest.SHA256.Digester()
	n, err := io.Copy(d.Hash(), io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return "", fmt.Errorf("the archive was not received completely: %w", err)
	}
	if n > maxBytes {
		return "", fmt.Errorf("the archive is larger than the limit of %d bytes", maxBytes)
	}
	return d.Digest().String(), nil
}
