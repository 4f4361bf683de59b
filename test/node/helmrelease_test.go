// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	helmchart "helm.sh/helm/v3/pkg/chart"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// release creates a HelmRelease of test/charts/shell. Changes are made before.
func (w world) release(name string, v values, changes ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.Helper()
	chart, err := harness.LoadChart("shell")
	w.Must(err)
	return w.releaseOf(chart, name, v, changes...)
}

// releaseOf creates a HelmRelease of a chart. Changes are made before.
func (w world) releaseOf(chart *helmchart.Chart, name string, v values, changes ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.Helper()
	w.Publish(chart)
	source := w.Source(chart.Metadata.Name, env.Registry.Address, chart.Metadata.Name, fixture.Newest())
	hr := w.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, source.Name), v)
	for _, change := range changes {
		change(hr)
	}
	w.Must(env.Client.Create(w.Context(), hr))
	return hr
}

// revision checks a stored revision.
func (w world) revision(hr *helmv2.HelmRelease, number int, status string) {
	w.Helper()
	stored, err := env.Stored(w.Context(), w.Namespace)
	w.Must(err)
	revisions := stored[hr.Name]
	if len(revisions) < number || revisions[number-1].Status != status {
		w.Errorf("Helm has stored %+v, want revision %d to be %s", revisions, number, status)
	}
}
