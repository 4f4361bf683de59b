// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// Budget is how long one outage may last before the action is interrupted.
	Budget = 2 * time.Minute
	// leastBudget is the budget of an action whose timeout is shorter or has passed: what
	// it did has to be recorded all the same.
	leastBudget = 30 * time.Second
	// cancelledBudget is how long a cancelled action goes on to repeat requests.
	cancelledBudget = 10 * time.Second

	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
	// longestRetryAfter bounds how long a server can have its clients wait.
	longestRetryAfter = 30 * time.Second
	// patience is how long an action waits to repeat a request before it gives its slot
	// back.
	patience = 2 * time.Second
	// maxConflicts bounds how often a request is repeated because of concurrent writes.
	maxConflicts = 6
)

// Options configure a Retrier. Only Now is required.
type Options struct {
	// Now is the clock.
	Now func() time.Time
	// Server names the API server in errors; empty stands for "the API server".
	Server string
	// Timeout is that of the action, counted from New; zero is none.
	Timeout time.Duration
	// ReleaseSlot, if set, gives the slot of the action back while it waits. The function that it
	// returns takes a slot again and may block. It is not called twice at a time.
	ReleaseSlot func() (resume func())
	Log         logr.Logger
}

// Retrier repeats the requests of one action and remembers whether the server ceased
// to answer. It may be used concurrently. A nil Retrier sends each request once.
type Retrier struct {
	options Options
	// deadline is when the timeout of the action ends; zero if it has none.
	deadline time.Time
	// hurry is closed when the action is cancelled.
	hurry chan struct{}
	stop  func() bool
	slot  slot

	mu sync.Mutex
	// cancelled is when the action was; zero if it was not.
	cancelled time.Time
	// down is when the first request failed with no success since, and failing when the
	// last one did; zero while the server answers. answered is the last success.
	down, failing, answered time.Time
	outage                  *Outage
	ended                   bool
	// own are the admission webhooks that the release configures.
	own map[string]bool
}

// Outage is the error of a request whose budget was spent for want of the server.
type Outage struct {
	// Server is what did not answer, as a noun phrase.
	Server string
	// Since is when the first request failed.
	Since time.Time
	// Cause is why the last one failed. It does not change while the reason stays.
	Cause string
}

// Error implements error.
func (o *Outage) Error() string {
	return fmt.Sprintf("%s has not answered since %s: %s", o.Server, o.Since.UTC().Format(time.RFC3339), o.Cause)
}

// New returns the Retrier of an action that is cancelled with ctx. Its caller ends it
// with End.
func New(ctx context.Context, options Options) *Retrier {
	if options.Server == "" {
		options.Server = "the API server"
	}
	r := &Retrier{options: options, hurry: make(chan struct{}), slot: slot{rest: options.ReleaseSlot}}
	if options.Timeout > 0 {
		r.deadline = r.options.Now().Add(options.Timeout)
	}
	r.stop = context.AfterFunc(ctx, func() {
		r.mu.Lock()
		r.cancelled = r.options.Now()
		r.mu.Unlock()
		close(r.hurry)
	})
	return r
}

