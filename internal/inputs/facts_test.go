// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestFacts: exact versions, verified signatures and URLs of sources, and the fields that a refusal
// names.
func TestFacts(t *testing.T) {
	t.Parallel()
	oci := func(edit ...func(*sourcev1.OCIRepository)) client.Object {
		o := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "1", Generation: 2}}
		o.Spec.URL, o.Spec.Reference = "oci://registry/charts/web", &sourcev1.OCIRepositoryRef{Tag: "1.0.0"}
		o.Spec.Verify, o.Status.ObservedGeneration = &sourcev1.OCIRepositoryVerification{}, 2
		o.Status.Conditions = []metav1.Condition{{Type: sourcev1.SourceVerifiedCondition, Status: metav1.ConditionTrue}}
		for _, e := range edit {
			e(o)
		}
		return o
	}
	ref := func(r *sourcev1.OCIRepositoryRef) func(*sourcev1.OCIRepository) {
		return func(o *sourcev1.OCIRepository) { o.Spec.Reference = r }
	}
	chart := func(kind, version string) client.Object {
		return &sourcev1.HelmChart{Spec: sourcev1.HelmChartSpec{
			Chart: "web", Version: version, SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: kind, Name: "charts"}, Verify: &sourcev1.HelmChartVerification{},
		}}
	}
	for name, tc := range map[string]struct {
		source client.Object
		// inexact, unverified and unlocated are parts of "<field>: <why>"; empty if there is none.
		inexact, unverified, unlocated string
		url, repository                string
	}{
		"Tag":           {oci(), "", "", "", "oci://registry/charts/web", ""},
		"Digest":        {oci(ref(&sourcev1.OCIRepositoryRef{Digest: "sha256:a", SemVer: "1.x"})), "", "", "", "oci://registry/charts/web", ""},
		"Semver":        {oci(ref(&sourcev1.OCIRepositoryRef{SemVer: "1.x", Tag: "1.0.0"})), "spec.chartRef: OCIRepository 'apps/web' has a range", "", "", "oci://registry/charts/web", ""},
		"NoReference":   {oci(ref(nil)), "spec.chartRef: OCIRepository 'apps/web' has neither a tag nor a digest", "", "", "oci://registry/charts/web", ""},
		"NoTag":         {oci(ref(&sourcev1.OCIRepositoryRef{})), "has neither a tag nor a digest", "", "", "oci://registry/charts/web", ""},
		"NoVerify":      {oci(func(o *sourcev1.OCIRepository) { o.Spec.Verify = nil }), "", "spec.chartRef: OCIRepository 'apps/web' has no spec.verify", "", "oci://registry/charts/web", ""},
		"NotVerified":   {oci(func(o *sourcev1.OCIRepository) { o.Status.Conditions[0].Status = metav1.ConditionFalse }), "", "condition SourceVerified of OCIRepository 'apps/web' is not True", "", "oci://registry/charts/web", ""},
		"NoCondition":   {oci(func(o *sourcev1.OCIRepository) { o.Status.Conditions = nil }), "", "is not True", "", "oci://registry/charts/web", ""},
		"NotObserved":   {oci(func(o *sourcev1.OCIRepository) { o.Status.Conditions, o.Generation = nil, 3 }), "", "", "", "oci://registry/charts/web", ""},
		"Version":       {chart("HelmRepository", "1.2.3"), "", "", "", "/web", "charts"},
		"VersionV":      {chart("HelmRepository", "v1.2.3+b"), "", "", "", "/web", "charts"},
		"Prerelease":    {chart("HelmRepository", "1.2.3-rc.1"), "", "", "", "/web", "charts"},
		"Range":         {chart("HelmRepository", "1.x"), `spec.chart.spec.version: "1.x" is no exact version`, "", "", "/web", "charts"},
		"Short":         {chart("HelmRepository", "1.2"), `"1.2" is no exact version`, "", "", "/web", "charts"},
		"Operator":      {chart("HelmRepository", "=1.2.3"), `"=1.2.3" is no exact version`, "", "", "/web", "charts"},
		"NoVersion":     {chart("HelmRepository", ""), `"" is no exact version`, "", "", "/web", "charts"},
		"GitRepository": {chart("GitRepository", "1.2.3"), "spec.chart.spec.sourceRef: a chart of a GitRepository has no exact version", "", "has no URL", "", ""},
		"Bucket":        {chart("Bucket", "1.2.3"), "a chart of a Bucket has no exact version", "", "has no URL", "", ""},
		"External":      {&sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}, "spec.chartRef: ExternalArtifact 'apps/web' has no version", "has no version", "has no version", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hr := &helmv2.HelmRelease{}
			c, repository := Facts(hr, tc.source)
			for what, fact := range map[string]struct{ got, want string }{
				"inexact": {c.Inexact.Field + ": " + c.Inexact.Why, tc.inexact}, "unverified": {c.Unverified.Field + ": " + c.Unverified.Why, tc.unverified},
				"unlocated": {c.Unlocated.Field + ": " + c.Unlocated.Why, tc.unlocated},
			} {
				if !strings.Contains(fact.got, fact.want) || fact.want == "" && fact.got != ": " {
					t.Errorf("%s: %q, want %q", what, fact.got, fact.want)
				}
			}
			if c.URL != tc.url || repository != tc.repository {
				t.Errorf("URL %q of %q", c.URL, repository)
			}
		})
	}
	hr := &helmv2.HelmRelease{Spec: helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "HelmChart"}}}
	if c, _ := Facts(hr, chart("HelmRepository", "1.x")); c.Inexact.Field != "spec.chartRef" || c.Located != "spec.chartRef" {
		t.Errorf("%+v", c)
	}
}
