// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

func (r *Retrier) start() *request { return &request{retrier: r} }

// request is one request and its repetitions.
type request struct {
	retrier *Retrier
	// first is when the request failed first; zero if it has not failed.
	first time.Time
	pause time.Duration
	// away is true if the last try did not reach an API server.
	away      bool
	conflicts int
	hurried   bool
	resume    func()
	// serverReady reports whether the API server is ready; nil if that is unknown.
	serverReady func() bool
	// unavailable returns the API of the request if the API server cannot serve any of it; nil if it
	// can, or that is unknown.
	unavailable func() *UnavailableError
}

// end acquires the slot of the action again.
func (q *request) end() {
	if q.resume != nil {
		q.resume()
	}
}

// again waits and then reports whether the request must be repeated. The outage is not nil if the
// budget is spent.
func (q *request) again(ctx context.Context, a Answer) (bool, *Outage) {
	r := q.retrier
	class := Classify(a)
	if class == WebhookUnreachable && r.owns(a.webhook()) {
		class = Answered
	}
	now := r.options.Now()
	q.recordReach(class != Transient || !a.fromNoServer())
	switch class {
	case Answered, Denied:
		if r.mayBeGranted(a, now) {
			if q.first.IsZero() {
				q.first = now
			}
			return q.sleep(ctx, q.next(0), nil), nil
		}
		r.recordSuccess(now)
		return false, nil
	case Final:
		return false, nil
	case Conflict:
		if q.conflicts++; q.conflicts >= maxConflicts {
			r.recordSuccess(now)
			return false, nil
		}
	case Transient, WebhookUnreachable:
	}
	if q.first.IsZero() {
		q.first = now
	}
	var over <-chan struct{}
	if q.away {
		over = r.options.Faults.note(r.options.Server, now)
	}
	left, lasting := r.recordFailure(q.first, now, class, a)
	if _, slow := errors.AsType[*SlowError](a.Err); slow || left <= 0 {
		// A server that is too slow was given its time. Other requests would take as long.
		return q.spent(class, a, lasting)
	}
	return q.sleep(ctx, min(q.next(a.RetryAfter), left), over), nil
}

// recordReach records whether the last try reached an API server. Pauses are short again when a
// server is back: one that starts denies or rejects requests for a moment only.
func (q *request) recordReach(server bool) {
	if server && q.away {
		q.pause = 0
	}
	q.away = !server
}

// spent returns the result of again when the budget is spent. An answer of a server that is ready
// stands, unless the API of the request is unavailable.
func (q *request) spent(class Class, a Answer, lasting bool) (bool, *Outage) {
	r := q.retrier
	if !lasting && (class != Transient || a.Code < http.StatusInternalServerError || q.serverReady == nil || !q.serverReady()) {
		return false, r.spent(q.first, class, a)
	}
	if a.Code == http.StatusServiceUnavailable && q.unavailable != nil {
		if part := q.unavailable(); part != nil && !r.owns(part.API) {
			return false, r.spent(q.first, class, Answer{Err: part})
		}
	}
	if lasting {
		return false, nil
	}
	// The request is sent once more: the outage may just be over.
	r.recordSuccess(r.options.Now())
	return true, nil
}

// next returns how long to wait: an exponential back-off with jitter, and at least Retry-After.
func (q *request) next(retryAfter time.Duration) time.Duration {
	q.pause = min(max(2*q.pause, firstPause), longestPause)
	jittered := q.pause/2 + rand.N(q.pause)
	return max(jittered, min(retryAfter, longestRetryAfter))
}

// sleep waits and reports whether the request may still be sent. It releases the slot of the action
// once the request has failed for longer than patience. A long pause ends early when another request
// shows that the fault is over.
func (q *request) sleep(ctx context.Context, pause time.Duration, over <-chan struct{}) bool {
	if q.resume == nil && q.retrier.options.Now().Add(pause).Sub(q.first) > patience {
		q.resume = q.retrier.ReleaseSlot()
	}
	timer, early := time.NewTimer(pause), time.NewTimer(shortestPause)
	defer timer.Stop()
	defer early.Stop()
	hurry := q.retrier.hurry
	if q.hurried {
		hurry = nil
	}
	for answered := (<-chan struct{})(nil); ; {
		select {
		case <-early.C:
			answered = over
		case <-answered:
			return true
		case <-timer.C:
			return true
		case <-hurry:
			q.hurried = true
			return true
		case <-ctx.Done():
			return false
		case <-q.retrier.halted:
			return false
		}
	}
}
