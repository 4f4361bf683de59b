// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

func web(spec cattlev1.HelmChartSpec) *cattlev1.HelmChart {
	return &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: spec}
}

// TestLocation: the URL of an artifact names the HelmChart and its archive, without a query, and parsing
// does not change it.
func TestLocation(t *testing.T) {
	for archive, want := range map[string]string{
		"https://charts.example/web-1.0.0.tgz":                 "https://charts.example/web-1.0.0.tgz",
		"http://charts.example:8080/a/b%2Fc.tgz?token=x&y=z":   "http://charts.example:8080/a/b%2Fc.tgz",
		"https://[::1]:8443/web.tgz":                           "https://[::1]:8443/web.tgz",
		"https://charts.example":                               "https://charts.example",
		"https://charts.example/../a//b.tgz":                   "https://charts.example/../a//b.tgz",
		"https://charts.example/a b.tgz?" + "secret=" + "word": "https://charts.example/a%20b.tgz",
	} {
		artifact, ok := ArtifactURL(web(cattlev1.HelmChartSpec{Chart: archive}))
		if !ok {
			t.Fatalf("%s has no artifact", archive)
		}
		u, err := url.Parse(artifact)
		if err != nil || u.String() != artifact || strings.Contains(artifact, "token") || strings.Contains(artifact, "secret") {
			t.Errorf("%s became %s, which is read as %s: %v", archive, artifact, u, err)
		}
		if got, ok := Locate(artifact); !ok || got != (Location{Namespace: "apps", Name: "web", Archive: want, Query: strings.Contains(archive, "?")}) || !Is(artifact) {
			t.Errorf("%s leads to %+v", artifact, got)
		}
	}
	for _, archive := range []string{
		"ftp://charts.example/web.tgz", "https://me:secret@charts.example/web.tgz", "https:///web.tgz", "file:///etc/passwd",
		"https://charts.example/%zz", "https://charts.example/web.tgz#part",
	} {
		if artifact, ok := ArtifactURL(web(cattlev1.HelmChartSpec{Chart: archive})); ok {
			t.Errorf("%s has artifact %s", archive, artifact)
		}
	}
	a, _ := ArtifactURL(web(cattlev1.HelmChartSpec{Chart: "https://charts.example/web.tgz?v=1"}))
	b, _ := ArtifactURL(web(cattlev1.HelmChartSpec{Chart: "https://charts.example/web.tgz?v=2"}))
	if a == b {
		t.Error("the query does not count")
	}
	for _, spec := range []cattlev1.HelmChartSpec{{RepoCA: "PEM"}, {RepoCAConfigMap: &cattlev1.LocalObjectReference{Name: "a"}}} {
		spec.Chart = "https://charts.example/web.tgz?v=1"
		own, _ := ArtifactURL(web(spec))
		if got, _ := Locate(own); !got.OwnCAs || !got.Query || own == a {
			t.Errorf("%s is %+v", own, got)
		}
	}
	content, _ := ArtifactURL(web(cattlev1.HelmChartSpec{ChartContent: "aaaa", Chart: "https://charts.example/web.tgz"}))
	if got, is := Locate(content); !is || got != (Location{Namespace: "apps", Name: "web"}) || got.String() != "HelmChart 'apps/web'" {
		t.Errorf("%s is %+v", content, got)
	}
	for _, other := range []string{
		"http://charts.example/apps/web/https/other/web.tgz", "http://" + Host + "/apps/web/ftp/other/web.tgz", "http://" + Host + "/apps/web/https",
		"http://" + Host + "/apps", "http://" + Host + "//web", "http://" + Host + "/apps/web/https/me:secret@other/web.tgz", "http://" + Host + "/apps/web/",
		"%zz",
	} {
		if got, ok := Locate(other); ok {
			t.Errorf("%s leads to %+v", other, got)
		}
	}
}
