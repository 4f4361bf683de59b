// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// refusal stops a HelmRelease that asks for what this version does not do. Doing
// something else would run the release in a way its author did not ask for.
func refusal(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}
