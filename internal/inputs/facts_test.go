// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"reflect"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// TestFacts: exact versions, verified signatures and URLs of sources, and the fields that a refusal
// names.
func TestFacts(t *testing.T) {
	t.Parallel()
	oci := func(edit ...func(*sourcev1.OCIRepository)) client.Object {
		o := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "1", Generation: 2}}
		o.Spec.URL, o.Spec.Reference = "oci://registry/charts/web", &sourcev1.OCIRepositoryRef{Tag: "1.0.0"}
		o.Spec.Verify, o.Status.ObservedGeneration = &sourcev1.OCIRepositoryVerification{}, 2
		o.Status.Conditions = []metav1.Condition{{Type: sourcev1.SourceVerifiedCondition, Status: metav1.ConditionTrue, ObservedGeneration: 2}}
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
	archive := func(url string) client.Object {
		o := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
		o.Status.Artifact = &fluxmeta.Artifact{URL: url}
		return o
	}
	const noSignature = "spec.chartRef: ExternalArtifact 'apps/web' is an archive, which has no signature"
	for name, tc := range map[string]struct {
		source client.Object
		// inexact, unverified and unlocated are parts of "<field>: <why>"; empty if there is none.
		inexact, unverified, unlocated string
		url, repository                string
	}{
		"Archive":       {archive("http://helmcharts.pintle.invalid/apps/web/https/charts.example/web.tgz?cas&1234"), "", noSignature, "", "https://charts.example/web.tgz", ""},
		"Content":       {archive("http://helmcharts.pintle.invalid/apps/web"), "", noSignature, "has its chart in a HelmChart, which has no URL", "", ""},
		"Tag":           {oci(), "", "", "", "oci://registry/charts/web", ""},
		"Digest":        {oci(ref(&sourcev1.OCIRepositoryRef{Digest: "sha256:a", SemVer: "1.x"})), "", "", "", "oci://registry/charts/web", ""},
		"Semver":        {oci(ref(&sourcev1.OCIRepositoryRef{SemVer: "1.x", Tag: "1.0.0"})), "spec.chartRef: OCIRepository 'apps/web' has a range", "", "", "oci://registry/charts/web", ""},
		"NoReference":   {oci(ref(nil)), "spec.chartRef: OCIRepository 'apps/web' has neither a tag nor a digest", "", "", "oci://registry/charts/web", ""},
		"NoTag":         {oci(ref(&sourcev1.OCIRepositoryRef{})), "has neither a tag nor a digest", "", "", "oci://registry/charts/web", ""},
		"NoVerify":      {oci(func(o *sourcev1.OCIRepository) { o.Spec.Verify = nil }), "", "spec.chartRef: OCIRepository 'apps/web' has no spec.verify", "", "oci://registry/charts/web", ""},
		"NotVerified":   {oci(func(o *sourcev1.OCIRepository) { o.Status.Conditions[0].Status = metav1.ConditionFalse }), "", "condition SourceVerified of OCIRepository 'apps/web' is not True", "", "oci://registry/charts/web", ""},
		"FormerKeys":    {oci(func(o *sourcev1.OCIRepository) { o.Status.Conditions[0].ObservedGeneration = 1 }), "", "condition SourceVerified of OCIRepository 'apps/web' is not of its latest generation", "", "oci://registry/charts/web", ""},
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
	// The fields of a template, before its source is applied.
	hr = templated(t, "{kind: OCIRepository, spec: {url: 'oci://registry/charts/web', ref: {semver: 1.x}}}")
	if c, _ := Facts(hr, TemplateSource(hr)); c.Inexact.Field != "spec.chart.spec.ref" || c.Unverified.Field != "spec.chart.spec.verify" || c.Located != "spec.chart.spec.url" || c.URL != "oci://registry/charts/web" {
		t.Errorf("%+v", c)
	}
	hr = templated(t, "{kind: OCIRepository, spec: {url: 'oci://registry/charts/web', insecure: true, ref: {tag: '1'}, verify: {provider: cosign, secretRef: {name: keys}}}}")
	hr.Namespace = "apps"
	c, _ := Facts(hr, TemplateSource(hr))
	if c.Inexact != (policy.Fault{}) || c.Unverified != (policy.Fault{}) || c.Unproven.Field != "spec.chart.spec.url" || c.Signature.Secret != "apps/keys" || c.Signature.Field != "spec.chart.spec.verify" {
		t.Errorf("%+v", c)
	}
}

