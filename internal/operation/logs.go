// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// Limits of the logs in status.
const (
	// MaxLogLines is the largest number of lines of a container's log.
	MaxLogLines = 20
	// MaxLogBytes is the largest size of a container's log.
	MaxLogBytes = 4096
	// MaxLogs is the largest number of containers with logs.
	MaxLogs = 16

	// maxLastLines and maxLastBytes bound the end of a log in the message of a condition.
	maxLastLines = 3
	maxLastBytes = 512
)

// LastLines returns the end of a log of Tail for the message of a condition.
func LastLines(tail string) string { return diagnosis.Cut(tail, maxLastLines, maxLastBytes) }

// Tail returns the last lines of a log without secrets. Secrets are replaced before the log is cut,
// because a cut secret would not be recognised.
func Tail(text string, redactor redaction.Redactor) string {
	return diagnosis.Cut(redactor.Text(text), MaxLogLines, MaxLogBytes)
}
