// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestKeepsTakenOver: only the release of a HelmChart keeps a version without its digest, and only until
// the digest changes.
func TestKeepsTakenOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*helmv2.HelmRelease)
		want bool
	}{
		"taken over":       {func(*helmv2.HelmRelease) {}, true},
		"kept":             {func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevisionDigest = "sha256:a" }, true},
		"another digest":   {func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevisionDigest = "sha256:b" }, false},
		"another version":  {func(hr *helmv2.HelmRelease) { hr.Status.History[0].ChartVersion = "0.9.0" }, false},
		"another chart":    {func(hr *helmv2.HelmRelease) { hr.Status.History[0].ChartName = "other" }, false},
		"another attempt":  {func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevision = "1.0.0+a" }, false},
		"no HelmChart":     {func(hr *helmv2.HelmRelease) { hr.OwnerReferences = nil }, false},
		"a HelmRepository": {func(hr *helmv2.HelmRelease) { hr.Spec.Chart = &helmv2.HelmChartTemplate{} }, false},
		"no history":       {func(hr *helmv2.HelmRelease) { hr.Status.History = nil }, false},
	} {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "helm.cattle.io/v1", Kind: "HelmChart", Name: "web", Controller: new(true)},
		}}}
		hr.Status.History = helmv2.Snapshots{{ChartName: "note", ChartVersion: "1.0.0"}}
		hr.Status.LastAttemptedRevision = "1.0.0"
		tc.edit(hr)
		c := release.Chart{Name: "note", Version: "1.0.0+a", OCIDigest: "sha256:a"}
		if got := keepsTakenOver(hr, c, chart.Identity{Name: "note", Version: "1.0.0"}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
