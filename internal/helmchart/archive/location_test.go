// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

func web(spec cattlev1.HelmChartSpec) *cattlev1.HelmChart {
	return &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: spec}
}

// TestLocation: the URL of an artifact leads back to the archive, and to nothing else.
func TestLocation(t *testing.T) {
	for _, archive := range []string{
		"https://charts.example/web-1.0.0.tgz", "http://charts.example:8080/a/b%2Fc.tgz?token=x&y=z", "https://[::1]:8443/web.tgz",
	} {
		artifact, ok := ArtifactURL(web(cattlev1.HelmChartSpec{Chart: archive}))
		if !ok {
			t.Fatalf("%s has no artifact", archive)
		}
		u, err := url.Parse(artifact)
		if err != nil {
			t.Fatal(err)
		}
		back, ok := ArchiveURL(u)
		if !ok || back.String() != archive || u.Host != Host {
			t.Errorf("%s became %s and %v", archive, artifact, back)
		}
		if _, _, is := ContentOf(u); is {
			t.Errorf("%s is no content", artifact)
		}
	}
	for _, archive := range []string{"ftp://charts.example/web.tgz", "https://me:secret@charts.example/web.tgz", "https:///web.tgz", "file:///etc/passwd", "https://charts.example/%zz"} {
		if artifact, ok := ArtifactURL(web(cattlev1.HelmChartSpec{Chart: archive})); ok {
			t.Errorf("%s has artifact %s", archive, artifact)
		}
	}
	content, _ := ArtifactURL(web(cattlev1.HelmChartSpec{ChartContent: "aaaa"}))
	u, _ := url.Parse(content)
	if namespace, name, is := ContentOf(u); !is || namespace != "apps" || name != "web" {
		t.Errorf("%s is the content of %s/%s", content, namespace, name)
	}
	for _, other := range []string{"http://charts.example/https/other/web.tgz", "http://" + Host + "/ftp/other/web.tgz", "http://" + Host + "/content/apps/web", "http://" + Host + "/https/me:secret@other/web.tgz"} {
		u, _ := url.Parse(other)
		if archive, ok := ArchiveURL(u); ok {
			t.Errorf("%s leads to %s", other, archive)
		}
	}
}