// TestOrigin: the fields of each kind of source that decide which server answers for its URL, and which
// keys and identities verify its signature.
func TestOrigin(t *testing.T) {
	t.Parallel()
	secret := &fluxmeta.LocalObjectReference{Name: "own"}
	meta := metav1.ObjectMeta{Namespace: "apps", Name: "web"}
	oci := func(edit func(*sourcev1.OCIRepository)) policy.Chart {
		o := &sourcev1.OCIRepository{ObjectMeta: meta, Spec: sourcev1.OCIRepositorySpec{URL: "oci://registry/charts/web"}}
		edit(o)
		c, _ := Facts(&helmv2.HelmRelease{}, o)
		return c
	}
	archive := func(at string) policy.Chart {
		o := &sourcev1.ExternalArtifact{ObjectMeta: meta, Status: sourcev1.ExternalArtifactStatus{Artifact: &fluxmeta.Artifact{URL: "http://helmcharts.pintle.invalid/apps/web/" + at}}}
		c, _ := Facts(&helmv2.HelmRelease{}, o)
		return c
	}
	repository := func(edit func(*sourcev1.HelmRepository)) policy.Chart {
		o := &sourcev1.HelmRepository{ObjectMeta: meta, Spec: sourcev1.HelmRepositorySpec{URL: "https://charts/stable/"}}
		edit(o)
		return InRepository(policy.Chart{URL: "/web", Located: "spec.chart.spec.sourceRef"}, o)
	}
	for name, tc := range map[string]struct {
		chart            policy.Chart
		unproven, ownCAs string
	}{
		"Archive":          {archive("https/charts/web.tgz"), "", ""},
		"ArchivePlain":     {archive("http/charts/web.tgz"), "spec.chartRef: ExternalArtifact 'apps/web' is read without TLS", ""},
		"ArchiveQuery":     {archive("https/charts/web.tgz?cas&1234"), "spec.chartRef: ExternalArtifact 'apps/web' has a query in its URL", "has certificate authorities"},
		"ArchiveOwnCAs":    {archive("https/charts/web.tgz?cas"), "", "spec.chartRef: ExternalArtifact 'apps/web' has certificate authorities of its HelmChart"},
		"OCI":              {oci(func(*sourcev1.OCIRepository) {}), "", ""},
		"OCIProxy":         {oci(func(o *sourcev1.OCIRepository) { o.Spec.ProxySecretRef = secret }), "spec.chartRef: OCIRepository 'apps/web' has spec.proxySecretRef", ""},
		"OCIInsecure":      {oci(func(o *sourcev1.OCIRepository) { o.Spec.Insecure = true }), "spec.chartRef: OCIRepository 'apps/web' has spec.insecure", ""},
		"OCICertificates":  {oci(func(o *sourcev1.OCIRepository) { o.Spec.CertSecretRef = secret }), "", "spec.chartRef: OCIRepository 'apps/web' has spec.certSecretRef"},
		"OCICredentials":   {oci(func(o *sourcev1.OCIRepository) { o.Spec.SecretRef = secret }), "", ""},
		"OCISuspended":     {oci(func(o *sourcev1.OCIRepository) { o.Spec.Suspend = true }), "", ""},
		"HTTP":             {repository(func(*sourcev1.HelmRepository) {}), "", ""},
		"HTTPSuspended":    {repository(func(o *sourcev1.HelmRepository) { o.Spec.Suspend = true }), "spec.chart.spec.sourceRef: HelmRepository 'apps/web' is suspended", ""},
		"HTTPInsecure":     {repository(func(o *sourcev1.HelmRepository) { o.Spec.Insecure = true }), "has spec.insecure", ""},
		"HTTPCertificates": {repository(func(o *sourcev1.HelmRepository) { o.Spec.CertSecretRef = secret }), "", "spec.chart.spec.sourceRef: HelmRepository 'apps/web' has spec.certSecretRef"},
		"HTTPCredentials":  {repository(func(o *sourcev1.HelmRepository) { o.Spec.SecretRef = secret }), "", "HelmRepository 'apps/web' has spec.secretRef"},
		"Static":           {repository(func(o *sourcev1.HelmRepository) { o.Spec.Type = "oci" }), "HelmRepository 'apps/web' is of type oci and has no status", ""},
	} {
		for what, fact := range map[string]struct {
			got  policy.Fault
			want string
		}{"unproven": {tc.chart.Unproven, tc.unproven}, "own certificates": {tc.chart.OwnCAs, tc.ownCAs}} {
			if text := fact.got.Field + ": " + fact.got.Why; !strings.Contains(text, fact.want) || fact.want == "" && fact.got != (policy.Fault{}) {
				t.Errorf("%s: %s: %q, want %q", name, what, text, fact.want)
			}
		}
	}
	if c := repository(func(*sourcev1.HelmRepository) {}); c.URL != "https://charts/stable/web" {
		t.Errorf("URL %s", c.URL)
	}
	identities := []sourcev1.OIDCIdentityMatch{{Issuer: "i", Subject: "s"}}
	c := oci(func(o *sourcev1.OCIRepository) {
		o.Spec.Verify = &sourcev1.OCIRepositoryVerification{Provider: "cosign", SecretRef: secret, MatchOIDCIdentity: identities, TrustedRootSecretRef: secret}
	})
	want := policy.Signature{
		Field: "spec.chartRef", Source: "OCIRepository 'apps/web'", Provider: "cosign", Secret: "apps/own", OwnRoot: true,
		Identities: []v1alpha1.SignerIdentity{{Issuer: "i", Subject: "s"}},
	}
	if !reflect.DeepEqual(c.Signature, want) {
		t.Errorf("%+v, want %+v", c.Signature, want)
	}
	helmChart := &sourcev1.HelmChart{ObjectMeta: meta, Spec: sourcev1.HelmChartSpec{Verify: &sourcev1.HelmChartVerification{SecretRef: secret, MatchOIDCIdentity: identities}}}
	c, _ = Facts(&helmv2.HelmRelease{}, helmChart)
	want.Field, want.Source, want.OwnRoot = "spec.chart.spec.verify", "HelmChart 'apps/web'", false
	if !reflect.DeepEqual(c.Signature, want) {
		t.Errorf("%+v, want %+v", c.Signature, want)
	}
}

