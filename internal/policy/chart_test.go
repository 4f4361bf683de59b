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
		charts          *v1alpha1.ChartPolicy
		chart, location bool
	}{
		"None": {nil, false, false}, "Empty": {&v1alpha1.ChartPolicy{}, false, false}, "Exact": {&v1alpha1.ChartPolicy{ExactVersions: true}, true, false},
		"Verified": {&v1alpha1.ChartPolicy{Verified: true}, true, false}, "Sources": {&v1alpha1.ChartPolicy{Sources: []string{"oci://a"}}, true, true},
	} {
		chart, location := NeedsCharts([]Policy{{Kind: "ClusterReleasePolicy", Spec: v1alpha1.ReleasePolicySpec{Charts: tc.charts}}}, web())
		if chart != tc.chart || location != tc.location {
			t.Errorf("%s: %v, %v", name, chart, location)
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
		if got := match(pattern, text); got != equal.MatchString(text) {
			t.Errorf("%q matches %q: %v", pattern, text, got)
		}
	})
}
