// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/fair"
)

// reserve is the recent usage of a tenant, about that of 10 seconds in the last minute, above which
// it does not get the last free process if other tenants have used some recently.
const reserve = 10 * time.Second

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("the pool of worker processes is closed")

// Pool is a Caller that runs the handler in worker processes. A process runs one call at a time.
// Further calls are queued, and those of the tenant that has used the least go first, see
// package fair. It is safe for concurrent use.
type Pool struct {
	options Options
	// slots has a used slot for each call that runs.
	slots *fair.Semaphore
	// closed is closed by Close.
	closed chan struct{}
	// starter starts processes. It is set by the first start.
	starter func() *starter

	mu sync.Mutex
	// idle are the processes that wait for a call, the last used one at the end. Together with those
	// that run a call they are at most Size, since a process is started only if idle is empty.
	idle  []*process
	busy  map[*process]struct{}
	stats Stats
}

// Stats are counters since the start of a pool.
type Stats struct {
	// Started counts processes. Recycled counts those that were replaced after a call without error.
	Started, Recycled int64
	// Calls counts calls that were sent to a process, and repeated ones twice.
	Calls int64
	// NotStarted counts failures to start a process.
	NotStarted int64
	// Deaths counts calls that ended with their process.
	Deaths map[Limit]int64
	// Busy and Idle are the present numbers of processes with and without a call, and Queued that of
	// waiting calls.
	Busy, Idle, Queued int64
	// Unfiltered counts processes without a filter of system calls, since there is none for the
	// architecture. Unlimited counts processes without a memory limit of the kernel, since the
	// executable has the race detector.
	Unfiltered, Unlimited int64
}

// New returns a pool. It starts processes with the first call.
func New(o Options) *Pool {
	o = o.withDefaults()
	return &Pool{
		options: o, closed: make(chan struct{}), starter: sync.OnceValue(newStarter),
		slots: fair.New(fair.Options{Size: o.Size, Reserve: reserve, Now: o.Now}),
		busy:  map[*process]struct{}{}, stats: Stats{Deaths: make(map[Limit]int64)},
	}
}

// Call implements Caller. A call that a process did not begin, since it had died before, is repeated
// once in a new process.
func (p *Pool) Call(ctx context.Context, c Call, answer Answer) ([]byte, error) {
	if err := cmp.Or(checkSize("name", len(c.Function), maxName), checkSize("request", len(c.Request), p.options.MaxRequest)); err != nil {
		return nil, err
	}
	since := p.options.Now()
	err := p.queue(ctx, c.Tenant)
	p.options.Waited(p.options.Now().Sub(since))
	if err == nil {
		var response []byte
		response, err = p.callTwice(ctx, c, answer)
		p.slots.Release(c.Tenant)
		if err == nil {
			return response, nil
		}
	}
	if none, ok := errors.AsType[*Unavailable](err); ok {
		none.Since = since
	}
	return nil, err
}

// queue waits for a slot.
func (p *Pool) queue(ctx context.Context, tenant string) error {
	p.count(func(s *Stats) { s.Queued++ })
	defer p.count(func(s *Stats) { s.Queued-- })
	late := &Unavailable{Cause: "all of them were busy for " + p.options.QueueTimeout.String()}
	ctx, cancel := context.WithTimeoutCause(ctx, p.options.QueueTimeout, late)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-p.closed:
			end(closing())
		case <-ctx.Done():
		}
	}()
	return p.slots.Acquire(ctx, tenant)
}

// closing returns the error of a call that Close ends.
func closing() error { return &Unavailable{Cause: ErrClosed.Error(), Err: ErrClosed} }

