// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/pintle-dev/pintle/internal/diagnosis"

// Bounds of the logs in status.
const (
	// MaxLogLines is how many lines of a container's log are kept.
	MaxLogLines = 20
	// MaxLogBytes is how many bytes of them.
	MaxLogBytes = 4096
	// MaxLogs is of how many containers logs are kept.
	MaxLogs = 16
)

// Tail returns the last lines of a log, without secrets. Those are replaced before
// anything is cut, because half a secret would not be recognised.
func Tail(text string, secrets []string) string {
	return diagnosis.Cut(diagnosis.Redact(text, secrets), MaxLogLines, MaxLogBytes)
}
