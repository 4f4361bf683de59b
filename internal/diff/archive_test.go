// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
)

// TestArchives: archives of HelmCharts are read with the rights of the user: from the object, from a
// Service by the way of other artifacts, and never from this machine.
func TestArchives(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("this machine was asked") }))
	defer here.Close()
	var asked []string
	base := sender(func(req *http.Request) (*http.Response, error) {
		user, _, _ := req.BasicAuth()
		asked = append(asked, user+"@"+req.URL.String())
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("by base")), Request: req}, nil
	})
	isService := func(host string) bool { return strings.HasSuffix(host, ".svc") }
	scheme := runtime.NewScheme()
	if err := cattlev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	creds := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "creds"}, Data: map[string][]byte{"username": []byte("me")}}
	for name, tc := range map[string]struct {
		spec       cattlev1.HelmChartSpec
		want, sent string
	}{
		"Content":   {cattlev1.HelmChartSpec{ChartContent: base64.StdEncoding.EncodeToString([]byte("inline"))}, "inline", ""},
		"Service":   {cattlev1.HelmChartSpec{Chart: "http://charts.apps.svc/web.tgz", AuthSecret: &cattlev1.LocalObjectReference{Name: "creds"}}, "by base", "me@http://charts.apps.svc/web.tgz"},
		"NoSecret":  {cattlev1.HelmChartSpec{Chart: "http://charts.apps.svc/web.tgz", AuthSecret: &cattlev1.LocalObjectReference{Name: "gone"}}, `spec.authSecret: secrets "gone" not found`, ""},
		"Here":      {cattlev1.HelmChartSpec{Chart: here.URL + "/web.tgz"}, "the address 127.0.0.1 is not public: give the archive with --chart", ""},
		"LinkLocal": {cattlev1.HelmChartSpec{Chart: "http://169.254.169.254/web.tgz"}, "the address 169.254.169.254 is not public", ""},
	} {
		c := &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: tc.spec}
		url, _ := archive.ArtifactURL(c)
		asked = nil
		said := ""
		transport := Archives(base, isService, fake.NewClientBuilder().WithScheme(scheme).WithObjects([]client.Object{c, creds}...).Build())
		if resp, err := (&http.Client{Transport: transport}).Get(url); err != nil { //nolint:noctx // a test
			said = err.Error()
		} else {
			raw, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			said = string(raw)
		}
		if !strings.Contains(said, tc.want) || strings.Join(asked, " ") != tc.sent {
			t.Errorf("%s: got %s by %v", name, said, asked)
		}
	}
}
