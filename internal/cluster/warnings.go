// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"k8s.io/client-go/rest"
)

// deprecations passes on warnings of what is about to be served no more, and no others.
// Whoever admits objects may warn of what they like, and quote the object, and nobody
// here knows what in it is secret.
type deprecations struct{ to rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (d deprecations) HandleWarningHeader(code int, agent, text string) {
	if strings.Contains(text, " is deprecated in v") && !strings.ContainsAny(text, `"{}`) {
		d.to.HandleWarningHeader(code, agent, text)
	}
}
