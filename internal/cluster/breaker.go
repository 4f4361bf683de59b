// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

const (
	// firstPause is how long nobody tries again to reach a cluster that did not answer.
	// The pause doubles up to longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	// probeGap is the least time between a probe that was answered and the next one: a
	// server that answers some requests and drops others is not to be asked without end.
	probeGap = time.Second
)

// phase is what is known of a way into a cluster.
type phase int

const (
	// untried: nobody has asked for it yet.
	untried phase = iota
	// sound: it was answered last.
	sound
	// suspected: a request has failed, or there was none yet, and a probe is to tell
	// whether anybody is there. Requests go through meanwhile; what has not begun waits.
	suspected
	// broken: nobody is there. Nothing is sent but probes.
	broken
)

// breaker decides whether a cluster is worth a request. One failed request decides
// nothing, for servers restart and connections break: it brings about a probe at
// once, and that decides. It knows no time of its own, and is not for concurrent use.
type breaker struct {
	phase phase
	// probing is true while a probe is under way.
	probing bool
	// since is when the first failure was noticed, and cause says what the last one was;
	// zero where there was none.
	since time.Time
	cause string
	// next is the earliest time for a probe.
	next  time.Time
	pause time.Duration
}

// ask notes that somebody wants to use the cluster.
func (b *breaker) ask(now time.Time) {
	if b.phase == untried {
		b.phase, b.next = suspected, now
	}
}

// doubt notes that a request was not answered, and reports whether that is news.
func (b *breaker) doubt(now time.Time, cause string) bool {
	if b.phase != sound && b.phase != untried {
		return false
	}
	b.phase, b.since, b.cause = suspected, now, cause
	if b.next.Before(now) {
		b.next = now
	}
	return true
}

// due reports whether a probe is to be sent, as long as somebody wants to know.
func (b *breaker) due(now time.Time) bool {
	return (b.phase == suspected || b.phase == broken) && !b.probing && !now.Before(b.next)
}

// probed takes the outcome of a probe; an empty cause is an answer. It reports
// whether there is anything new to say, and whether the breaker opened or closed.
func (b *breaker) probed(now time.Time, cause string) (news, opened, closed bool) {
	b.probing = false
	before := *b
	if cause == "" {
		*b = breaker{phase: sound, next: now.Add(probeGap)}
		return true, false, before.phase == broken
	}
	if b.since.IsZero() {
		b.since = now
	}
	b.phase, b.cause = broken, cause
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.next = now.Add(b.pause)
	opened = before.phase != broken
	return opened || before.cause != cause, opened, false
}
