// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestArchiveOfHelmChart: an ExternalArtifact of a HelmChart of k3s is used only if that HelmChart owns it
// and has exactly this archive. So nothing that a tenant writes into an ExternalArtifact, or into its
// status, leads to the archive of another tenant.
func TestArchiveOfHelmChart(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	helmChart := func(namespace, name, uid string) *cattlev1.HelmChart {
		return &cattlev1.HelmChart{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)},
			Spec:       cattlev1.HelmChartSpec{Chart: s.url + "/chart.tgz?token=secret"},
		}
	}
	own, theirs := helmChart("prod", "app", "1"), helmChart("other", "app", "2")
	urlOf := func(c *cattlev1.HelmChart) string { u, _ := archive.ArtifactURL(c); return u }
	made := func(edit ...func(*sourcev1.ExternalArtifact)) *sourcev1.ExternalArtifact {
		o := external(s, "1.2.3")
		o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(own, cattlev1.GroupVersion.WithKind(cattlev1.HelmChartKind))}
		o.Status.Artifact.URL = urlOf(own)
		for _, e := range edit {
			e(o)
		}
		return o
	}
	at := func(url string) *sourcev1.ExternalArtifact {
		return made(func(o *sourcev1.ExternalArtifact) { o.Status.Artifact.URL = url })
	}
	ownedBy := func(c *cattlev1.HelmChart, kind string) *sourcev1.ExternalArtifact {
		return made(func(o *sourcev1.ExternalArtifact) {
			o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c, cattlev1.GroupVersion.WithKind(kind))}
			o.Status.Artifact.URL = urlOf(c)
		})
	}
	forChart := func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact
		hr.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(own, cattlev1.GroupVersion.WithKind(cattlev1.HelmChartKind))}
	}
	byHand := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact }
	both := Settings{HelmCharts: true, ExternalArtifacts: true}
	const notIts = "its artifact is not the archive of HelmChart 'prod/app'"
	for name, tc := range map[string]struct {
		source   *sourcev1.ExternalArtifact
		edit     func(*helmv2.HelmRelease)
		settings Settings
		want     string
	}{
		"Own":               {made(), forChart, Settings{HelmCharts: true}, ""},
		"ByHand":            {made(), byHand, both, ""},
		"ByHandNoGate":      {made(), byHand, Settings{HelmCharts: true}, "ExternalArtifact feature gate is disabled"},
		"NoGate":            {made(), forChart, Settings{ExternalArtifacts: true}, "the feature gate HelmChartAPI is disabled"},
		"NeitherGate":       {made(), forChart, Settings{}, "ExternalArtifact feature gate is disabled"},
		"Ordinary":          {at(s.url + "/chart.tgz"), forChart, Settings{HelmCharts: true}, "ExternalArtifact feature gate is disabled"},
		"OrdinaryWithGate":  {at(s.url + "/chart.tgz"), forChart, both, ""},
		"TheirURL":          {at(urlOf(theirs)), forChart, both, notIts},
		"TheirContent":      {at("http://" + archive.Host + "/other/app"), forChart, both, notIts},
		"OwnContent":        {at("http://" + archive.Host + "/prod/app"), forChart, both, notIts},
		"OtherPath":         {at(strings.Replace(urlOf(own), "chart.tgz", "other.tgz", 1)), forChart, both, notIts},
		"OtherHost":         {at("http://" + archive.Host + "/prod/app/https/169.254.169.254/a"), forChart, both, notIts},
		"OtherNameOfHost":   {at("http://" + archive.Host + "./prod/app"), forChart, Settings{HelmCharts: true}, "ExternalArtifact feature gate is disabled"},
		"NoOwner":           {made(func(o *sourcev1.ExternalArtifact) { o.OwnerReferences = nil }), forChart, both, notIts},
		"FormerOwner":       {made(func(o *sourcev1.ExternalArtifact) { o.OwnerReferences[0].UID = "9" }), forChart, both, notIts},
		"NoController":      {made(func(o *sourcev1.ExternalArtifact) { o.OwnerReferences[0].Controller = nil }), forChart, both, notIts},
		"OtherKind":         {ownedBy(own, "Other"), forChart, both, notIts},
		"OwnedByTheirs":     {ownedBy(theirs, cattlev1.HelmChartKind), forChart, both, notIts},
		"OwnedByOtherName":  {ownedBy(helmChart("prod", "private", "3"), cattlev1.HelmChartKind), forChart, both, notIts},
		"ElsewhereByHand":   {made(func(o *sourcev1.ExternalArtifact) { o.Namespace = "other" }), func(hr *helmv2.HelmRelease) { byHand(hr); hr.Spec.ChartRef.Namespace = "other" }, both, "only HelmReleases in its namespace can use"},
		"OtherDigest":       {made(func(o *sourcev1.ExternalArtifact) { o.Status.Artifact.Digest = tagDigest }), forChart, both, s.url + "/chart.tgz no longer has the archive with digest " + tagDigest},
		"WithoutHelmCharts": {made(), func(hr *helmv2.HelmRelease) { forChart(hr); hr.Name, hr.Spec.ChartRef.Name = "app2", "app" }, Settings{HelmCharts: true}, "ExternalArtifact feature gate is disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := reader(t, own, theirs, helmChart("prod", "private", "3"), tc.source)
			charts := chart.NewStore(chart.Options{Workers: workers(), MaxBytes: 1 << 20, Grace: time.Minute, Client: &http.Client{Transport: &archive.Transport{Base: http.DefaultTransport, Reader: &archive.Reader{
				Chart: func(ctx context.Context, namespace, name string) (*cattlev1.HelmChart, error) {
					c := &cattlev1.HelmChart{}
					return c, all.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
				},
				Access:    func(context.Context, *cattlev1.HelmChart) (archive.Access, error) { return archive.Access{}, nil },
				Transport: func(*tls.Config) http.RoundTripper { return http.DefaultTransport }, Timeout: time.Minute, MaxBytes: 1 << 20,
			}}}})
			_, err := NewResolver(all, all, charts).WithSettings(tc.settings).Resolve(t.Context(), app(tc.edit), release.Suspension{})
			b := blocked(t, err)
			if (b != nil) != (tc.want != "") || b != nil && (!strings.Contains(b.Message, tc.want) || strings.Contains(b.Message, "secret")) {
				t.Errorf("got %+v", b)
			}
		})
	}
}

