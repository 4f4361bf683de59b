// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import "time"

// Retry says when to look at a HelmRelease again. The zero value is Never: only
// an event wakes it.
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

// Never waits for an event.
func Never() Retry { return Retry{} }

// Now looks again at once: progress was made and more is to do.
func Now() Retry { return Retry{kind: now} }

// After looks again when d has passed.
func After(d time.Duration) Retry { return Retry{kind: after, after: d} }

// Interval looks again after about d; whoever acts on it spreads the moments,
// so that releases made together are not all visited together for ever.
func Interval(d time.Duration) Retry { return Retry{kind: interval, after: d} }

// Backoff looks again after a delay that grows with every failure in a row.
func Backoff() Retry { return Retry{kind: backoff} }

// BackoffUpTo requeues as Backoff does, and after limit at the latest.
func BackoffUpTo(limit time.Duration) Retry { return Retry{kind: backoff, after: limit} }

// IsNever and its siblings tell the kinds apart.
func (r Retry) IsNever() bool { return r.kind == never }

// IsNow reports whether to look again at once.
func (r Retry) IsNow() bool { return r.kind == now }

// IsBackoff reports whether the delay is left to the caller's back-off.
func (r Retry) IsBackoff() bool { return r.kind == backoff }

// Limit returns the longest delay that the back-off may have; zero is no limit.
func (r Retry) Limit() time.Duration {
	if r.kind != backoff {
		return 0
	}
	return r.after
}

// Delay returns the time to wait and whether it should be spread.
func (r Retry) Delay() (d time.Duration, spread bool) { return r.after, r.kind == interval }

// String names the retry for logs and scenarios.
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
