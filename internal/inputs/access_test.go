// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestAccess: settings reject sources in other namespaces and ExternalArtifacts.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	refused := func(message string) *release.Blocked {
		return &release.Blocked{Reason: helmv2.ReasonAccessDenied, Terminal: true, Retry: release.Never(), Message: message}
	}
	elsewhere := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Namespace = "sources" }
	templateElsewhere := func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "note"}}
		hr.Spec.Chart.Spec.SourceRef.Namespace = "sources"
	}
	artifact := func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact }
	locked := Settings{NoCrossNamespaceRefs: true}
	cases := map[string]struct {
		reason   string
		edit     func(*helmv2.HelmRelease)
		settings Settings
		want     *release.Blocked
	}{
		"Elsewhere":       {reason: "other namespaces are allowed by default", edit: elsewhere},
		"ElsewhereLocked": {reason: "the message names the source", edit: elsewhere, settings: locked, want: refused("cross-namespace references are not allowed: cannot access OCIRepository sources/app")},
		"TemplateLocked":  {reason: "the HelmChart would be created there too", edit: templateElsewhere, settings: locked, want: refused("cross-namespace references are not allowed: cannot access HelmChart sources/prod-app")},
		"HereLocked":      {reason: "the own namespace is allowed", settings: locked, edit: func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Namespace = "prod" }},
		"DependencyLocked": {reason: "dependencies are not sources", settings: locked, edit: func(hr *helmv2.HelmRelease) {
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "db", Namespace: "data"}}
		}},
		"ArtifactGateOff": {reason: "the message names the gate", edit: artifact, want: refused("can't access 'ExternalArtifact/prod/app', ExternalArtifact feature gate is disabled")},
		"ArtifactGateOn":  {reason: "with the gate it is allowed", edit: artifact, settings: Settings{ExternalArtifacts: true}},
		"DeniedBeforeWaits": {reason: "a rejected source is reported before dependencies", settings: locked, edit: func(hr *helmv2.HelmRelease) {
			elsewhere(hr)
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "none"}}
		}, want: refused("cross-namespace references are not allowed: cannot access OCIRepository sources/app")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := reader(t, repository(s), repository(s, func(o *sourcev1.OCIRepository) { o.Namespace = "sources" }), other("data", "db"),
				external(s, "1.2.3@"+tagDigest), &sourcev1.HelmChart{
					ObjectMeta: metav1.ObjectMeta{Namespace: "sources", Name: "prod-app"}, Status: sourcev1.HelmChartStatus{Artifact: s.artifact("1.2.3")},
				})
			_, err := NewResolver(all, all, s.charts).WithSettings(tc.settings).Resolve(t.Context(), app(tc.edit), release.Suspension{})
			if diff := cmp.Diff(tc.want, blocked(t, err), compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// external returns the ExternalArtifact prod/app, with an outdated generation and condition.
func external(s store, revision string) *sourcev1.ExternalArtifact {
	return &sourcev1.ExternalArtifact{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app", Generation: 7},
		Status: sourcev1.ExternalArtifactStatus{
			Artifact:   s.artifact(revision),
			Conditions: []metav1.Condition{condition("Stalled", metav1.ConditionTrue, "ignored")},
		},
	}
}

// TestVersions: the version of a chart contains the digest of an OCI artifact unless settings keep
// versions.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mutated := release.Chart{Name: "note", Version: "1.2.3+9933f58f8bf4", AppVersion: "9", OCIDigest: tagDigest, Digest: s.digest}
	plain := release.Chart{Name: "note", Version: "1.2.3", AppVersion: "9", Digest: s.digest}
	recorded := plain
	recorded.OCIDigest = tagDigest
	cases := map[string]struct {
		reason string
		source client.Object
		kind   string
		keep   bool
		want   release.Chart
	}{
		"Digested":    {reason: "a revision with a digest is that of an OCI artifact", source: external(s, "1.2.3@"+tagDigest), kind: helmv2.KindExternalArtifact, want: mutated},
		"Plain":       {reason: "a revision without a digest is a version", source: external(s, "1.2.3"), kind: helmv2.KindExternalArtifact, want: plain},
		"Kept":        {reason: "the digest is recorded, and the version does not change", source: external(s, "1.2.3@"+tagDigest), kind: helmv2.KindExternalArtifact, keep: true, want: recorded},
		"KeptOCI":     {reason: "the setting applies to each kind", source: repository(s), kind: helmv2.KindOCIRepository, keep: true, want: recorded},
		"OCIDigested": {reason: "an OCIRepository has a digest", source: repository(s), kind: helmv2.KindOCIRepository, want: mutated},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewResolver(reader(t, tc.source), nil, s.charts).WithSettings(Settings{ExternalArtifacts: true, KeepChartVersions: tc.keep})
			want, err := r.Resolve(t.Context(), app(func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = tc.kind }), release.Suspension{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, want.Chart); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestExternalArtifactWithoutArtifact: a source without an artifact is not ready.
func TestExternalArtifactWithoutArtifact(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	empty := external(s, "")
	empty.Status.Artifact = nil
	r := NewResolver(reader(t, empty), nil, s.charts).WithSettings(Settings{ExternalArtifacts: true})
	_, err := r.Resolve(t.Context(), app(func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact }), release.Suspension{})
	want := "ExternalArtifact 'prod/app' is not ready: does not have an artifact"
	if b := blocked(t, err); b == nil || b.Message != want {
		t.Errorf("got %+v, want %s", b, want)
	}
}

// TestDirectSources: sources are read from the API server.
func TestDirectSources(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := NewResolver(reader(t), reader(t, repository(s)), s.charts).WithSettings(Settings{DirectSources: true})
	if _, err := r.Resolve(t.Context(), app(), release.Suspension{}); err != nil {
		t.Errorf("the source was read from the cache: %v", err)
	}
}

// TestDefaultsReachPolicies: policies contain the defaults of the settings.
func TestDefaultsReachPolicies(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, on := range []bool{false, true} {
		r := NewResolver(reader(t, repository(s)), nil, s.charts).WithSettings(Settings{Defaults: helmv2.Defaults{RetryOnFailure: on}})
		want, err := r.Resolve(t.Context(), app(), release.Suspension{})
		if err != nil || want.Policy.Install.Retry != on || want.Policy.Upgrade.Retry != on {
			t.Errorf("DefaultToRetryOnFailure=%t: %+v, %v", on, want.Policy, err)
		}
	}
}

// TestRefusedIsNotDownloaded: the chart of a source that the admission refuses is not downloaded.
func TestRefusedIsNotDownloaded(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	source := repository(s)
	source.Status.Artifact.URL = s.url + "/broken"
	refused := &Refused{Refusal: policy.Refusal{Policy: "ReleasePolicy/exact", Field: "spec.chartRef", Why: "no tag"}}
	r := NewResolver(reader(t, source), nil, s.charts).WithAdmission(func(context.Context, *helmv2.HelmRelease, client.Object) error { return refused })
	if _, err := r.Resolve(t.Context(), app(), release.Suspension{}); !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
}

// TestRefusedForChangesOnly: the inputs of a chart that is refused for changes only are resolved, with
// the refusal.
func TestRefusedForChangesOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	refused := &Refused{Refusal: policy.Refusal{Policy: "ReleasePolicy/sources", Field: "spec.chartRef", Why: "own certificates", ChangesOnly: true}}
	r := NewResolver(reader(t, repository(s)), nil, s.charts).WithAdmission(func(context.Context, *helmv2.HelmRelease, client.Object) error { return refused })
	want, err := r.Resolve(t.Context(), app(), release.Suspension{})
	if err != nil || want.Chart.Version == "" || want.Demands.Refusal == nil || *want.Demands.Refusal != refused.Refusal {
		t.Errorf("%+v, %+v, %v", want.Chart, want.Demands, err)
	}
}