// callTwice calls once, and again if the handler did not run. The caller has a slot.
func (p *Pool) callTwice(ctx context.Context, c Call, answer Answer) ([]byte, error) {
	response, err := p.callOnce(ctx, !c.Traced, c, answer)
	before, ended := errors.AsType[notBegun](err)
	if ended && ctx.Err() == nil {
		response, err = p.callOnce(ctx, false, c, answer)
		before, ended = errors.AsType[notBegun](err)
	}
	switch died, killed := errors.AsType[*Died](err); {
	case ended && (ctx.Err() != nil || before.Limit == MemoryOrStack):
		// A new process has the memory for a request of this size, or it never has.
		return nil, p.dead(before.Died)
	case ended:
		return nil, &Unavailable{Cause: "a process ended before the call: " + before.Text}
	case killed && errors.Is(died, ErrClosed):
		return nil, closing()
	case killed:
		return nil, p.dead(died)
	}
	return response, err
}

// dead counts and logs a death, which it returns.
func (p *Pool) dead(died *Died) *Died {
	p.count(func(s *Stats) { s.Deaths[died.Limit]++ })
	p.options.Log.Info("a worker process ended during a call", "limit", died.Limit, "end", died.Text)
	return died
}

// callOnce sends a call to one process: an idle one if reuse is true and there is one, or else a new
// one. The caller has a slot.
func (p *Pool) callOnce(ctx context.Context, reuse bool, c Call, answer Answer) ([]byte, error) {
	w := p.takeIdle()
	if w != nil && !reuse {
		w.end("it is replaced by a new process")
		w = nil
	}
	if w == nil {
		var err error
		if w, err = p.start(ctx); err != nil {
			return nil, err
		}
	}
	if !p.setBusy(w) {
		w.end("the pool was closed")
		return nil, closing()
	}
	response, usable, err := w.call(ctx, p.options, c, answer)
	p.finish(w, usable)
	return response, err
}

// setBusy adds a process to those that Close kills. It returns false after Close.
func (p *Pool) setBusy(w *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed() {
		return false
	}
	p.busy[w] = struct{}{}
	p.stats.Calls++
	return true
}

// finish keeps or ends the process of a call that has returned.
func (p *Pool) finish(w *process, usable bool) {
	keep := usable && !p.options.recycle(w.calls, w.data()-w.baseData)
	p.count(func(s *Stats) {
		delete(p.busy, w)
		if usable && !keep {
			s.Recycled++
		}
	})
	if !keep || !p.putIdle(w) {
		w.end("the process was replaced")
	}
}

// start starts a process and waits until it is ready. Its error is the cause of ctx, or
// *Unavailable: the request of a call has no part in it.
func (p *Pool) start(ctx context.Context) (*process, error) {
	w, err := p.starter().start(p.options)
	if err != nil {
		return nil, p.notStarted(err.Error(), err)
	}
	p.count(func(s *Stats) { s.Started++ })
	r, err := w.handshake(ctx)
	if err != nil {
		var died *Died
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			died = w.died()
		} else {
			died = w.endFor(&Died{Limit: Protocol, Text: "the process was ended"})
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, p.notStarted(fmt.Sprintf("%v (%s)", err, died.Text), err)
	}
	w.baseData = w.data()
	p.count(func(s *Stats) {
		if !r.Filter {
			s.Unfiltered++
		}
		if !r.MemoryLimit {
			s.Unlimited++
		}
	})
	return w, nil
}

// notStarted counts a failure to start a process, and returns its error.
func (p *Pool) notStarted(cause string, err error) error {
	p.count(func(s *Stats) { s.NotStarted++ })
	return &Unavailable{Cause: "starting one failed: " + cause, Err: err}
}

func (p *Pool) count(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

// Stats returns the counters.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Deaths = maps.Clone(s.Deaths)
	s.Busy, s.Idle = int64(len(p.busy)), int64(len(p.idle))
	return s
}

// isClosed reports whether Close was called.
func (p *Pool) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// Close ends all processes, and fails calls that run or are queued. It returns when all processes
// have ended. It may be called more than once.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.isClosed() {
		p.mu.Unlock()
		return
	}
	close(p.closed)
	idle := p.idle
	p.idle = nil
	for w := range p.busy {
		w.kill(&Died{Limit: Cancelled, Text: "the pool was closed", Err: ErrClosed})
	}
	p.mu.Unlock()
	for _, w := range idle {
		w.end("the pool was closed")
	}
	for range p.options.Size {
		p.slots.Resume("")
	}
	p.starter().stop()
}
