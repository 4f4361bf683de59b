// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// The functions of a worker.
const (
	// FunctionIdentify returns the Facts of a chart.
	FunctionIdentify = "identify"
	// FunctionCRDs returns the CRDs of a chart.
	FunctionCRDs = "crds"
	// FunctionRender renders a chart.
	FunctionRender = "render"
	// FunctionUnread returns values that have no effect.
	FunctionUnread = "unread"
	// FunctionFiles returns files of an artifact that is no chart.
	FunctionFiles = "files"
)

// The requests of a worker.
const (
	// FunctionGet reads from the API server.
	FunctionGet = "get"
	// FunctionResolve returns the addresses of a host, separated by spaces. The request is the name.
	FunctionResolve = "resolve"
)

// Facts are the properties of a chart that do not depend on values.
type Facts struct {
	Name, Version, AppVersion string
	// Lookup is true if templates may read objects of the cluster.
	Lookup bool
	// Capabilities is true if templates may use the version of the API server or its APIs.
	Capabilities bool
	// CRDs is true if the chart or a subchart has files in its crds folder.
	CRDs bool
	// Content is a digest of the files of the chart. It is the same for each archive of them.
	Content string
}

// ReadsCluster reports whether templates may read anything from the cluster.
func (f Facts) ReadsCluster() bool { return f.Lookup || f.Capabilities }

// Chart is a chart with its values.
type Chart struct {
	// Name and Version are those of the release. The version replaces that of the archive.
	Name, Version string
	// Tenant is the namespace that the call is for.
	Tenant string `cbor:"-"`
	// Digest is that of the archive.
	Digest  string
	Archive []byte `cbor:"-"`
	Values  map[string]any
	// Defaults, if not nil, replace the defaults in the chart.
	Defaults map[string]any
	// PostRender is validated before the chart is used.
	PostRender PostRender
}

// PostRender holds the parts of a spec that change rendered objects.
type PostRender struct {
	Renderers []helmv2.PostRenderer
	Strategy  helmv2.PostRenderStrategy
	Metadata  *helmv2.CommonMetadata
}

// PostRenderOf returns the parts of a spec.
func PostRenderOf(spec helmv2.HelmReleaseSpec, defaults helmv2.Defaults) PostRender {
	return PostRender{Renderers: spec.PostRenderers, Strategy: spec.GetPostRenderStrategy(defaults), Metadata: spec.CommonMetadata}
}

// Spec returns a spec with these parts.
func (p PostRender) Spec() helmv2.HelmReleaseSpec {
	return helmv2.HelmReleaseSpec{PostRenderers: p.Renderers, PostRenderStrategy: p.Strategy, CommonMetadata: p.Metadata}
}

// CRDs are the files in the crds folders of a chart, without those of disabled subcharts.
type CRDs struct {
	Files []helmchart.CRD
	// Unpacked is the number of bytes of the chart and its values that are rendered and stored.
	Unpacked int
}

// Rendering is the input of a rendering.
type Rendering struct {
	Chart

	// Hooks also renders hooks with the post-renderers.
	Hooks bool
	// Release and Namespace are the name and the namespace of the release.
	Release, Namespace string
	// Install is true for the revision of an install, false for that of an upgrade.
	Install bool
	// Revision is the number in the templates of an upgrade. In those of an install it is 1.
	Revision int
	// Capabilities are those that templates see. APIs are added to them.
	Capabilities *chartutil.Capabilities
	APIs         []string
	// Server is the address of the API server for lookups, and RequestTimeout the timeout of their
	// requests; zero is none.
	Server         string
	RequestTimeout time.Duration
	// SkipSchemas disables the validation of values.
	SkipSchemas bool
	// EnableDNS enables the function getHostByName.
	EnableDNS bool
	// OtherTime makes the function now return another time.
	OtherTime bool
	// ManifestOnly makes the result have no chart.
	ManifestOnly bool
	// KeepChart makes the result of a failed rendering have the chart and the error.
	KeepChart bool
	// Patterns select files of the archive, which is no chart then.
	Patterns []string `cbor:",omitempty"`
	// Timeout limits the rendering.
	Timeout time.Duration
}

// Files are the files of an artifact that a pattern selects.
type Files struct {
	Pattern string
	// Refused is why they cannot be used; empty if they can.
	Refused string
	Files   []File
}

// File is a file of an artifact.
type File struct {
	Path string
	Data []byte
}

// Unread are values that the defaults of a chart and its subcharts do not have, and that no template reads.
type Unread struct {
	// Keys are their paths, and Like has for each the key of a default that it may mean; empty if none is
	// like it.
	Keys [][]string
	Like []string
	// Left is the number of other values that were not looked at. Unstable is true if the reason is that the
	// chart renders differently each time.
	Left     int
	Unstable bool
}

// Rendered is a rendered chart.
type Rendered struct {
	Manifest, Notes string
	Hooks           []*helmrelease.Hook
	// Metadata is that of Chart, which is the chart as Helm stores it, in JSON.
	Metadata *helmchart.Metadata `cbor:"-"`
	Chart    []byte              `cbor:"-"`
	// Failed is the error of the rendering. Then only the chart is set.
	Failed string
}

// Get is a read of the API server.
type Get struct {
	// Path is that of the URL, below the path in the address of the API server.
	Path, Query string
	// Accept is the header of that name.
	Accept string
}

// Answer is the answer to a Get.
type Answer struct {
	Status int
	// ContentType and RetryAfter are the headers of these names.
	ContentType, RetryAfter string
	Body                    []byte `cbor:"-"`
}
