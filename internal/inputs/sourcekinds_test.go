// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"os"
	"slices"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func chartOf(kind, version, revision string) client.Object {
	return &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", Generation: 2},
		Spec:       sourcev1.HelmChartSpec{Version: version, SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: kind}},
		Status:     sourcev1.HelmChartStatus{ObservedGeneration: 2, Artifact: &fluxmeta.Artifact{Revision: revision}},
	}
}

func imageOf(ref *sourcev1.OCIRepositoryRef, revision string) client.Object {
	return &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", Generation: 2},
		Spec:       sourcev1.OCIRepositorySpec{Reference: ref},
		Status:     sourcev1.OCIRepositoryStatus{ObservedGeneration: 2, Artifact: &fluxmeta.Artifact{Revision: revision}},
	}
}

// TestRequestedRevision: a source is not ready while its artifact has another revision than its
// spec requests.
func TestRequestedRevision(t *testing.T) {
	tag, semver, digest := sourcev1.OCIRepositoryRef{Tag: "1.2.3"}, sourcev1.OCIRepositoryRef{SemVer: "~1.2"}, sourcev1.OCIRepositoryRef{Digest: tagDigest}
	for name, tc := range map[string]struct {
		source client.Object
		why    string
	}{
		"Exact":           {chartOf("HelmRepository", "1.2.3", "1.2.3"), ""},
		"Range":           {chartOf("HelmRepository", "1.x", "1.2.3"), ""},
		"Any":             {chartOf("HelmRepository", "*", "1.2.3"), ""},
		"None":            {chartOf("HelmRepository", "", "1.2.3"), ""},
		"BuildMetadata":   {chartOf("HelmRepository", "1.2.3", "1.2.3+4"), ""},
		"Older":           {chartOf("HelmRepository", "1.2.4", "1.2.3"), "its artifact has version 1.2.3, but 1.2.4 is requested"},
		"OutOfRange":      {chartOf("HelmRepository", ">=2", "1.2.3"), "its artifact has version 1.2.3, but >=2 is requested"},
		"NoConstraint":    {chartOf("HelmRepository", "not a version", "1.2.3"), ""},
		"FromGit":         {chartOf("GitRepository", "1.2.4", "1.2.3+4"), ""},
		"Tag":             {imageOf(&tag, "1.2.3@"+tagDigest), ""},
		"OtherTag":        {imageOf(&tag, "1.2.2@"+tagDigest), "its artifact has the tag 1.2.2, but 1.2.3 is requested"},
		"TagUnknown":      {imageOf(&tag, tagDigest), ""},
		"SemVer":          {imageOf(&semver, "1.2.9@"+tagDigest), ""},
		"OtherSemVer":     {imageOf(&semver, "1.3.0@"+tagDigest), "its artifact has version 1.3.0, but ~1.2 is requested"},
		"Digest":          {imageOf(&digest, tagDigest), ""},
		"DigestBesideTag": {imageOf(&digest, "latest@"+tagDigest), ""},
		"OtherDigest":     {imageOf(&digest, emptyDigest), "its artifact has the digest " + emptyDigest},
		"NoReference":     {imageOf(nil, "latest@"+tagDigest), ""},
		"External":        {&sourcev1.ExternalArtifact{Status: sourcev1.ExternalArtifactStatus{Artifact: &fluxmeta.Artifact{Revision: "x"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckSource(tc.source)
			if tc.why == "" && err != nil || tc.why != "" && (err == nil || !strings.Contains(err.Error(), tc.why)) {
				t.Errorf("the source is not ready: %v, want %q", err, tc.why)
			}
			if b := blocked(t, err); b != nil && b.Reason != helmv2.ReasonSourceNotReady {
				t.Errorf("reason %s", b.Reason)
			}
		})
	}
}

// TestSourceRevision: the revision of the source is that of the artifact, or that of the repository
// of files which a HelmChart packages. One that is too long is not recorded.
func TestSourceRevision(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	of := func(kind, revision string) client.Object {
		return &sourcev1.HelmChart{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app"},
			Spec:       sourcev1.HelmChartSpec{SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: kind}},
			Status:     sourcev1.HelmChartStatus{Artifact: s.artifact("1.2.3"), ObservedSourceArtifactRevision: revision},
		}
	}
	long := "main@sha1:" + strings.Repeat("0", maxSourceRevision)
	for name, tc := range map[string]struct {
		source client.Object
		want   string
	}{
		"GitRepository":  {of("GitRepository", "main@sha1:0123"), "main@sha1:0123"},
		"HelmRepository": {of("HelmRepository", "sha256:0123"), "1.2.3"},
		"Unobserved":     {of("GitRepository", ""), "1.2.3"},
		"Longest":        {of("Bucket", long[:maxSourceRevision]), long[:maxSourceRevision]},
		"TooLong":        {of("Bucket", long[:maxSourceRevision+1]), ""},
		"OCIRepository":  {repository(s), "1.2.3@" + tagDigest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hr := app(func(hr *helmv2.HelmRelease) {
				if _, packaged := tc.source.(*sourcev1.HelmChart); packaged {
					hr.Spec.ChartRef.Kind = helmv2.KindHelmChart
				}
			})
			got, err := NewResolver(reader(t, tc.source), nil, s.charts).Resolve(t.Context(), hr, release.Suspension{})
			if err != nil || got.SourceRevision != tc.want {
				t.Errorf("revision %q, want %q, error %v", got.SourceRevision, tc.want, err)
			}
		})
	}
}

// TestSourceKindsOfCRD: the CRD accepts the kinds of the table.
func TestSourceKindsOfCRD(t *testing.T) {
	raw, err := os.ReadFile("../../config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, kind := range SourceKinds() {
		if !kind.FilesOnly {
			want = append(want, `"`+kind.Name+`"`)
		}
	}
	slices.Sort(want)
	for _, version := range crd.Spec.Versions {
		var accepted []string
		for _, v := range version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["chartRef"].Properties["kind"].Enum {
			accepted = append(accepted, string(v.Raw))
		}
		slices.Sort(accepted)
		if !slices.Equal(accepted, want) {
			t.Errorf("version %s accepts %v, and the table has %v", version.Name, accepted, want)
		}
	}
}

// TestMemberFrom: releases whose own sources fetch the same charts have the same origin, and others have not.
func TestMemberFrom(t *testing.T) {
	t.Parallel()
	template := func(name, version string) *helmv2.HelmRelease {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
		hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: "web", Version: version, SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"},
		}}
		return hr
	}
	oci := func(name, tag string) (*helmv2.HelmRelease, client.Object) {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: name}
		return hr, &sourcev1.OCIRepository{Spec: sourcev1.OCIRepositorySpec{URL: "oci://registry/web", Reference: &sourcev1.OCIRepositoryRef{Tag: tag}}}
	}
	from := func(hr *helmv2.HelmRelease, source client.Object) string {
		return strings.Join(Member(hr, source, metav1.Now().Time).From, ", ")
	}
	ociFrom := func(name, tag string) string { return from(oci(name, tag)) }
	if a, b := from(template("a", "1.x"), nil), from(template("b", "1.x"), nil); a == "" || a != b || a == from(template("a", "2.x"), nil) {
		t.Errorf("HelmCharts: %q, %q", a, b)
	}
	if a, b := ociFrom("a", "1"), ociFrom("b", "1"); a == "" || a != b || a == ociFrom("a", "2") {
		t.Errorf("OCIRepositories: %q, %q", a, b)
	}
	unknown, _ := oci("a", "1")
	if got := from(unknown, nil); got != "" {
		t.Errorf("no source: %q", got)
	}
}
