// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

// Host is the host in the URLs of artifacts that no source-controller serves. It never resolves: only
// a Transport knows it. The path of a URL names the HelmChart and its archive:
//
//	/<namespace>/<name>/https/<host>/<path>  the archive at that URL, likewise for http
//	/<namespace>/<name>                      spec.chartContent
//
// A query may be secret, and the URL is in a status. So it is replaced by its digest. With certificates
// of its own, the URL has the parameter cas, because policies may not allow them.
const Host = "helmcharts.pintle.invalid"

const ownCAs = "cas"

// ArtifactURL returns the URL of the artifact of a HelmChart with an archive; false if the URL in
// spec.chart cannot be used.
func ArtifactURL(c *cattlev1.HelmChart) (string, bool) {
	u := url.URL{Scheme: "http", Host: Host, Path: "/" + c.Namespace + "/" + c.Name}
	if c.Spec.ChartContent != "" {
		return u.String(), true
	}
	of, err := url.Parse(c.Spec.Chart)
	if err != nil || !usable(of) || of.Fragment != "" {
		return "", false
	}
	before := u.Path + "/" + of.Scheme + "/" + of.Host
	u.Path, u.RawPath = before+of.Path, before+of.EscapedPath()
	var parameters []string
	if c.Spec.RepoCA != "" || c.Spec.RepoCAConfigMap != nil {
		parameters = append(parameters, ownCAs)
	}
	if of.RawQuery != "" {
		sum := sha256.Sum256([]byte(of.RawQuery))
		parameters = append(parameters, hex.EncodeToString(sum[:]))
	}
	u.RawQuery = strings.Join(parameters, "&")
	return u.String(), true
}

func usable(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// Location is what the URL of an artifact says. A tenant may have written it: only a comparison with
// ArtifactURL of the HelmChart tells that it is true.
type Location struct {
	// Namespace and Name of the HelmChart.
	Namespace, Name string
	// Archive is the URL in spec.chart without its query; empty for spec.chartContent.
	Archive string
	// OwnCAs is true if the HelmChart names certificates, and Query if the URL has a query.
	OwnCAs, Query bool
}

// String returns what messages name.
func (l Location) String() string {
	if l.Archive == "" {
		return "HelmChart '" + l.Namespace + "/" + l.Name + "'"
	}
	return l.Archive
}

// Is reports whether the URL of an artifact has Host.
func Is(artifact string) bool {
	u, err := url.Parse(artifact)
	return err == nil && u.Host == Host
}

// Locate returns what the URL of an artifact says; false if it is not one of a HelmChart.
func Locate(artifact string) (Location, bool) {
	u, err := url.Parse(artifact)
	if err != nil || u.Host != Host {
		return Location{}, false
	}
	parts := strings.SplitN(strings.TrimPrefix(u.EscapedPath(), "/"), "/", 4)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return Location{}, false
	}
	l := Location{Namespace: parts[0], Name: parts[1]}
	if len(parts) == 2 {
		return l, true
	}
	of, err := url.Parse(parts[2] + "://" + parts[len(parts)-1])
	if err != nil || len(parts) != 4 || !usable(of) {
		return Location{}, false
	}
	l.Archive = of.String()
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		l.OwnCAs = l.OwnCAs || parameter == ownCAs
		l.Query = l.Query || parameter != ownCAs && parameter != ""
	}
	return l, true
}
