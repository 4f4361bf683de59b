// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive reads the archives of HelmCharts: from the URL in spec.chart, or from
// spec.chartContent. The URLs of their artifacts have a host that only Transport knows, so that no other
// client is served.
//
//	archive.go    Transport: answers requests for artifacts of HelmCharts
//	reader.go     Reader: downloads archives
//	access.go     Access: the credentials and certificates of a download
//	location.go   the URLs of artifacts
//	addresses.go  the addresses that an archive may have
package archive

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Transport is an http.RoundTripper that answers requests for artifacts of HelmCharts, and sends all
// others through Base. All fields are required.
type Transport struct {
	Base   http.RoundTripper
	Reader *Reader
}

// RoundTrip implements http.RoundTripper. The HelmChart decides which archive is read, and with which
// credentials: the URL only names it.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != Host {
		return t.Base.RoundTrip(req)
	}
	wanted := req.URL.String()
	location, is := Locate(wanted)
	if !is {
		return nil, fmt.Errorf("%s has no such artifact", Host)
	}
	c, err := t.Reader.Chart(req.Context(), location.Namespace, location.Name)
	if err != nil {
		return nil, err
	}
	if now, ok := ArtifactURL(c); !ok || now != wanted {
		return nil, fmt.Errorf("HelmChart '%s/%s' has another archive now", location.Namespace, location.Name)
	}
	if location.Archive != "" {
		return t.Reader.get(req.Context(), c, nil)
	}
	archive, err := Decode(c.Spec.ChartContent)
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
