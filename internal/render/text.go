// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// Text is a release that was rendered before. Helm is given it in place of templates: a chart
// without templates, and a post-renderer that returns the manifest. Helm stores neither, because
// its storage driver replaces the new revision by the rendered one.
type Text struct{ Release *helmrelease.Release }

// Chart returns a chart without templates, values and dependencies.
func (t Text) Chart() *helmchart.Chart {
	described := &helmchart.Metadata{APIVersion: helmchart.APIVersionV2, Name: t.Release.Name, Version: "0.0.0"}
	if c := t.Release.Chart; c != nil && c.Metadata != nil {
		described.Name, described.Version = c.Metadata.Name, c.Metadata.Version
	}
	return &helmchart.Chart{Metadata: described}
}

// Config returns a configuration with which Helm reads no capabilities from the cluster.
func (t Text) Config(c action.Configuration) *action.Configuration {
	c.Capabilities = chartutil.DefaultCapabilities
	return &c
}

// Run implements Helm's PostRenderer.
func (t Text) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBufferString(t.Release.Manifest), nil
}
