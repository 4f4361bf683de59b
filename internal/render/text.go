// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Text is rendered text that Helm is given in place of templates: a chart without templates, and a
// post-renderer that returns the manifest. Helm stores neither, because its storage driver replaces
// the content of the new revision by the rendered one.
type Text struct {
	// Name and Version are those of the chart.
	Name, Version string
	// Manifest returns the manifest when Helm renders.
	Manifest func() (string, error)
}

// Chart returns a chart without templates, values and dependencies.
func (t Text) Chart() *helmchart.Chart {
	return &helmchart.Chart{Metadata: &helmchart.Metadata{APIVersion: helmchart.APIVersionV2, Name: t.Name, Version: t.Version}}
}

// Config returns a configuration with which Helm reads no capabilities from the cluster.
func (t Text) Config(c action.Configuration) *action.Configuration {
	c.Capabilities = chartutil.DefaultCapabilities
	return &c
}

// Run implements Helm's PostRenderer.
func (t Text) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	manifest, err := t.Manifest()
	return bytes.NewBufferString(manifest), err
}
