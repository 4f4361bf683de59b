// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"net/url"
	"strings"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

// Host is the host in the URLs of artifacts that no source-controller serves. It never resolves: only
// the controller's own client knows it. The path of a URL names what is read:
//
//	/https/<host>/<path>         an archive at that URL, likewise for http
//	/content/<namespace>/<name>  spec.chartContent of that HelmChart
const Host = "helmcharts.pintle.invalid"

const contentPath = "content"

// ArtifactURL returns the URL of the artifact of a HelmChart with an archive; false if the URL in
// spec.chart cannot be used.
func ArtifactURL(c *cattlev1.HelmChart) (string, bool) {
	u := url.URL{Scheme: "http", Host: Host}
	if c.Spec.ChartContent != "" {
		u.Path = "/" + contentPath + "/" + c.Namespace + "/" + c.Name
		return u.String(), true
	}
	of, err := url.Parse(c.Spec.Chart)
	if err != nil || of.Scheme != "http" && of.Scheme != "https" || of.Host == "" || of.User != nil || of.Fragment != "" {
		return "", false
	}
	u.Path, u.RawPath, u.RawQuery = "/"+of.Scheme+"/"+of.Host+of.Path, "/"+of.Scheme+"/"+of.Host+of.EscapedPath(), of.RawQuery
	return u.String(), true
}

// ArchiveURL returns the URL that an artifact of a HelmChart is read from; false if it is none, or if
// it is in a HelmChart.
func ArchiveURL(artifact *url.URL) (*url.URL, bool) {
	if artifact.Host != Host {
		return nil, false
	}
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(artifact.EscapedPath(), "/"), "/")
	if scheme != "http" && scheme != "https" {
		return nil, false
	}
	of, err := url.Parse(scheme + "://" + rest)
	if err != nil || of.Host == "" || of.User != nil {
		return nil, false
	}
	of.RawQuery = artifact.RawQuery
	return of, true
}

// ContentOf returns the HelmChart whose spec.chartContent an artifact is; false if it is none.
func ContentOf(artifact *url.URL) (namespace, name string, is bool) {
	parts := strings.Split(strings.TrimPrefix(artifact.Path, "/"), "/")
	if artifact.Host != Host || len(parts) != 3 || parts[0] != contentPath {
		return "", "", false
	}
	return parts[1], parts[2], true
}