// End makes everything that still uses the Retrier send each request once.
func (r *Retrier) End() {
	if r == nil {
		return
	}
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// Outage returns the outage that has spent the budget of the action, nil if none has.
func (r *Retrier) Outage() *Outage {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outage
}

// ReleaseSlot gives the slot of the action back until the returned function is called. Calls
// may nest and overlap: the slot is given back once.
func (r *Retrier) ReleaseSlot() (resume func()) {
	if r == nil {
		return func() {}
	}
	return r.slot.give()
}

// OwnWebhooks names the admission webhooks that the release itself configures. If one of
// these cannot be reached the action fails, so that a rollback can mend it.
func (r *Retrier) OwnWebhooks(names []string) {
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

// Do calls send until it returns nil or an error that repeating does not help against,
// or the budget is spent. An *Outage is the error then. Whether repeating is safe is up
// to the caller, and so is what a conflict calls for.
func (r *Retrier) Do(ctx context.Context, send func() error) error {
	if r.passive() {
		return send()
	}
	q := r.begin()
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

func (r *Retrier) begin() *request { return &request{retrier: r} }

// request is one request and its repetitions.
type request struct {
	retrier *Retrier
	// first is when it failed first; zero if it did not.
	first     time.Time
	pause     time.Duration
	conflicts int
	hurried   bool
	resume    func()
	// answers reports whether the server answers another request; nil if that is unknown.
	answers func() bool
}

// end takes the slot of the action again.
func (q *request) end() {
	if q.resume != nil {
		q.resume()
	}
}

// again reports whether the request is to be sent once more, after it has waited for
// the time to do so. The outage is not nil if the budget is spent.
func (q *request) again(ctx context.Context, a Answer) (bool, *Outage) {
	r := q.retrier
	class := Classify(a)
	if class == WebhookUnreachable && r.owns(a.webhook()) {
		class = Answered
	}
	now := r.options.Now()
	switch class {
	case Answered, Denied:
		r.succeeded(now)
		return false, nil
	case Final:
		return false, nil
	case Conflict:
		if q.conflicts++; q.conflicts >= maxConflicts {
			r.succeeded(now)
			return false, nil
		}
	case Transient, WebhookUnreachable:
	}
	if q.first.IsZero() {
		q.first = now
	}
	left, lasting := r.failed(q.first, now, class, a)
	if left <= 0 {
		if lasting {
			return false, nil
		}
		if class == Transient && a.Code >= http.StatusInternalServerError && q.answers != nil && q.answers() {
			// The request is sent once more: the outage may just be over.
			r.succeeded(r.options.Now())
			return true, nil
		}
		return false, r.spent(q.first, class, a)
	}
	return q.sleep(ctx, min(q.next(a.RetryAfter), left)), nil
}

// next returns how long to wait: exponentially longer with jitter, and at least as long
// as the server asks.
func (q *request) next(retryAfter time.Duration) time.Duration {
	q.pause = min(max(2*q.pause, firstPause), longestPause)
	jittered := q.pause/2 + rand.N(q.pause)
	return max(jittered, min(retryAfter, longestRetryAfter))
}

// sleep waits and reports whether the request may still be sent. The slot of the action
// is given back if the request fails for long.
func (q *request) sleep(ctx context.Context, pause time.Duration) bool {
	if q.resume == nil && q.retrier.options.Now().Add(pause).Sub(q.first) > patience {
		q.resume = q.retrier.ReleaseSlot()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	hurry := q.retrier.hurry
	if q.hurried {
		hurry = nil
	}
	select {
	case <-timer.C:
	case <-hurry:
		q.hurried = true
	case <-ctx.Done():
		return false
	}
	return true
}

// succeeded notes that the server answers.
func (r *Retrier) succeeded(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down, r.failing, r.answered = time.Time{}, time.Time{}, now
}

// failed notes that a request failed, and returns how long it may be repeated. Lasting
// is true if the server answered other requests meanwhile, and this one with an error of
// its own: then the answer stands.
func (r *Retrier) failed(first, now time.Time, class Class, a Answer) (left time.Duration, lasting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if class != Conflict {
		if r.down.IsZero() || now.Sub(r.failing) > Budget {
			r.down = now
			r.options.Log.Info("A request failed and is repeated", "server", r.options.Server, "cause", a.cause())
		}
		r.failing = now
	}
	began := first
	if !r.down.IsZero() {
		began = earliest(began, r.down)
	}
	end := began.Add(Budget)
	if !r.deadline.IsZero() {
		end = earliest(end, latest(r.deadline, began.Add(leastBudget)))
	}
	if !r.cancelled.IsZero() {
		end = earliest(end, latest(r.cancelled, began).Add(cancelledBudget))
	}
	lasting = class == Transient && a.Code >= http.StatusInternalServerError && r.answered.After(first)
	return end.Sub(now), lasting
}

// spent notes that the budget is spent, and returns the outage that has spent it.
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
	r.outage = &Outage{Server: server, Since: since, Cause: a.cause()}
	return r.outage
}

func (r *Retrier) owns(webhook string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return webhook != "" && r.own[webhook]
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

// slot is the place of an action among those that run at the same time.
type slot struct {
	rest func() (resume func())

	mu      sync.Mutex
	resting int
	resume  func()
}

func (s *slot) give() func() {
	if s.rest == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting++; s.resting == 1 {
		s.resume = s.rest()
	}
	return sync.OnceFunc(s.take)
}

// take blocks until the action has a slot again.
func (s *slot) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting--; s.resting == 0 {
		s.resume()
	}
}
