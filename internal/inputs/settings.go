// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Settings holds the flags and feature gates of the controller. They apply to all HelmReleases. The
// zero value is the default.
type Settings struct {
	// Defaults are the values of fields that are not set, as far as feature gates change them.
	Defaults helmv2.Defaults
	// NoCrossNamespaceRefs rejects sources in other namespaces, and restricts a readyExpr to the
	// labels and status of dependencies there.
	NoCrossNamespaceRefs bool
	// ExternalArtifacts allows sources of kind ExternalArtifact.
	ExternalArtifacts bool
	// HelmCharts allows ExternalArtifacts that were made for HelmCharts of k3s, for their HelmReleases.
	HelmCharts bool
	// DirectSources reads sources from the API server instead of the cache.
	DirectSources bool
	// KeepChartVersions keeps the digest of an artifact out of the chart's version.
	KeepChartVersions bool
	// AdditiveReadyExpr evaluates a readyExpr in addition to the built-in readiness check, not
	// instead of it.
	AdditiveReadyExpr bool
	// DependencyRetry is the time until a dependency that is not ready is read again. Default: 30s.
	DependencyRetry time.Duration
	// RefuseDenials refuses all attempts whose dry runs deny objects, also for reasons that may depend
	// on other objects.
	RefuseDenials bool
}

const defaultDependencyRetry = 30 * time.Second
