// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// TestRefuse: the refusal names the policy, the field and the cause.
func TestRefuse(t *testing.T) {
	t.Parallel()
	inexact := Fault{"spec.chart.spec.version", "1.x is a range"}
	unverified := Fault{"spec.chart.spec.verify", "is not set"}
	sources := v1alpha1.ChartPolicy{Sources: []string{"oci://registry.example.com/charts/*"}}
	const allowed = "oci://registry.example.com/charts/web"
	ownCAs := Fault{"spec.chartRef", "has spec.certSecretRef"}
	transport := func(transport v1alpha1.ChartTransport) v1alpha1.ChartPolicy {
		return v1alpha1.ChartPolicy{Sources: sources.Sources, Transport: transport}
	}
	at := func(url string) Chart { return Chart{URL: url, Located: "spec.chartRef"} }
	for name, tc := range map[string]struct {
		charts v1alpha1.ChartPolicy
		chart  Chart
		field  string
		why    string
	}{
		"Nothing":        {v1alpha1.ChartPolicy{}, Chart{Inexact: inexact, Unverified: unverified}, "", ""},
		"Exact":          {v1alpha1.ChartPolicy{ExactVersions: true}, Chart{Unverified: unverified}, "", ""},
		"Inexact":        {v1alpha1.ChartPolicy{ExactVersions: true}, Chart{Inexact: inexact}, "spec.chart.spec.version", "1.x is a range (spec.charts.exactVersions)"},
		"Verified":       {v1alpha1.ChartPolicy{Verified: true}, Chart{Inexact: inexact}, "", ""},
		"Unverified":     {v1alpha1.ChartPolicy{Verified: true}, Chart{Unverified: unverified}, "spec.chart.spec.verify", "is not set (spec.charts.verified)"},
		"Source":         {sources, at("oci://registry.example.com/charts/web"), "", ""},
		"SourceSlash":    {sources, at("oci://registry.example.com/charts/web/"), "", ""},
		"SourceCase":     {sources, at("OCI://Registry.Example.com/charts/web"), "", ""},
		"Deeper":         {sources, at("oci://registry.example.com/charts/team/web"), "spec.chartRef", "is not one of the allowed sources"},
		"Shallower":      {sources, at("oci://registry.example.com/charts"), "spec.chartRef", "is not one of the allowed sources"},
		"OtherHost":      {sources, at("oci://registry.example.com.evil.com/charts/web"), "spec.chartRef", "is not one of the allowed sources"},
		"PathCase":       {sources, at("oci://registry.example.com/Charts/web"), "spec.chartRef", "is not one of the allowed sources"},
		"Credentials":    {sources, at("oci://registry.example.com@evil.com/charts/web"), "spec.chartRef", "credentials"},
		"Parent":         {sources, at("oci://registry.example.com/charts/.."), "spec.chartRef", "relative path segment"},
		"EmptySegment":   {sources, at("oci://registry.example.com/charts//web"), "spec.chartRef", "relative path segment"},
		"Escape":         {sources, at("oci://registry.example.com/charts/%2e%2e"), "spec.chartRef", "escapes"},
		"Query":          {sources, at("oci://registry.example.com/charts/web?a=b"), "spec.chartRef", "a query"},
		"NoScheme":       {sources, at("registry.example.com/charts/web"), "spec.chartRef", "no scheme"},
		"Unlocated":      {sources, Chart{Unlocated: Fault{"spec.chart.spec.sourceRef.kind", "has no URL"}}, "spec.chart.spec.sourceRef.kind", "has no URL"},
		"NoURL":          {sources, Chart{}, "", "no scheme"},
		"Unproven":       {sources, Chart{URL: allowed, Unproven: Fault{"spec.chartRef", "has spec.proxySecretRef"}}, "spec.chartRef", "has spec.proxySecretRef (spec.charts.sources)"},
		"UnprovenAny":    {transport(v1alpha1.TransportAny), Chart{URL: allowed, Unproven: Fault{"spec.chartRef", "has spec.insecure"}}, "spec.chartRef", "has spec.insecure"},
		"OwnCAs":         {sources, Chart{URL: allowed, OwnCAs: ownCAs}, "spec.chartRef", "has spec.certSecretRef (spec.charts.transport)"},
		"OwnCAsSystem":   {transport(v1alpha1.TransportSystem), Chart{URL: allowed, OwnCAs: ownCAs}, "spec.chartRef", "has spec.certSecretRef (spec.charts.transport)"},
		"OwnCAsAny":      {transport(v1alpha1.TransportAny), Chart{URL: allowed, OwnCAs: ownCAs}, "", ""},
		"OwnCAsNoURLs":   {v1alpha1.ChartPolicy{Verified: true, Transport: v1alpha1.TransportSystem}, Chart{OwnCAs: ownCAs}, "", ""},
		"SeveralSources": {v1alpha1.ChartPolicy{Sources: []string{"oci://a/*", "https://b/charts/*"}}, at("https://b/charts/web"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "p", Spec: v1alpha1.ReleasePolicySpec{Charts: &tc.charts}}
			got := Refuse([]Policy{p}, web(), tc.chart)
			switch {
			case tc.why == "" && got != nil:
				t.Errorf("refused: %+v", got)
			case tc.why == "":
			case got == nil:
				t.Error("not refused")
			case got.Policy != "ReleasePolicy/p" || got.Field != tc.field || !strings.Contains(got.Why, tc.why):
				t.Errorf("%+v, want %s: %s", got, tc.field, tc.why)
			}
		})
	}
}

