// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// Budget is how long one outage may last before the action is interrupted.
	Budget = 2 * time.Minute
	// leastBudget is the budget of an action whose timeout is shorter or has passed. Its result
	// must be recorded all the same.
	leastBudget = 30 * time.Second
	// cancelledBudget is how long a cancelled action repeats requests.
	cancelledBudget = 10 * time.Second

	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
	// shortestPause is how long a request pauses although another one shows that the server answers:
	// of several servers behind one address, one may be away.
	shortestPause = time.Second
	// longestRetryAfter bounds the Retry-After of a server.
	longestRetryAfter = 30 * time.Second
	// grace is how long requests in flight may go on when the action is stopped.
	grace = 10 * time.Second
	// patience is how long a request fails before its action releases its slot.
	patience = 2 * time.Second
	// ownPatience is how long a request to the controller's own cluster has no answer before its
	// action releases its slot: a webhook or an aggregated API is slow.
	ownPatience = 5 * time.Second
	// maxConflicts bounds how often a request is repeated because of concurrent writes.
	maxConflicts = 6
)

// Options configure a Retrier. Only Now is required.
type Options struct {
	// Now is the clock.
	Now func() time.Time
	// Server names the API server in errors; empty stands for "the API server".
	Server string
	// Timeout is the timeout of the action, counted from New; zero is none.
	Timeout time.Duration
	// ReleaseSlot, if set, releases the slot of the action while the action waits. The returned
	// function acquires a slot again and may block. There are no concurrent calls.
	ReleaseSlot func() (resume func())
	// Remote is true if the server may belong to a tenant. The action then also releases its slot
	// while it waits for the answer to a request.
	Remote bool
	// Faults, if set, holds when servers could not be reached, for all actions of the process.
	Faults *Faults
	// StopCause, if set, is the cause of a cancellation that stops the action; see Stop. Other
	// cancellations only end its waits.
	StopCause error
	Log       logr.Logger
}

// Retrier repeats the requests of one action and records outages of the server. It may be used
// concurrently. A nil Retrier sends each request once.
type Retrier struct {
	options Options
	// deadline is the end of the timeout of the action; zero if it has none.
	deadline time.Time
	// hurry is closed when the action is cancelled.
	hurry chan struct{}
	stop  func() bool
	// cause returns the cause of the cancellation of the action; nil if it is not cancelled.
	cause func() error
	slot  slot

	// inFlight ends the requests in flight of a stopped action.
	inFlight       context.Context //nolint:containedctx // a Retrier lives as long as one action
	cancelInFlight context.CancelFunc
	// halted is closed when the action is stopped.
	halted chan struct{}

	mu sync.Mutex
	// stopped is why the action was stopped; nil if it was not.
	stopped error
	// cancelled is when the action was cancelled; zero if it was not.
	cancelled time.Time
	// down is when the first request failed without a success since, and failing when the last
	// one failed; both are zero while the server answers. answered is the last success.
	down, failing, answered time.Time
	outage                  *Outage
	ended                   bool
	// own are the admission webhooks that the release configures, and the APIs that it serves.
	own map[string]bool
}

// New returns the Retrier of an action that is cancelled with ctx. The caller must call End.
func New(ctx context.Context, options Options) *Retrier {
	if options.Server == "" {
		options.Server = "the API server"
	}
	r := &Retrier{options: options, hurry: make(chan struct{}), halted: make(chan struct{}), slot: slot{release: options.ReleaseSlot}}
	r.cause = func() error { return context.Cause(ctx) }
	r.inFlight, r.cancelInFlight = context.WithCancel(context.WithoutCancel(ctx))
	if options.Timeout > 0 {
		r.deadline = r.options.Now().Add(options.Timeout)
	}
	r.stop = context.AfterFunc(ctx, func() {
		r.mu.Lock()
		r.cancelled = r.options.Now()
		r.mu.Unlock()
		close(r.hurry)
		_ = r.Stopped()
	})
	return r
}

// ErrStopped is the error of requests that are not sent because their action was stopped.
var ErrStopped = errors.New("the request was not sent, because the action was interrupted")

// Stop ends the requests of the action: no further request is sent, also by code that handles a
// failure, and those in flight end after 10 seconds. The cluster keeps the state that the action
// has reached. The first cause counts.
func (r *Retrier) Stop(cause error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halt(cause)
}

func (r *Retrier) halt(cause error) {
	if r.stopped != nil {
		return
	}
	r.stopped = cause
	close(r.halted)
	time.AfterFunc(grace, r.cancelInFlight)
}

// Stopped returns why the action was stopped; nil if it was not. A cancellation counts at once: code
// that waits for the context may return before the function that New registers has run.
func (r *Retrier) Stopped() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause := r.cause(); !r.ended && r.options.StopCause != nil && errors.Is(cause, r.options.StopCause) {
		r.halt(cause)
	}
	return r.stopped
}

