// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "fmt"

// Blocked is an expected obstacle: why it cannot be known at the moment what
// should be installed or what is there. It is an error, so that the rooms that
// touch the world can return it, and a value, so that the report room can turn
// it into conditions without knowing any of them.
type Blocked struct {
	// Reason of the Ready condition.
	Reason string
	// Message is one stable sentence that names object, field and cause.
	Message string
	// Retry says when to look again.
	Retry Retry
	// Terminal obstacles set Stalled: only a change of the spec helps.
	Terminal bool
	// Quiet obstacles are normal waiting and make no event.
	Quiet bool
	// Progressing obstacles are work of ours that goes on and may end with Reason:
	// Ready is unknown, unless it already says how it ended before.
	Progressing bool
	// Brief obstacles are likely to be gone in a moment: nothing is said of them.
	Brief bool
	// Normal obstacles make one that is no warning.
	Normal bool
	// Transient obstacles are faults of an API server. They do not replace a Ready
	// condition that says that a server did not answer an action.
	Transient bool
	// Upstream obstacles are faults of a server that is no API server, such as the
	// artifact server.
	Upstream bool
	// Err is the cause, if there is one.
	Err error
}

// Error implements error.
func (b *Blocked) Error() string { return b.Message }

// Unwrap returns the cause.
func (b *Blocked) Unwrap() error { return b.Err }

// BlockedBy returns an obstacle that is retried with back-off, its message
// being what fmt.Sprintf makes of the arguments followed by the cause.
func BlockedBy(reason string, err error, format string, args ...any) *Blocked {
	return &Blocked{
		Reason: reason, Err: err, Retry: Backoff(),
		Message: fmt.Sprintf(format, args...) + ": " + err.Error(),
	}
}
