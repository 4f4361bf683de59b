// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// phase is the state of a connection to a cluster.
type phase int

const (
	// phaseUnknown: no request has been sent yet.
	phaseUnknown phase = iota
	// phaseReachable: the last request or probe was answered.
	phaseReachable
	// phaseSuspected: a request has failed, or none was sent yet, and a probe decides. Requests are
	// still sent. Reconciliations that have not started wait.
	phaseSuspected
	// phaseUnreachable: a probe has failed. Only probes are sent.
	phaseUnreachable
)

// breaker is the circuit breaker of a cluster. A failed request does not open it, because
// servers restart and connections break. It triggers a probe, and the probe decides. The breaker
// has no clock of its own and is not for concurrent use.
type breaker struct {
	phase phase
	// probing is true while a probe is in flight.
	probing bool
	// since is when the first failure was noticed, and cause the cause of the last one. Both
	// are zero without a failure.
	since time.Time
	cause string
	// next is the earliest time of the next probe.
	next  time.Time
	pause time.Duration
}

// use records that the cluster is about to be used.
func (b *breaker) use(now time.Time) {
	if b.phase == phaseUnknown {
		b.phase, b.next = phaseSuspected, now
	}
}

// fail records that a request was not answered. It returns whether a probe becomes due by it.
func (b *breaker) fail(now time.Time, cause string) bool {
	if b.phase != phaseReachable && b.phase != phaseUnknown {
		return false
	}
	b.phase, b.since, b.cause = phaseSuspected, now, cause
	if b.next.Before(now) {
		b.next = now
	}
	return true
}

// due reports whether a probe may be sent now.
func (b *breaker) due(now time.Time) bool {
	return (b.phase == phaseSuspected || b.phase == phaseUnreachable) && !b.probing && !now.Before(b.next)
}

// recordProbe records the outcome of a probe; an empty cause is success. It returns whether the
// state or the cause changed, and whether the breaker opened or closed.
func (b *breaker) recordProbe(now time.Time, cause string) (changed, opened, closed bool) {
	b.probing = false
	before := *b
	if cause == "" {
		*b = breaker{phase: phaseReachable, next: now.Add(probeGap)}
		return true, false, before.phase == phaseUnreachable
	}
	if b.since.IsZero() {
		b.since = now
	}
	b.phase, b.cause = phaseUnreachable, cause
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.next = now.Add(b.pause)
	opened = before.phase != phaseUnreachable
	return opened || before.cause != cause, opened, false
}
