// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

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
	kind, key := SourceOf(hr)
	if row, _ := SourceKindOf(kind); row.Gated && !r.settings.ExternalArtifacts {
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