// TestFirstRefusal: the refusal of the first policy by name is reported, and policies that do not
// select the release refuse nothing.
func TestFirstRefusal(t *testing.T) {
	t.Parallel()
	refuses := func(name, namespace string) Policy {
		return Policy{Kind: "ReleasePolicy", Namespace: namespace, Name: name, Spec: v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{ExactVersions: true}}}
	}
	chart := Chart{Inexact: Fault{"f", "w"}}
	if got := Refuse([]Policy{refuses("b", "apps"), refuses("a", "apps"), refuses("0", "other")}, web(), chart); got == nil || got.Policy != "ReleasePolicy/a" {
		t.Errorf("%+v", got)
	}
	if got := Refuse([]Policy{refuses("0", "other")}, web(), chart); got != nil {
		t.Errorf("%+v", got)
	}
	for name, tc := range map[string]struct {
		charts *v1alpha1.ChartPolicy
		needs  Needs
	}{
		"None": {nil, Needs{}}, "Empty": {&v1alpha1.ChartPolicy{}, Needs{}}, "Exact": {&v1alpha1.ChartPolicy{ExactVersions: true}, Needs{Chart: true}},
		"Verified": {&v1alpha1.ChartPolicy{Verified: true}, Needs{Chart: true, Origin: true}},
		"Signers":  {&v1alpha1.ChartPolicy{Signers: []v1alpha1.ChartSigner{{Provider: "cosign"}}}, Needs{Chart: true, Origin: true}},
		"Sources":  {&v1alpha1.ChartPolicy{Sources: []string{"oci://a"}}, Needs{Chart: true, Origin: true, Location: true}},
	} {
		if got := NeedsOf([]Policy{{Kind: "ClusterReleasePolicy", Spec: v1alpha1.ReleasePolicySpec{Charts: tc.charts}}}, web()); got != tc.needs {
			t.Errorf("%s: %+v, want %+v", name, got, tc.needs)
		}
	}
}

