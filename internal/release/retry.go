// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

// Retry says when to requeue a HelmRelease. The zero value is Never.
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