// TestUnfetched: the artifact that source-controller keeps while a fetch fails is not that of the URL
// and the keys in the spec.
func TestUnfetched(t *testing.T) {
	t.Parallel()
	artifact := &fluxmeta.Artifact{Revision: "1.0.0", Digest: "sha256:a", URL: "http://a"}
	meta := metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "1", Generation: 2}
	stored := func(generation int64, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: sourcev1.ArtifactInStorageCondition, Status: status, ObservedGeneration: generation}}
	}
	oci := func(conditions []metav1.Condition) client.Object {
		return &sourcev1.OCIRepository{ObjectMeta: meta, Status: sourcev1.OCIRepositoryStatus{ObservedGeneration: 2, Artifact: artifact, Conditions: conditions}}
	}
	chart := func(observed string) *sourcev1.HelmChart {
		return &sourcev1.HelmChart{
			ObjectMeta: meta, Spec: sourcev1.HelmChartSpec{SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "HelmRepository", Name: "charts"}},
			Status: sourcev1.HelmChartStatus{ObservedGeneration: 2, Artifact: artifact, ObservedSourceArtifactRevision: observed, Conditions: stored(2, metav1.ConditionTrue)},
		}
	}
	repository := func(observed int64, revision string) *sourcev1.HelmRepository {
		return &sourcev1.HelmRepository{
			ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "charts", Generation: 3},
			Status:     sourcev1.HelmRepositoryStatus{ObservedGeneration: observed, Artifact: &fluxmeta.Artifact{Revision: revision}},
		}
	}
	empty := repository(3, "")
	empty.Status.Artifact = nil
	template, unready := chart("old"), chart("old")
	template.UID, unready.Status.ObservedGeneration = "", 1
	for name, tc := range map[string]struct {
		source client.Object
		repo   *sourcev1.HelmRepository
		why    string
	}{
		"Stored":      {oci(stored(2, metav1.ConditionTrue)), nil, ""},
		"Former":      {oci(stored(1, metav1.ConditionTrue)), nil, "OCIRepository 'apps/web' is not ready for a policy that restricts charts: its artifact is not known to be of its latest generation"},
		"NotStored":   {oci(stored(2, metav1.ConditionFalse)), nil, "latest generation"},
		"NoCondition": {oci(nil), nil, "latest generation"},
		"Chart":       {chart("new"), repository(3, "new"), ""},
		"OtherIndex":  {chart("old"), repository(3, "new"), "its chart was made of revision 'old' of HelmRepository 'apps/charts', which has revision 'new'"},
		"NotObserved": {chart("new"), repository(2, "new"), "HelmRepository 'apps/charts' has not been fetched since it was changed"},
		"NoIndex":     {chart("new"), empty, "has not been fetched"},
		"NoURL":       {chart("old"), nil, ""},
		"Template":    {template, repository(3, "new"), ""},
		"NotReady":    {unready, repository(3, "new"), ""},
	} {
		err := Unfetched(tc.source, tc.repo)
		if b := blocked(t, err); (b == nil) != (tc.why == "") || b != nil && (b.Reason != helmv2.ReasonSourceNotReady || !strings.Contains(b.Message, tc.why)) {
			t.Errorf("%s: %v, want %q", name, err, tc.why)
		}
	}
}
