// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// countingLog counts messages of the default level.
func countingLog(n *atomic.Int64) logr.Logger {
	return funcr.New(func(string, string) { n.Add(1) }, funcr.Options{})
}