// TestPolicyOfArchive: policies judge the archive's own URL, and only if it is the one of the HelmChart.
func TestPolicyOfArchive(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	own := &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", UID: "1"}, Spec: cattlev1.HelmChartSpec{Chart: "https://charts.example/app.tgz?token=secret"}}
	source := external(s, "1.2.3")
	source.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(own, cattlev1.GroupVersion.WithKind(cattlev1.HelmChartKind))}
	source.Status.Artifact.URL, _ = archive.ArtifactURL(own)
	all := reader(t, own, source)
	var judged policy.Chart
	admit := func(_ context.Context, hr *helmv2.HelmRelease, source client.Object) error {
		judged, _ = Facts(hr, source)
		return errors.New("enough")
	}
	r := NewResolver(all, all, s.charts).WithSettings(Settings{ExternalArtifacts: true, HelmCharts: true}).WithAdmission(admit)
	edit := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact }
	if _, err := r.Resolve(t.Context(), app(edit), release.Suspension{}); err == nil || judged.URL != "https://charts.example/app.tgz" || judged.Unverified.Why == "" {
		t.Errorf("%v; judged are %+v", err, judged)
	}
	// A URL that only the status claims is not judged at all.
	judged = policy.Chart{}
	source.Status.Artifact.URL = strings.Replace(source.Status.Artifact.URL, "charts.example", "allowed.example", 1)
	all = reader(t, own, source)
	r = NewResolver(all, all, s.charts).WithSettings(Settings{ExternalArtifacts: true, HelmCharts: true}).WithAdmission(admit)
	if _, err := r.Resolve(t.Context(), app(edit), release.Suspension{}); err == nil || judged.URL != "" {
		t.Errorf("%v; judged are %+v", err, judged)
	}
}
