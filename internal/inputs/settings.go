// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
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
	// DirectSources reads sources from the API server instead of the cache.
	DirectSources bool
	// KeepChartVersions keeps the digest of an artifact out of the chart's version.
	KeepChartVersions bool
	// AdditiveReadyExpr evaluates a readyExpr in addition to the built-in readiness check, not
	// instead of it.
	AdditiveReadyExpr bool
	// DependencyRetry is the time until a dependency that is not ready is read again. Default: 30s.
	DependencyRetry time.Duration
}

const defaultDependencyRetry = 30 * time.Second

// WithSettings returns a copy of r that follows settings.
func (r *Resolver) WithSettings(settings Settings) *Resolver {
	if settings.DependencyRetry == 0 {
		settings.DependencyRetry = defaultDependencyRetry
	}
	with := *r
	with.settings = settings
	return &with
}

// CheckNamespace returns a *release.Blocked if hr takes its chart from another namespace although
// noCrossNamespaceRefs is set.
func CheckNamespace(hr *helmv2.HelmRelease, noCrossNamespaceRefs bool) error {
	kind, key := SourceOf(hr)
	if !noCrossNamespaceRefs || key.Namespace == hr.Namespace {
		return nil
	}
	return accessDenied("cross-namespace references are not allowed: cannot access %s %s", kind, key)
}

// checkAccess returns a *release.Blocked if settings reject the source of hr.
func (r *Resolver) checkAccess(hr *helmv2.HelmRelease) error {
	if err := CheckNamespace(hr, r.settings.NoCrossNamespaceRefs); err != nil {
		return err
	}
	if kind, key := SourceOf(hr); kind == helmv2.KindExternalArtifact && !r.settings.ExternalArtifacts {
		return accessDenied("can't access '%s/%s', ExternalArtifact feature gate is disabled", kind, key)
	}
	return nil
}

// accessDenied returns a terminal *release.Blocked: a retry needs another spec, or another setting,
// which takes a restart.
func accessDenied(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonAccessDenied, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}