// TestRefusedForChangesOnly: certificate authorities that a policy does not mention are refused for
// changes only, and a refusal for all precedes that.
func TestRefusedForChangesOnly(t *testing.T) {
	t.Parallel()
	chart := Chart{URL: "oci://a", Located: "spec.chartRef", OwnCAs: Fault{"spec.chartRef", "w"}, Inexact: Fault{"spec.chartRef", "w"}}
	sources := func(name string, transport v1alpha1.ChartTransport) Policy {
		return Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: name, Spec: v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{Sources: []string{"oci://a"}, Transport: transport}}}
	}
	exact := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "z", Spec: v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{ExactVersions: true}}}
	for name, tc := range map[string]struct {
		policies []Policy
		refuses  string
		changes  bool
	}{
		"Unset":  {[]Policy{sources("a", "")}, "a", true},
		"System": {[]Policy{sources("a", v1alpha1.TransportSystem)}, "a", false},
		"Both":   {[]Policy{sources("a", ""), sources("b", v1alpha1.TransportSystem)}, "b", false},
		"First":  {[]Policy{sources("b", ""), sources("a", "")}, "a", true},
		"Other":  {[]Policy{sources("a", ""), exact}, "z", false},
	} {
		got := Refuse(tc.policies, web(), chart)
		if got == nil || got.Policy != "ReleasePolicy/"+tc.refuses || got.ChangesOnly != tc.changes {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSigners: a source may verify by no other provider, keys and identities than the allowed ones.
func TestSigners(t *testing.T) {
	t.Parallel()
	ci, other := v1alpha1.SignerIdentity{Issuer: "^i$", Subject: "^ci$"}, v1alpha1.SignerIdentity{Issuer: "^i$", Subject: ".*"}
	keys := v1alpha1.ChartSigner{Provider: v1alpha1.ProviderCosign, Secret: "platform/keys"}
	keyless := v1alpha1.ChartSigner{Provider: v1alpha1.ProviderCosign, Identities: []v1alpha1.SignerIdentity{ci}}
	for name, tc := range map[string]struct {
		signers   []v1alpha1.ChartSigner
		signature Signature
		allowed   bool
	}{
		"Provider":       {[]v1alpha1.ChartSigner{{Provider: "notation"}}, Signature{Provider: "notation", Secret: "apps/own"}, true},
		"OtherProvider":  {[]v1alpha1.ChartSigner{{Provider: "notation"}}, Signature{Provider: "cosign"}, false},
		"Keys":           {[]v1alpha1.ChartSigner{keys}, Signature{Provider: "cosign", Secret: "platform/keys"}, true},
		"OtherKeys":      {[]v1alpha1.ChartSigner{keys}, Signature{Provider: "cosign", Secret: "apps/keys"}, false},
		"NoKeys":         {[]v1alpha1.ChartSigner{keys}, Signature{Provider: "cosign"}, false},
		"NotationKeys":   {[]v1alpha1.ChartSigner{keys}, Signature{Provider: "notation", Secret: "platform/keys"}, false},
		"Identity":       {[]v1alpha1.ChartSigner{keyless}, Signature{Provider: "cosign", Identities: []v1alpha1.SignerIdentity{ci}}, true},
		"OtherIdentity":  {[]v1alpha1.ChartSigner{keyless}, Signature{Provider: "cosign", Identities: []v1alpha1.SignerIdentity{other}}, false},
		"OneOfTwo":       {[]v1alpha1.ChartSigner{keyless}, Signature{Provider: "cosign", Identities: []v1alpha1.SignerIdentity{ci, other}}, false},
		"AnyIdentity":    {[]v1alpha1.ChartSigner{keyless}, Signature{Provider: "cosign"}, false},
		"KeysOfIdentity": {[]v1alpha1.ChartSigner{keyless}, Signature{Provider: "cosign", Secret: "apps/own", Identities: []v1alpha1.SignerIdentity{ci}}, false},
		"OwnRoot":        {[]v1alpha1.ChartSigner{keyless}, Signature{Provider: "cosign", OwnRoot: true, Identities: []v1alpha1.SignerIdentity{ci}}, false},
		"Second":         {[]v1alpha1.ChartSigner{keys, keyless}, Signature{Provider: "cosign", Identities: []v1alpha1.SignerIdentity{ci}}, true},
	} {
		tc.signature.Field, tc.signature.Source = "spec.chartRef", "OCIRepository 'apps/web'"
		p := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "p", Spec: v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{Signers: tc.signers}}}
		if got := Refuse([]Policy{p}, web(), Chart{Signature: tc.signature}); (got == nil) != tc.allowed || got != nil && got.Field != "spec.chartRef" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// FuzzMatch: a pattern matches as the equal regular expression does.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"oci://r/charts/*", "oci://r/charts/web"}, {"*", ""}, {"a*b*c", "aXbYc"}, {"a*/*b", "a1/2b"}, {"**", "a/b"}, {"a*", "a/b"}, {"*x/y", "axx/y"}, {"a*a", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern)+len(text) > 1000 {
			return
		}
		expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `[^/]*`)
		equal, err := regexp.Compile(`(?s)\A` + expression + `\z`)
		if err != nil {
			return
		}
		if got := match(pattern, text, "/"); got != equal.MatchString(text) {
			t.Errorf("%q matches %q: %v", pattern, text, got)
		}
	})
}