// refusal returns the error of a request that must not be sent; nil if it may be sent.
func (r *Retrier) refusal() error {
	if cause := r.Stopped(); cause != nil {
		return fmt.Errorf("%w: %w", ErrStopped, cause)
	}
	return nil
}

// End makes the Retrier send each further request once.
func (r *Retrier) End() {
	if r == nil {
		return
	}
	r.stop()
	r.cancelInFlight()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// Outage returns the outage that has spent the budget of the action; nil if none has.
func (r *Retrier) Outage() *Outage {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outage
}

// ReleaseSlot releases the slot of the action until the returned function is called. Calls may nest
// and overlap: the slot is released once.
func (r *Retrier) ReleaseSlot() (resume func()) {
	if r == nil {
		return func() {}
	}
	return r.slot.free()
}

// ReleaseSlotAfter releases the slot of the action if the returned function is not called within d,
// and until it is called.
func (r *Retrier) ReleaseSlotAfter(d time.Duration) (resume func()) {
	if r == nil {
		return func() {}
	}
	var mu sync.Mutex
	ended, acquire := false, func() {}
	timer := time.AfterFunc(d, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			acquire = r.ReleaseSlot()
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		ended = true
		acquire()
	}
}

// Own sets the names of the admission webhooks that the release itself configures, and of the APIs
// that its APIServices register, as "<group>/<version>". If one of them cannot be reached the action
// fails, so that remediation can roll it back.
func (r *Retrier) Own(names []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = map[string]bool{}
	for _, name := range names {
		r.own[name] = true
	}
}

// Do calls send until it returns nil or an error that is not transient. If the budget is spent, it
// returns an *Outage. The caller must ensure that repeating is safe, and handles conflicts.
func (r *Retrier) Do(ctx context.Context, send func() error) error {
	if err := r.refusal(); err != nil {
		return err
	}
	if r.passive() {
		return send()
	}
	q := r.start()
	defer q.end()
	for {
		err := send()
		answer := AnswerOf(err)
		if Classify(answer) == Conflict {
			return err
		}
		again, outage := q.again(ctx, answer)
		switch {
		case outage != nil:
			return outage
		case !again:
			return err
		}
	}
}

// passive reports whether each request is sent once.
func (r *Retrier) passive() bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// recordSuccess records that the server answers.
func (r *Retrier) recordSuccess(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down, r.failing, r.answered = time.Time{}, time.Time{}, now
	r.options.Faults.recordAnswer(r.options.Server)
}

// recordFailure records a failed request and returns how long it may be repeated. lasting is true
// if the server answers this request with a 5xx, and other requests with success. The 5xx then
// stands.
func (r *Retrier) recordFailure(first, now time.Time, class Class, a Answer) (left time.Duration, lasting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if class != Conflict {
		if r.down.IsZero() || now.Sub(r.failing) > Budget {
			r.down = now
			r.options.Log.Info("A request failed and is repeated", "server", r.options.Server, "cause", a.Cause())
		}
		r.failing = now
	}
	started := first
	if !r.down.IsZero() {
		started = earliest(started, r.down)
	}
	end := started.Add(Budget)
	if !r.deadline.IsZero() {
		end = earliest(end, latest(r.deadline, started.Add(leastBudget)))
	}
	if !r.cancelled.IsZero() {
		end = earliest(end, latest(r.cancelled, started).Add(cancelledBudget))
	}
	lasting = class == Transient && a.Code >= http.StatusInternalServerError && r.answered.After(first)
	return end.Sub(now), lasting
}

// spent records that the budget is spent and returns the outage.
func (r *Retrier) spent(first time.Time, class Class, a Answer) *Outage {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := first
	if !r.down.IsZero() {
		since = earliest(since, r.down)
	}
	server := r.options.Server
	if class == WebhookUnreachable {
		server = fmt.Sprintf("admission webhook %q of %s", a.webhook(), server)
	}
	if part := a.part(); part != nil {
		server = fmt.Sprintf("API %s of %s", part.API, server)
	}
	if r.outage == nil {
		r.outage = &Outage{Server: server, Since: since, Cause: a.Cause(), Webhook: class == WebhookUnreachable}
	}
	r.halt(r.outage)
	return r.outage
}

// owns reports whether the release has an admission webhook or API.
func (r *Retrier) owns(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return name != "" && r.own[name]
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// slot is the slot of an action among the concurrent actions.
type slot struct {
	release func() (resume func())

	mu       sync.Mutex
	released int
	resume   func()
}

// free releases the slot and returns a function that acquires it again.
func (s *slot) free() func() {
	if s.release == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released++; s.released == 1 {
		s.resume = s.release()
	}
	return sync.OnceFunc(s.acquire)
}

// acquire blocks until the action has a slot again.
func (s *slot) acquire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released--; s.released == 0 {
		s.resume()
	}
}
