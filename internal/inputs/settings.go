// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Settings are what the administrator of the controller chose, by flags and
// feature gates. They hold for all HelmReleases.
type Settings struct {
	// Defaults are what the gates make of fields that are not set.
	Defaults helmv2.Defaults
	// NoCrossNamespaceRefs refuses sources in other namespaces, and hides from a
	// readyExpr what dependencies there ask for.
	NoCrossNamespaceRefs bool
	// ExternalArtifacts allows sources of kind ExternalArtifact.
	ExternalArtifacts bool
	// DirectSources reads sources from the API server instead of the cache.
	DirectSources bool
	// KeepChartVersions leaves the digest of an artifact out of the chart's version.
	KeepChartVersions bool
	// AdditiveReadyExpr makes a readyExpr a condition beside the usual check, not
	// instead of it.
	AdditiveReadyExpr bool
	// DependencyRetry is when to look again at a dependency that was not ready.
	DependencyRetry time.Duration
}

const defaultDependencyRetry = 30 * time.Second

// With returns a resolver like r that follows settings. Without, there are the
// defaults of the flags.
func (r *Resolver) WithSettings(settings Settings) *Resolver {
	if settings.DependencyRetry == 0 {
		settings.DependencyRetry = defaultDependencyRetry
	}
	with := *r
	with.settings = settings
	return &with
}

// CheckNamespace returns a *release.Blocked if hr takes its chart from another
// namespace and noCrossNamespaceRefs forbids that.
func CheckNamespace(hr *helmv2.HelmRelease, noCrossNamespaceRefs bool) error {
	kind, key := SourceOf(hr)
	if !noCrossNamespaceRefs || key.Namespace == hr.Namespace {
		return nil
	}
	return denied("cross-namespace references are not allowed: cannot access %s %s", kind, key)
}

func (r *Resolver) checkAccess(hr *helmv2.HelmRelease) error {
	if err := CheckNamespace(hr, r.settings.NoCrossNamespaceRefs); err != nil {
		return err
	}
	if kind, key := SourceOf(hr); kind == helmv2.KindExternalArtifact && !r.settings.ExternalArtifacts {
		return denied("can't access '%s/%s', ExternalArtifact feature gate is disabled", kind, key)
	}
	return nil
}

// denied is terminal: another spec is needed, or another setting, which takes a
// restart.
func denied(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonAccessDenied, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}
