// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// unsupported returns a terminal *release.Blocked for a spec that this version does not support.
// Ignoring a field would run the release in a way that its author did not request.
func unsupported(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}

// dependencyBlocked returns the *release.Blocked for a dependency that is not ready. A change of
// the dependency triggers a reconciliation. The retry covers missed events, and dependencies that
// are not in the cache.
func (r dependencies) dependencyBlocked(format string, args ...any) *release.Blocked {
	return &release.Blocked{
		Reason: helmv2.ReasonDependencyNotReady, Normal: true,
		Retry: release.After(r.settings.DependencyRetry), Message: fmt.Sprintf(format, args...),
	}
}
