// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/client-go/rest"
)

// deprecations passes warnings about deprecated APIs to its handler and drops all others. Warnings
// of admission webhooks may quote objects, and so secrets.
type deprecations struct{ to rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (d deprecations) HandleWarningHeader(code int, agent, text string) {
	if strings.Contains(text, " is deprecated in v") && !strings.ContainsAny(text, `"{}`) {
		d.to.HandleWarningHeader(code, agent, text)
	}
}
