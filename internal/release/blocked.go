// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Blocked is an expected obstacle: the desired or the observed state cannot be read at the moment.
// It is an error, so packages with I/O can return it. It is also a value, so package status can
// turn it into conditions.
type Blocked struct {
	// Reason is the reason of condition Ready.
	Reason string
	// Message is one stable sentence that names object, field and cause.
	Message string
	// Todo states what to do, as a sentence without the final period; empty if the reason implies it.
	Todo string
	// Retry states when to requeue.
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
	// Failing is true if what is waited for has failed: a source that cannot be fetched.
	Failing bool
	// Err is the cause; nil if there is none.
	Err error
}

// Error implements error.
func (b *Blocked) Error() string { return b.Message }

// Unwrap returns the cause.
func (b *Blocked) Unwrap() error { return b.Err }

// BlockedBy returns an obstacle that is retried with back-off. Its message is formatted, followed
// by the cause.
func BlockedBy(reason string, err error, format string, args ...any) *Blocked {
	return &Blocked{
		Reason: reason, Err: err, Retry: Backoff(),
		Message: fmt.Sprintf(format, args...) + ": " + err.Error(),
	}
}

// DeletionWithout decides about a deleted HelmRelease if an object that gives access to its release
// does not exist: its ServiceAccount, or the Secret or ConfigMap of a cluster. In a namespace that
// is gone or being deleted, that object cannot return. The release is given up then, and
// unreachable is the reason. In any other namespace the deletion waits for the object, so that no
// release is left behind only because both were deleted together.
func DeletionWithout(missing error, namespaceGone bool) (unreachable string, blocked *Blocked) {
	if namespaceGone {
		return missing.Error(), nil
	}
	b := BlockedBy(helmv2.ReasonUninstallFailed, missing, "The release cannot be uninstalled")
	b.Todo = "Restore it, or set annotation " + helmv2.AnnotationOrphan + " to leave the release installed"
	return "", b
}

// Retry states when to requeue a HelmRelease. The zero value is Never.
type Retry struct {
	kind  retryKind
	after time.Duration
}

type retryKind int

const (
	never retryKind = iota
	now
	after
	interval
	backoff
)

// Never requeues on events only.
func Never() Retry { return Retry{} }

// Now requeues immediately, because more work is left.
func Now() Retry { return Retry{kind: now} }

// After requeues after d.
func After(d time.Duration) Retry { return Retry{kind: after, after: d} }

// Interval requeues after about d. The caller adds jitter, so that releases that were created
// together are not reconciled together.
func Interval(d time.Duration) Retry { return Retry{kind: interval, after: d} }

// Backoff requeues with a delay that grows with each failure in a row.
func Backoff() Retry { return Retry{kind: backoff} }

// BackoffUpTo requeues as Backoff does, and after limit at the latest.
func BackoffUpTo(limit time.Duration) Retry { return Retry{kind: backoff, after: limit} }

// IsNever reports whether only an event requeues.
func (r Retry) IsNever() bool { return r.kind == never }

// IsNow reports whether to requeue immediately.
func (r Retry) IsNow() bool { return r.kind == now }

// IsBackoff reports whether the delay is the back-off of the caller.
func (r Retry) IsBackoff() bool { return r.kind == backoff }

// Limit returns the longest delay of the back-off. Zero is no limit.
func (r Retry) Limit() time.Duration {
	if r.kind != backoff {
		return 0
	}
	return r.after
}

// Delay returns the delay and whether to add jitter.
func (r Retry) Delay() (d time.Duration, spread bool) { return r.after, r.kind == interval }

// String returns the retry for logs and scenarios.
func (r Retry) String() string {
	switch r.kind {
	case never:
		return "never"
	case now:
		return "now"
	case after, interval:
		return r.after.String()
	case backoff:
		if r.after > 0 {
			return "backoff<=" + r.after.String()
		}
		return "backoff"
	}
	return ""
}
