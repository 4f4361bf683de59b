// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// keys returns a map of n entries.
func keys(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = ""
	}
	return m
}

// TestSpecLimits: a spec at its limits is accepted, and one more entry or byte is rejected with the
// field and the limit.
func TestSpecLimits(t *testing.T) {
	t.Parallel()
	kustomize := func(k helmv2.Kustomize) []helmv2.PostRenderer {
		return []helmv2.PostRenderer{
			{},
			{Kustomize: &helmv2.Kustomize{Patches: k.Patches[:len(k.Patches)/2], Images: k.Images[:len(k.Images)/2]}},
			{Kustomize: &helmv2.Kustomize{Patches: k.Patches[len(k.Patches)/2:], Images: k.Images[len(k.Images)/2:]}},
		}
	}
	cases := map[string]struct {
		limit int
		edit  func(spec *helmv2.HelmReleaseSpec, n int)
		want  string
	}{
		"DependsOn":     {256, func(s *helmv2.HelmReleaseSpec, n int) { s.DependsOn = make([]helmv2.DependencyReference, n) }, "spec.dependsOn has 257 entries, more than 256"},
		"ValuesFrom":    {256, func(s *helmv2.HelmReleaseSpec, n int) { s.ValuesFrom = make([]helmv2.ValuesReference, n) }, "spec.valuesFrom has 257 entries, more than 256"},
		"HealthChecks":  {256, func(s *helmv2.HelmReleaseSpec, n int) { s.HealthCheckExprs = make([]helmv2.CustomHealthCheck, n) }, "spec.healthCheckExprs has 257 entries, more than 256"},
		"PostRenderers": {256, func(s *helmv2.HelmReleaseSpec, n int) { s.PostRenderers = make([]helmv2.PostRenderer, n) }, "spec.postRenderers has 257 entries, more than 256"},
		"Patches": {256, func(s *helmv2.HelmReleaseSpec, n int) {
			s.PostRenderers = kustomize(helmv2.Kustomize{Patches: make([]helmv2.Patch, n)})
		}, "spec.postRenderers[*].kustomize.patches has 257 entries, more than 256"},
		"Images": {256, func(s *helmv2.HelmReleaseSpec, n int) {
			s.PostRenderers = kustomize(helmv2.Kustomize{Images: make([]helmv2.Image, n)})
		}, "spec.postRenderers[*].kustomize.images has 257 entries, more than 256"},
		"Ignore": {256, func(s *helmv2.HelmReleaseSpec, n int) {
			s.DriftDetection = &helmv2.DriftDetection{Ignore: make([]helmv2.IgnoreRule, n)}
		}, "spec.driftDetection.ignore has 257 entries, more than 256"},
		"IgnoredPaths": {256, func(s *helmv2.HelmReleaseSpec, n int) {
			s.DriftDetection = &helmv2.DriftDetection{Ignore: []helmv2.IgnoreRule{{}, {Paths: make([]string, n)}}}
		}, "spec.driftDetection.ignore[1].paths has 257 entries, more than 256"},
		"Pointer": {4096, func(s *helmv2.HelmReleaseSpec, n int) {
			s.DriftDetection = &helmv2.DriftDetection{Ignore: []helmv2.IgnoreRule{{Paths: []string{"/a", strings.Repeat("/", n)}}}}
		}, "spec.driftDetection.ignore[0].paths[1] has 4097 bytes, more than 4096"},
		"TestFilters": {256, func(s *helmv2.HelmReleaseSpec, n int) { s.Test = &helmv2.Test{Filters: make([]helmv2.Filter, n)} }, "spec.test.filters has 257 entries, more than 256"},
		"Labels":      {256, func(s *helmv2.HelmReleaseSpec, n int) { s.CommonMetadata = &helmv2.CommonMetadata{Labels: keys(n)} }, "spec.commonMetadata.labels has 257 entries, more than 256"},
		"Annotations": {256, func(s *helmv2.HelmReleaseSpec, n int) {
			s.CommonMetadata = &helmv2.CommonMetadata{Annotations: keys(n)}
		}, "spec.commonMetadata.annotations has 257 entries, more than 256"},
		"TargetPath": {1024, func(s *helmv2.HelmReleaseSpec, n int) {
			s.ValuesFrom = []helmv2.ValuesReference{{}, {TargetPath: strings.Repeat("a", n)}}
		}, "spec.valuesFrom[1].targetPath has 1025 bytes, more than 1024"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var spec helmv2.HelmReleaseSpec
			if tc.edit(&spec, tc.limit); checkLimits(&spec) != nil {
				t.Errorf("at the limit: %v", checkLimits(&spec))
			}
			hr := app(func(hr *helmv2.HelmRelease) { tc.edit(&hr.Spec, tc.limit+1) })
			_, err := NewResolver(nil, nil, nil).Resolve(t.Context(), hr, release.Suspension{})
			want := &release.Blocked{Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(), Message: tc.want}
			if diff := cmp.Diff(want, blocked(t, err), compare()); diff != "" {
				t.Errorf("above the limit (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLongName: a name that is no value of a label is rejected before anything is read.
func TestLongName(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		63: "exactly one of spec.chart and spec.chartRef must be set",
		64: "metadata.name has 64 characters, more than 63: it is the value of a label of all objects; use a shorter name",
	} {
		hr := app(func(hr *helmv2.HelmRelease) { hr.Name = strings.Repeat("a", n) })
		if err := CheckName(hr); (err != nil) != (n > 63) {
			t.Errorf("%d: %v", n, err)
		}
		if n <= 63 {
			hr.Spec.ChartRef, hr.Spec.Chart = nil, nil
		}
		_, err := NewResolver(nil, nil, nil).Resolve(t.Context(), hr, release.Suspension{})
		if got := blocked(t, err); got.Message != want || !got.Terminal || got.Reason != helmv2.ReasonUnsupportedField {
			t.Errorf("%d: %+v", n, got)
		}
	}
}

// TestReadyExprLimits: the expressions of all dependencies have one limit.
func TestReadyExprLimits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{8: "", 9: "spec.dependsOn[8].readyExpr: "} {
		hr := app(func(hr *helmv2.HelmRelease) {
			for range n {
				hr.Spec.DependsOn = append(hr.Spec.DependsOn, helmv2.DependencyReference{ReadyExpr: "'" + strings.Repeat("x", 16_000) + "'=='a'"})
			}
		})
		_, err := readyExpressions(hr)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d expressions: %v", n, err)
		}
	}
}
