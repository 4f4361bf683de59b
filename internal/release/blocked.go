// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "fmt"

// Blocked is an expected obstacle: the desired or the observed state cannot be read at the moment.
// It is an error, so packages with I/O can return it. It is also a value, so package status can
// turn it into conditions.
type Blocked struct {
	// Reason is the reason of condition Ready.
	Reason string
	// Message is one stable sentence that names object, field and cause.
	Message string
	// Retry says when to requeue.
	Retry Retry
	// Terminal obstacles set condition Stalled. They end only with a change of the spec.
	Terminal bool
	// Quiet obstacles are regular waits and emit no event.
	Quiet bool
	// Progressing obstacles are work of the controller that is still running and may fail with
	// Reason. Condition Ready is Unknown, unless it already has the result of an earlier attempt.
	Progressing bool
	// Brief obstacles are expected to end within seconds. They write no status.
	Brief bool
	// Normal obstacles emit an event of type Normal.
	Normal bool
	// Transient obstacles are faults of an API server. They do not replace a Ready condition which
	// reports that an action was interrupted by an outage.
	Transient bool
	// Upstream obstacles are faults of a server other than an API server, such as the artifact
	// server.
	Upstream bool
	// Err is the cause; nil if there is none.
	Err error
}

// Error implements error.
func (b *Blocked) Error() string { return b.Message }

// Unwrap returns the cause.
func (b *Blocked) Unwrap() error { return b.Err }

// BlockedBy returns an obstacle that is retried with back-off. Its message is the formatted text,
// followed by the cause.
func BlockedBy(reason string, err error, format string, args ...any) *Blocked {
	return &Blocked{
		Reason: reason, Err: err, Retry: Backoff(),
		Message: fmt.Sprintf(format, args...) + ": " + err.Error(),
	}
}
